//===- ExpertLanes.h - What equal experts compute, as one -------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H

#include "passes/Simplify/InitializerStacks.h"
#include "passes/Simplify/Layout.h"

#include "llvm/ADT/SetVector.h"

#include <memory>
#include <string>

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

/// What lanes make stacks of.
struct StackUses {
  /// The parameters, and their uses that become uses of a stack.
  llvm::SetVector<mlir::Operation *> parameters;
  llvm::DenseSet<mlir::OpOperand *> uses;
  /// Lists of initializers.
  llvm::SetVector<mlir::ArrayAttr> stacks;
};

/// Why lanes do not match, and where.
struct LaneObstacle {
  mlir::Operation *op = nullptr;
  std::string reason;
};

/// Compares what experts compute. Creates nothing.
class LaneMatcher {
public:
  /// `tokens` of them, with `repeats` of each.
  LaneMatcher(int64_t tokens, int64_t repeats, const InitializerStacks &stacks)
      : tokens(tokens), repeats(repeats), stacks(stacks) {}

  /// The lanes of these answers; null if they are not equal but for whole
  /// parameters.
  Lanes *match(llvm::ArrayRef<mlir::Value> answers);

  /// After a match.
  const StackUses &getUses() const { return uses; }
  /// After none: what was found first.
  const LaneObstacle &getObstacle() const { return obstacle; }

private:
  std::nullptr_t fail(mlir::Value value, llvm::StringRef reason);
  Lanes *match(llvm::ArrayRef<mlir::Value> values, size_t lead, unsigned depth);
  Lanes *matchNew(llvm::ArrayRef<mlir::Value> values, size_t lead,
                  unsigned depth);
  Lanes *matchOp(llvm::ArrayRef<mlir::Value> values, size_t lead,
                 unsigned depth);
  using Leads = llvm::SmallVector<std::optional<size_t>, 2>;
  Leads getOperandLeads(mlir::Value value, size_t lead);
  Lanes *add(Lanes::Kind kind, llvm::ArrayRef<mlir::Value> values, size_t lead);
  /// How many dimensions of an operand number tokens, where those of the result
  /// do; nullopt if it lies otherwise.
  std::optional<size_t> getOperandLead(mlir::Value operand, mlir::Value result,
                                       size_t lead) const;

  Lanes *matchStack(llvm::ArrayRef<mlir::Value> values);
  Lanes *matchTokens(llvm::ArrayRef<mlir::Value> values, size_t lead);

  int64_t tokens, repeats;
  const InitializerStacks &stacks;
  std::vector<std::unique_ptr<Lanes>> all;
  llvm::DenseMap<std::pair<mlir::Value, size_t>, Lanes *> known;
  StackUses uses;
  LaneObstacle obstacle;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTLANES_H
