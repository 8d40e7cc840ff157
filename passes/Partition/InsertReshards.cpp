//===- InsertReshards.cpp - Every change of layout becomes an op ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingAccess.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/Partition/Passes.h.inc"

namespace {

/// The uses of a value in one layout that share a copy, in program order.
struct LayoutUses {
  Sharding layout;
  CopyReader reader;
  SmallVector<OpOperand *> operands;
};

/// What is known about a value before anything changes.
struct Plan {
  Sharding made, atRest;
  SmallVector<LayoutUses> uses;
  bool gathersAgain = false;

  /// The backward pass has copies of its own.
  bool isCopiedAgain() const { return gathersAgain || atRest.isStored(); }

  void addUse(OpOperand &operand, const Sharding &layout) {
    CopyReader reader = getReader(operand.getOwner());
    // Between the micro-batches of two stages a copy would have to wait.
    auto isNear = [&](const LayoutUses &known) {
      Operation *first = known.operands.front()->getOwner();
      return !reader.perMicroBatch ||
             first->getAttr(attributes::stage) ==
                 operand.getOwner()->getAttr(attributes::stage);
    };
    for (LayoutUses &known : uses)
      if (known.layout == layout && isNear(known) &&
          sharesCopies(known.reader, reader, atRest, gathersAgain)) {
        known.operands.push_back(&operand);
        return;
      }
    uses.push_back({layout, reader, {&operand}});
  }
};

/// First reads all decisions of a function, then rewrites it: in between, what
/// `parplan.shardings` says is the layout at rest throughout.
class ReshardInserter {
public:
  explicit ReshardInserter(const ShardingAccess &access) : access(access) {}

