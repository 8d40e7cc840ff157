//===- SequenceFollower.h - Where a causal sequence goes --------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
// A permutation of a dimension changes nothing but the order of results, as
// long as all ops that the dimension reaches treat its elements alike. Which
// ones it reaches, and how they treat it, sharding rules say: a factor that may
// carry axes does not care which elements a block has, unless it says that they
// have numbers.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_ORDER_SEQUENCEFOLLOWER_H
#define PARPLAN_PASSES_ORDER_SEQUENCEFOLLOWER_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <string>

namespace parplan::order {

/// A value of its own, which every reader may have in another order.
bool isSource(mlir::Value value);

/// What does not allow another order of the sequence. `op` may be null.
struct OrderObstacle {
  mlir::Operation *op = nullptr;
  std::string reason;
};

/// Follows the sequences of causal attentions to all that is in their order.
class SequenceFollower {
public:
  /// To be cut in two chunks for each of `ranks`.
  explicit SequenceFollower(int64_t ranks) : ranks(ranks) {}

  /// False where the order cannot change.
  bool run(mlir::func::FuncOp function);
  const OrderObstacle &getObstacle() const { return obstacle; }

  /// Ops with a sequence, and per factor whether it is one.
  const llvm::MapVector<mlir::Operation *, llvm::SmallBitVector> &
  getFactors() const {
    return factors;
  }
  /// The dimensions of an operand of such an op that lie along the sequence.
  llvm::SmallVector<int64_t> getDims(mlir::OpOperand &operand);
  /// Of an argument or result: `ranks` for every dimension along the sequence,
  /// else 1. Null where it has none.
  mlir::DenseI64ArrayAttr getOrder(mlir::Value value) const;

private:
  bool fail(mlir::Operation *op, const llvm::Twine &reason);
  const ShardingRule &getRule(mlir::Operation *op);
  bool takeAttention(AttentionOp attention);
  bool take(mlir::Operation *op, int factor);
  bool takeFrom(mlir::Operation *op, const TensorFactors &tensor, unsigned dim);
  bool follow(mlir::Value value, unsigned dim);

  int64_t ranks;
  llvm::MapVector<mlir::Operation *, llvm::SmallBitVector> factors;
  llvm::DenseMap<mlir::Operation *, ShardingRule> rules;
  llvm::SetVector<std::pair<mlir::Value, unsigned>> places;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> open;
  OrderObstacle obstacle;
};

} // namespace parplan::order

#endif // PARPLAN_PASSES_ORDER_SEQUENCEFOLLOWER_H
