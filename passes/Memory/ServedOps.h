//===- ServedOps.h - What servers do of a step ------------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_MEMORY_SERVEDOPS_H
#define PARPLAN_PASSES_MEMORY_SERVEDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace parplan {

/// Which ops of a step of workers are the servers': what follows from gradients
/// in buckets; with `parplan.staleness`, from updates alone. What else they
/// read, workers push: but for variables, constants, numbers of the schedule
/// and what follows from these, which both have.
class ServedOps {
public:
  explicit ServedOps(mlir::func::FuncOp step);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool contains(mlir::Value value) const;
  bool isPushed(mlir::Value value) const { return pushed.contains(value); }

  /// Reports updates that would stay with the workers.
  mlir::LogicalResult verify() const;

  /// Erases the ops, which are elsewhere by now.
  void erase();

private:
  bool canMake(mlir::Value value) const;

  mlir::func::FuncOp step;
  llvm::SetVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> pushed;
};

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_SERVEDOPS_H
