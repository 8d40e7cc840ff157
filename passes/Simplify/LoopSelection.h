//===- LoopSelection.h - Which loops over experts are raised ----*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_LOOPSELECTION_H
#define PARPLAN_PASSES_SIMPLIFY_LOOPSELECTION_H

#include "passes/Simplify/ExpertLanes.h"

namespace parplan::simplify {

/// Loops of one function that may be raised together. A stack is a variable of
/// its own, so nothing but a stack may read an initializer of its, and only one
/// does.
class LoopSelection {
public:
  /// A loop of `sum` whose lanes match.
  void add(llvm::ArrayRef<mlir::Value> answers, mlir::Operation *sum,
           const StackUses &uses);

  /// Drops loops until that holds for the others, if they all are raised;
  /// returns the sums of those that were dropped.
  llvm::SmallVector<mlir::Operation *>
  settle(const InitializerReaders &readers);

  bool contains(llvm::ArrayRef<mlir::Value> answers) const;

private:
  struct Candidate {
    llvm::SmallVector<mlir::Value> answers;
    mlir::Operation *sum;
    StackUses uses;
  };

  std::vector<Candidate> loops;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_LOOPSELECTION_H
