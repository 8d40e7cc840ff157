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

#include <set>

using namespace mlir;

namespace parplan {
namespace {

/// A sum of a per-micro-batch value and the moves behind it, by stage.
class TiedGradient {
public:
  explicit TiedGradient(AccumulateOp sum)
      : sum(sum), builder(sum.getContext()) {}

  void split() {
    collect(sum.getInput());
    if (stages.empty()) {
      std::optional<int64_t> own = getLeafStage(sum.getInput().getDefiningOp());
      return setStage(sum, own.value_or(parplan::getStage(sum).value_or(0)));
    }
    if (stages.size() == 1) {
      for (Operation *op : inner)
        setStage(op, *stages.begin());
      return setStage(sum, *stages.begin());
    }
    SmallVector<Operation *> chain = getChain();
    Operation *last = chain.back();
    SmallVector<Value> totals;
    for (int64_t stage : stages) {
      // Each part behind what makes it, as early as it can be.
      builder.setInsertionPoint(sum);
      Value part = build(sum.getInput(), stage);
      for (Operation *op : chain) {
        builder.setInsertionPoint(op);
        part = clone(op, part, stage);
      }
      totals.push_back(part);
    }
    builder.setInsertionPointAfter(last);
    auto total =
        builder.create<SumOp>(sum.getLoc(), totals.front().getType(), totals);
    Operation *first = totals.front().getDefiningOp();
    for (StringRef name : {attributes::globalType, attributes::role,
                           attributes::block, attributes::node})
      if (Attribute value = first->getAttr(name))
        total->setAttr(name, value);
    if (ShardingAttr sharding = getSharding(totals.front()))
      total->setAttr(attributes::shardings, builder.getArrayAttr({sharding}));
    setStage(total, *stages.begin());
    last->getResult(0).replaceAllUsesWith(total);
    for (Operation *op : llvm::reverse(chain))
      op->erase();
    eraseUnused();
  }

private:
  void setStage(Operation *op, int64_t stage) {
    op->setAttr(attributes::stage, builder.getI64IntegerAttr(stage));
  }

  /// True for what a sum can be taken out of, and only this one reads.
  static bool isInside(Operation *op) {
    return op && runsPerMicroBatch(op) && op->hasOneUse() &&
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

  /// The stages of the leaves of `value`.
  void collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (isInside(op)) {
      inner.push_back(op);
      for (Value operand : op->getOperands())
        collect(operand);
      return;
    }
    if (op)
      if (std::optional<int64_t> stage = getLeafStage(op))
        stages.insert(*stage);
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

  /// The accumulate and the moves behind it that commute with sums.
  SmallVector<Operation *> getChain() {
    SmallVector<Operation *> chain = {sum};
    while (chain.back()->hasOneUse()) {
      Operation *user = *chain.back()->getUsers().begin();
      if (!isSumMove(user) && !isa<ShardSliceOp, StorageViewOp>(user))
        break;
      chain.push_back(user);
    }
    return chain;
  }

  Value clone(Operation *op, Value operand, int64_t stage) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), operand);
    Operation *copy = builder.clone(*op, mapping);
    setStage(copy, stage);
    return copy->getResult(0);
  }

  /// What `stage` contributes to `value`; null where that is nothing. A leaf
  /// without a stage belongs to the lowest one.
  Value build(Value value, int64_t stage) {
    Operation *op = value.getDefiningOp();
    if (!isInside(op)) {
      std::optional<int64_t> own = getLeafStage(op);
      return own.value_or(*stages.begin()) == stage ? value : Value();
    }
    SmallVector<Value> parts;
    for (Value operand : op->getOperands())
      if (Value part = build(operand, stage))
        parts.push_back(part);
    if (parts.empty())
      return {};
    bool isSum = isa<SumOp, AddOp>(op);
    if (!isSum)
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
  std::set<int64_t> stages;
};

} // namespace

void splitTiedGradient(AccumulateOp sum) { TiedGradient(sum).split(); }

} // namespace parplan