  LogicalResult run(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      FailureOr<Sharding> atRest = access.getSharding(argument);
      if (failed(atRest))
        return failure();
      plans[argument] = {*atRest, *atRest, {}};
    }
    bool sound = true;
    for (Operation &op : function.getBody().front())
      sound &= succeeded(readDecisions(function, op));
    if (!sound)
      return failure();
    for (auto &[value, plan] : plans)
      apply(value, plan);
    return success();
  }

private:
  LogicalResult readDecisions(func::FuncOp function, Operation &op) {
    if (isa<func::ReturnOp>(op)) {
      for (OpOperand &operand : op.getOpOperands()) {
        FailureOr<Sharding> layout =
            access.getResultSharding(function, operand.getOperandNumber());
        if (failed(layout))
          return failure();
        plans[operand.get()].addUse(operand, *layout);
      }
      return success();
    }
    auto rules = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rules)
      return op.emitOpError("has no sharding rule");
    if (isSource(&op))
      return readSource(op);
    ShardingRule rule = rules.getShardingRule();
    FailureOr<FactorAssignment> assignment = access.getAssignment(&op, rule);
    if (failed(assignment))
      return failure();
    if (needsDecomposition(rule, *assignment))
      return op.emitOpError("S7: an axis lies on a coupled factor; "
                            "parplan-decompose-split-composites comes first");
    for (OpOperand &operand : op.getOpOperands())
      plans[operand.get()].addUse(
          operand,
          getUseSharding(rule, *assignment,
                         static_cast<int>(operand.getOperandNumber())));
    for (OpResult result : op.getResults()) {
      FailureOr<Sharding> atRest = access.getSharding(result);
      if (failed(atRest))
        return failure();
      plans[result] = {
          getMadeSharding(rule, *assignment,
                          static_cast<int>(result.getResultNumber())),
          *atRest,
          {},
          op.hasAttr(attributes::gatherAgain)};
    }
    return success();
  }

  /// A parameter is loaded in the layout it rests in; others are made in every
  /// layout that is asked for, which `apply` knows.
  LogicalResult readSource(Operation &op) {
    Value result = op.getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    Sharding whole = Sharding::getReplicated(type.getRank());
    plans[result] = {whole, whole, {}};
    if (!isa<ParameterOp>(op))
      return success();
    FailureOr<Sharding> atRest = access.getSharding(result);
    if (failed(atRest))
      return failure();
    if (atRest->isPartial())
      return op.emitOpError("S8: a parameter cannot be loaded pending");
    plans[result] = {*atRest, *atRest, {}, op.hasAttr(attributes::gatherAgain)};
    return success();
  }

  void apply(Value value, Plan &plan) {
    Operation *maker = value.getDefiningOp();
    if (maker && isSource(maker) && !isa<ParameterOp>(maker))
      return applySource(maker, plan);
    if (maker && isSource(maker))
      maker->removeAttr(attributes::factors);
    if (maker)
      setMade(cast<OpResult>(value), plan.made);
    Value atRest = value;
    if (plan.made != plan.atRest && !plan.uses.empty()) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfter(maker);
      atRest = createReshard(builder, value, plan.atRest, maker);
    }
    for (LayoutUses &use : plan.uses)
      route(atRest, plan, use);
  }

  /// Iotas, masks and splats are made in each layout, by one op each; other
  /// constants are made whole and cut without communication.
  void applySource(Operation *op, Plan &plan) {
    op->removeAttr(attributes::factors);
    auto constant = dyn_cast<ConstantOp>(op);
    bool anyLayout = !constant || isSplat(constant.getValue());
    SmallVector<std::pair<Sharding, Value>> copies;
    for (LayoutUses &use : plan.uses) {
      Sharding made = plan.made;
      if (anyLayout)
        made.dims = use.layout.dims;
      auto known = llvm::find_if(
          copies, [&](const auto &copy) { return copy.first == made; });
      if (known == copies.end()) {
        Operation *copy = op;
        if (!copies.empty()) {
          OpBuilder builder(op->getContext());
          builder.setInsertionPointAfter(op);
          copy = builder.clone(*op);
        }
        access.setShardings(copy, {made});
        copies.emplace_back(made, copy->getResult(0));
        known = std::prev(copies.end());
      }
      route(known->second, {made, made, {}}, use);
    }
    if (copies.empty())
      op->erase();
  }

  static bool isSplat(ElementsAttr value) {
    auto dense = dyn_cast<DenseElementsAttr>(value);
    return dense && dense.isSplat();
  }

  /// Lets the operands of `use` read `atRest` in their layout.
  void route(Value atRest, const Plan &plan, LayoutUses &use) {
    Value read = atRest;
    if (use.layout != plan.atRest)
      read = createCopy(atRest, plan, use);
    for (OpOperand *operand : use.operands)
      operand->set(read);
  }

  Value createCopy(Value atRest, const Plan &plan, const LayoutUses &use) {
    Operation *user = use.operands.front()->getOwner();
    Operation *maker = atRest.getDefiningOp();
    OpBuilder builder(user);
    if (maker && isMadeEarly(maker, plan.atRest, use)) {
      builder.setInsertionPointAfter(maker);
      return createReshard(builder, atRest, use.layout, maker);
    }
    // As late as possible: a gathered copy lives from its first use.
    Value copy = createReshard(builder, atRest, use.layout, user);
    bool isNeededAgain =
        plan.isCopiedAgain() &&
        llvm::any_of(use.operands, [](OpOperand *operand) {
          return operand->getOwner()->hasAttr(attributes::recompute);
        });
    if (isNeededAgain || (maker && isMadeAgain(maker, user)))
      copy.getDefiningOp()->setAttr(attributes::recompute,
                                    builder.getUnitAttr());
    else
      copy.getDefiningOp()->removeAttr(attributes::recompute);
    if (use.reader.perMicroBatch || (maker && isPerMicroBatch(maker)))
      copy.getDefiningOp()->setAttr(attributes::perMicroBatch,
                                    builder.getUnitAttr());
    return copy;
  }

  /// True if the stage of `user` makes again for its backward pass what `maker`
  /// makes.
  static bool isMadeAgain(Operation *maker, Operation *user) {
    Attribute stage = maker->getAttr(attributes::stage);
    return maker->hasAttr(attributes::recompute) && isPerMicroBatch(maker) &&
           (!stage || stage == user->getAttr(attributes::stage));
  }

  /// Pending values are reduced where they are complete, so that gradients are
  /// on their way while the backward pass goes on; results leave for where they
  /// rest at once.
  static bool isMadeEarly(Operation *maker, const Sharding &layoutAtRest,
                          const LayoutUses &use) {
    if (isPerMicroBatch(maker) != use.reader.perMicroBatch)
      return false;
    bool isResult = isa<func::ReturnOp>(use.operands.front()->getOwner());
    return isResult || (layoutAtRest.isPartial() && !use.layout.isPartial());
  }

  Value createReshard(OpBuilder &builder, Value value, const Sharding &target,
                      Operation *origin) {
    auto reshard = builder.create<ReshardOp>(origin->getLoc(), value.getType(),
                                             value, access.getAttr(target));
    copyOrigin(origin, reshard);
    return reshard.getResult();
  }

  void setMade(OpResult result, const Sharding &made) {
    Operation *op = result.getOwner();
    auto list = op->getAttrOfType<ArrayAttr>(attributes::shardings);
    SmallVector<Attribute> shardings(list.begin(), list.end());
    shardings[result.getResultNumber()] = access.getAttr(made);
    op->setAttr(attributes::shardings,
                ArrayAttr::get(op->getContext(), shardings));
  }

  const ShardingAccess &access;
  llvm::MapVector<Value, Plan> plans;
};

struct InsertReshardsPass : impl::InsertReshardsBase<InsertReshardsPass> {
  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(ReshardInserter(*access).run(function)))
        signalPassFailure();
  }
};

} // namespace
} // namespace parplan
