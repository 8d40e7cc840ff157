//===- ExpertLanes.h - What equal experts compute, as one -------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H

#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/InitializerStacks.h"
#include "passes/Simplify/Layout.h"

#include <memory>

namespace parplan::simplify {

/// The same value of every expert. [*t, rest..] where it depends on the token.
struct Lanes {
  enum class Kind {
    /// A token, the same for all experts.
    tokens,
    /// A parameter for each expert.
    stack,
    /// The same for all experts and tokens.
    shared,
    /// An op on others.
    op
  };

  Kind kind;
  /// One per expert, in their order.
  llvm::SmallVector<mlir::Value> values;
  /// How many dimensions number the tokens; 0: the value depends on none.
  size_t lead = 0;
  llvm::SmallVector<Lanes *, 2> operands;
  /// Of tokens that are repeated: how they are made.
  std::optional<Layout> layout;

  llvm::ArrayRef<int64_t> getRest() const {
    return llvm::cast<mlir::RankedTensorType>(values[0].getType())
        .getShape()
        .drop_front(lead);
  }
};

/// Compares what experts compute. Creates nothing.
class LaneMatcher {
public:
  /// `tokens` of them, with `repeats` of each.
  LaneMatcher(int64_t tokens, int64_t repeats, const InitializerStacks &stacks,
              const InitializerReaders &readers)
      : tokens(tokens), repeats(repeats), stacks(stacks), readers(readers) {}

  /// The lanes of these answers; null if they are not equal but for whole
  /// parameters that nothing else reads.
  Lanes *match(llvm::ArrayRef<mlir::Value> answers);

private:
  Lanes *match(llvm::ArrayRef<mlir::Value> values, size_t lead, unsigned depth);
  Lanes *matchNew(llvm::ArrayRef<mlir::Value> values, size_t lead,
                  unsigned depth);
  Lanes *matchOp(llvm::ArrayRef<mlir::Value> values, size_t lead,
                 unsigned depth);
  Lanes *add(Lanes::Kind kind, llvm::ArrayRef<mlir::Value> values, size_t lead);
  /// How many dimensions of an operand number tokens, where those of the result
  /// do; nullopt if it lies otherwise.
  std::optional<size_t> getOperandLead(mlir::Value operand, mlir::Value result,
                                       size_t lead) const;

  bool matchStack(llvm::ArrayRef<mlir::Value> values);
  Lanes *matchTokens(llvm::ArrayRef<mlir::Value> values, size_t lead);

  int64_t tokens, repeats;
  const InitializerStacks &stacks;
  const InitializerReaders &readers;
  std::vector<std::unique_ptr<Lanes>> all;
  llvm::DenseMap<std::pair<mlir::Value, size_t>, Lanes *> known;
  /// The parameters that the lanes read, and the stack of each initializer.
  llvm::DenseSet<mlir::Operation *> parameters;
  llvm::DenseMap<mlir::Attribute, mlir::ArrayAttr> stackOf;
};

/// Builds the values of all experts in one: [e, *t, rest..].
class LaneBuilder {
public:
  LaneBuilder(const ExpertRouting &routing, InitializerStacks &stacks,
              Rewriter &rewriter)
      : routing(routing), stacks(stacks), rewriter(rewriter) {}

  mlir::Value build(Lanes *lanes);

private:
  mlir::Value buildNew(const Lanes &lanes);
  mlir::Value buildTokens(const Lanes &lanes);
  mlir::Value buildElementwise(const Lanes &lanes, mlir::Operation *op);
  mlir::Value buildProduct(const Lanes &lanes, MatmulOp product);
  llvm::SmallVector<int64_t> getShapeOf(const Lanes &lanes) const;

  const ExpertRouting &routing;
  InitializerStacks &stacks;
  Rewriter &rewriter;
  llvm::DenseMap<Lanes *, mlir::Value> built;
  llvm::DenseMap<mlir::Value, mlir::Value> dispatched;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H
