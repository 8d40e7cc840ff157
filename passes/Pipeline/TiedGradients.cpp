//===- TiedGradients.cpp - Gradients with parts on several stages ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/TiedGradients.h"

#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/StageFlow.h"
#include "passes/Pipeline/StepSegments.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace parplan {
namespace {

/// A sum over micro-batches, and what it adds up: its leaves.
class TiedGradient {
public:
  explicit TiedGradient(AccumulateOp sum)
      : sum(sum), builder(sum.getContext()) {}

  void split() {
    collect(sum.getInput());
    std::optional<int64_t> lowest;
    for (Value leaf : leaves)
      if (auto stage = getLeafStage(leaf.getDefiningOp()))
        lowest = std::min(lowest.value_or(*stage), *stage);
    int64_t first = lowest.value_or(parplan::getStage(sum).value_or(0));
    if (leaves.size() < 2) {
      for (Operation *op : inner)
        setStage(op, first);
      return setStage(sum, first);
    }
    SmallVector<Value> totals;
    builder.setInsertionPoint(sum);
    for (Value leaf : leaves) {
      int64_t stage = getLeafStage(leaf.getDefiningOp()).value_or(first);
      totals.push_back(clone(sum, build(sum.getInput(), leaf, stage), stage));
    }
    auto total = builder.create<SumOp>(sum.getLoc(), sum.getType(), totals);
    total->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    setStage(total, first);
    sum.getResult().replaceAllUsesWith(total);
    sum.erase();
    eraseUnused();
  }

private:
  void setStage(Operation *op, int64_t stage) {
    op->setAttr(attributes::stage, builder.getI64IntegerAttr(stage));
  }

  static bool isOfMicroBatch(Value value) {
    if (Operation *maker = value.getDefiningOp())
      return runsPerMicroBatch(maker);
    auto argument = cast<BlockArgument>(value);
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function.getArgAttr(argument.getArgNumber(), attributes::batch) !=
           nullptr;
  }
  /// True for what a sum can be taken out of, and only this one reads.
  static bool isInside(Operation *op) {
    return op && runsPerMicroBatch(op) && op->hasOneUse() &&
           llvm::all_of(op->getOperands(), isOfMicroBatch) &&
           (isa<SumOp, CastOp, ShardSliceOp, StorageViewOp>(op) ||
            (isa<AddOp>(op) &&
             op->getOperand(0).getType() == op->getOperand(1).getType()) ||
            isSumMove(op));
  }
  static bool isSumMove(Operation *op) {
    if (auto reduce = dyn_cast<AllReduceOp>(op))
      return reduce.getKind() == ReduceKind::sum;
    if (auto scatter = dyn_cast<ReduceScatterOp>(op))
      return scatter.getKind() == ReduceKind::sum;
    return isa<AllGatherOp, AllToAllOp, SendReceiveOp>(op);
  }

  /// The leaves of `value`, from left to right.
  void collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (!isInside(op)) {
      leaves.insert(value);
      return;
    }
    inner.push_back(op);
    for (Value operand : op->getOperands())
      collect(operand);
  }
  /// The stage of a leaf; of one without, a stage that can have everything it
  /// is made of.
  static std::optional<int64_t> getLeafStage(Operation *op) {
    if (!op || parplan::getStage(op))
      return op ? parplan::getStage(op) : std::nullopt;
    bool isForward = isBeforeBackward(getReader(op).role);
    std::optional<int64_t> stage;
    for (Value value : getStagedSources(op->getOperands()))
      if (Operation *source = value.getDefiningOp()) {
        int64_t own = *parplan::getStage(source);
        stage = !stage      ? own
                : isForward ? std::max(*stage, own)
                            : std::min(*stage, own);
      }
    return stage;
  }

  Value clone(Operation *op, Value operand, int64_t stage) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), operand);
    Operation *copy = builder.clone(*op, mapping);
    setStage(copy, stage);
    return copy->getResult(0);
  }

  /// What `leaf` contributes to `value`; null where that is nothing.
  Value build(Value value, Value leaf, int64_t stage) {
    Operation *op = value.getDefiningOp();
    if (!isInside(op))
      return value == leaf ? value : Value();
    SmallVector<Value> parts;
    for (Value operand : op->getOperands())
      if (Value part = build(operand, leaf, stage))
        parts.push_back(part);
    if (parts.empty())
      return {};
    if (!isa<SumOp, AddOp>(op))
      return clone(op, parts.front(), stage);
    if (parts.size() == 1)
      return parts.front();
    auto partial = builder.create<SumOp>(op->getLoc(), value.getType(), parts);
    partial->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    setStage(partial, stage);
    return partial;
  }

  void eraseUnused() {
    for (Operation *op : inner)
      if (op->use_empty())
        op->erase();
  }

  AccumulateOp sum;
  OpBuilder builder;
  /// From the sum on.
  SmallVector<Operation *> inner;
  llvm::SetVector<Value> leaves;
};

} // namespace

void splitTiedGradient(AccumulateOp sum) { TiedGradient(sum).split(); }

} // namespace parplan
