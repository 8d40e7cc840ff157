//===- DecomposeSplitComposites.cpp - Composites split inside -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_DECOMPOSESPLITCOMPOSITES
#include "passes/Partition/Passes.h.inc"

namespace {

/// Lists the ops that a builder inserts, in order.
struct InsertionList : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }
  SmallVector<Operation *> ops;
};

/// The sharding that `op` makes result `index` in, with every reduction done.
Sharding getCompleteSharding(const ShardingRule &rule,
                             const FactorAssignment &assignment, int index) {
  Sharding made = getMadeSharding(rule, assignment, index);
  made.partial.clear();
  made.reduction = ReductionKind::sum;
  return made;
}

/// Replaces composites by their parts until no axis lies on a coupled factor.
class Decomposer {
public:
  explicit Decomposer(const ShardingAccess &access) : access(access) {}

  LogicalResult run(Operation *op) {
    auto rules = dyn_cast<ShardingRuleOpInterface>(op);
    // Sources are made in any layout.
    if (!rules || isSource(op))
      return success();
    ShardingRule rule = rules.getShardingRule();
    FailureOr<FactorAssignment> assignment = access.getAssignment(op, rule);
    if (failed(assignment))
      return failure();
    if (!needsDecomposition(rule, *assignment))
      return success();
    auto composite = dyn_cast<DecomposableOpInterface>(op);
    PARPLAN_CHECK(composite, "coupled factors without a decomposition: ",
                  std::string_view(op->getName().getStringRef()));
    return decompose(composite, rule, *assignment);
  }

private:
  LogicalResult decompose(DecomposableOpInterface composite,
                          const ShardingRule &rule,
                          const FactorAssignment &assignment) {
    // The parts read what the composite reads, not what is at rest.
    DenseMap<Value, Sharding> layouts;
    for (OpOperand &operand : composite->getOpOperands())
      layouts.try_emplace(
          operand.get(),
          getUseSharding(rule, assignment,
                         static_cast<int>(operand.getOperandNumber())));
    InsertionList parts;
    OpBuilder builder(composite, &parts);
    SmallVector<Value> replacements = composite.decompose(builder);
    for (Operation *part : parts.ops)
      if (failed(annotate(part, composite, layouts)))
        return failure();
    return replace(composite, replacements, parts.ops);
  }

  /// Gives a part the factors that follow from where its operands lie.
  LogicalResult annotate(Operation *part, Operation *composite,
                         DenseMap<Value, Sharding> &layouts) {
    auto rules = dyn_cast<ShardingRuleOpInterface>(part);
    PARPLAN_CHECK(rules, "a part without a sharding rule: ",
                  std::string_view(part->getName().getStringRef()));
    ShardingRule rule = rules.getShardingRule();
    SmallVector<Sharding> operands;
    for (Value operand : part->getOperands()) {
      auto known = layouts.find(operand);
      if (known == layouts.end()) {
        FailureOr<Sharding> sharding = access.getSharding(operand);
        if (failed(sharding))
          return failure();
        known = layouts.try_emplace(operand, *sharding).first;
      }
      operands.push_back(known->second);
    }
    FactorAssignment assignment =
        inferAssignment(rule, operands, access.getMesh());
    SmallVector<Sharding> atRest;
    for (OpResult result : part->getResults()) {
      atRest.push_back(getCompleteSharding(
          rule, assignment, static_cast<int>(result.getResultNumber())));
      layouts.try_emplace(result, atRest.back());
    }
    access.setAssignment(part, rule, assignment);
    access.setShardings(part, atRest);
    copyOrigin(composite, part);
    return success();
  }

  /// The results rest where the composite's did. Parts may be composites too.
  LogicalResult replace(Operation *composite, ValueRange replacements,
                        ArrayRef<Operation *> parts) {
    PARPLAN_CHECK(replacements.size() == composite->getNumResults(),
                  replacements.size(), " values for ",
                  composite->getNumResults(), " results");
    for (auto [result, value] :
         llvm::zip_equal(composite->getResults(), replacements)) {
      Operation *maker = value.getDefiningOp();
      if (!maker || !llvm::is_contained(parts, maker))
        continue;
      ShardingAttr atRest = parplan::getSharding(result);
      if (!atRest)
        return composite->emitOpError("has no ") << attributes::shardings;
      auto list = maker->getAttrOfType<ArrayAttr>(attributes::shardings);
      SmallVector<Attribute> shardings(list.begin(), list.end());
      shardings[cast<OpResult>(value).getResultNumber()] = atRest;
      maker->setAttr(attributes::shardings,
                     ArrayAttr::get(maker->getContext(), shardings));
    }
    composite->replaceAllUsesWith(replacements);
    composite->erase();
    for (Operation *part : parts)
      if (failed(run(part)))
        return failure();
    return success();
  }

  const ShardingAccess &access;
};

struct DecomposeSplitCompositesPass
    : impl::DecomposeSplitCompositesBase<DecomposeSplitCompositesPass> {
  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation *op) { ops.push_back(op); });
    Decomposer decomposer(*access);
    for (Operation *op : ops)
      if (failed(decomposer.run(op)))
        signalPassFailure();
  }
};

} // namespace
} // namespace parplan
