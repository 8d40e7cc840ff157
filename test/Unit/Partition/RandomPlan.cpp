//===- RandomPlan.cpp - Random legal decisions ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomPlan.h"

#include "parplan/Sharding/Reshard.h"

using namespace mlir;

namespace parplan::test {
namespace {

Mesh makeMesh(Random &random, int64_t positions) {
  constexpr const char *names[] = {"x", "y", "z"};
  std::vector<MeshAxis> axes;
  int64_t count = random.chance(20) ? 1 : random.between(2, 3);
  if (positions > 1) {
    axes.push_back({"pp0", positions, AxisRole::pipeline});
    count = random.between(0, 2);
  }
  for (int64_t axis = 0; axis < count; ++axis)
    axes.push_back({names[axis], random.chance(65) ? 2 : 3});
  return Mesh(axes);
}

class Planner {
public:
  Planner(ModuleOp module, Mesh meshOfModule, Random &random)
      : mesh(std::move(meshOfModule)), random(random),
        symbol(FlatSymbolRefAttr::get(module.getContext(), "mesh")),
        isUniform(random.chance(50)) {}

  void run(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      bool canBeStored =
          cast<RankedTensorType>(argument.getType()).getRank() > 0 &&
          !function.getArgAttr(index, attributes::batch);
      function.setArgAttr(
          index, attributes::sharding,
          getAttr(makeSharding(argument, canBeStored && random.chance(20))));
    }
    for (Operation &op : function.getBody().front().without_terminator())
      plan(&op);
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      // A variable ends where it rests.
      Attribute sharding =
          variables.lookup(function.getResultAttr(index, attributes::variable));
      if (!sharding)
        sharding = getAttr(makeSharding(operand.get(), /*isStored=*/false));
      function.setResultAttr(index, attributes::sharding, sharding);
    }
  }

private:
  ShardingAttr getAttr(const Sharding &sharding) {
    return ShardingAttr::get(symbol, mesh, sharding);
  }

  AxisList makeAxes() {
    AxisList axes;
    for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
      if (mesh.getAxis(axis).role != AxisRole::pipeline)
        axes.push_back(axis);
    random.shuffle(axes);
    return axes;
  }

  /// A complete sharding: every axis on some dimension, stored, or on none.
  Sharding makeSharding(Value value, bool isStored) {
    size_t rank = cast<RankedTensorType>(value.getType()).getRank();
    Sharding sharding = Sharding::getReplicated(rank);
    for (int axis : makeAxes()) {
      int64_t place = random.below(rank + 2);
      if (place < static_cast<int64_t>(rank))
        sharding.dims[place].push_back(axis);
      else if (isStored)
        sharding.storage.push_back(axis);
    }
    return sharding;
  }

  void plan(Operation *op) {
    if (isUniform && isOfUpdate(op))
      return planUpdate(op);
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    FactorAssignment assignment = makeAssignment(op, rule);
    op->setAttr(attributes::factors,
                FactorsAttr::get(symbol, mesh, rule, assignment));
    SmallVector<Attribute> atRest;
    for (OpResult result : op->getResults())
      atRest.push_back(getAttr(
          isa<ParameterOp>(op)
              ? makeSharding(result, random.chance(40))
              : makeRest(result,
                         getMadeSharding(
                             rule, assignment,
                             static_cast<int>(result.getResultNumber())))));
    op->setAttr(attributes::shardings,
                ArrayAttr::get(op->getContext(), atRest));
    if (auto parameter = dyn_cast<ParameterOp>(op))
      variables[parameter.getVariable()] = atRest.front();
  }

  /// Variables, and what gradients of whole variables go through.
  static bool isOfUpdate(Operation *op) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      return parameter.getSlot() || parameter.getInitializer().starts_with("v");
    auto role = op->getAttrOfType<StringAttr>(attributes::role);
    return role && isa<AccumulateOp, SquareSumOp, OptimizerUpdateOp>(op);
  }

  /// Decides on dimensions of no variable and alike for all of them, so that
  /// they can share buckets.
  void planUpdate(Operation *op) {
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    auto assignment = FactorAssignment::getReplicated(rule);
    StringRef name = op->getName().getStringRef();
    auto [known, isNew] = uniform.try_emplace(name);
    if (isNew)
      for (int axis : makeAxes())
        (random.chance(50) ? known->second.pending : known->second.storage)
            .push_back(axis);
    llvm::sort(known->second.pending);
    if (rule.flat)
      assignment.storage = known->second.storage;
    if (rule.linearity == Linearity::jointly && !isa<SquareSumOp>(op))
      assignment.pending = known->second.pending;
    op->setAttr(attributes::factors,
                FactorsAttr::get(symbol, mesh, rule, assignment));
    SmallVector<Attribute> atRest;
    for (OpResult result : op->getResults()) {
      Sharding made = getMadeSharding(
          rule, assignment, static_cast<int>(result.getResultNumber()));
      if (isa<ParameterOp>(op)) {
        auto type = cast<RankedTensorType>(result.getType());
        made = Sharding::getReplicated(type.getRank());
        if (rule.flat || type.getRank() > 0)
          made.storage = known->second.storage;
      }
      atRest.push_back(getAttr(made));
    }
    op->setAttr(attributes::shardings,
                ArrayAttr::get(op->getContext(), atRest));
    if (auto parameter = dyn_cast<ParameterOp>(op))
      variables[parameter.getVariable()] = atRest.front();
  }

  /// Rings of keys need queries that are split.
  size_t chooseFactor(Operation *op, const ShardingRule &rule) {
    if (isa<AttentionOp, AttentionGradientOp>(op) && random.chance(40))
      if (std::optional<int> queries = rule.findFactor("s"))
        return *queries;
    return random.below(rule.factors.size());
  }

  FactorAssignment makeAssignment(Operation *op, const ShardingRule &rule) {
    FactorAssignment assignment = FactorAssignment::getReplicated(rule);
    bool isNumber = !cast<RankedTensorType>(op->getResult(0).getType())
                         .getElementType()
                         .isInteger(1);
    for (int axis : makeAxes()) {
      AxisList *list = nullptr;
      if (rule.flat && random.chance(40))
        list = &assignment.storage;
      else if (!rule.factors.empty() && random.chance(75))
        list = &assignment.axes[chooseFactor(op, rule)];
      else if (rule.linearity != Linearity::none && isNumber &&
               random.chance(60))
        list = &assignment.pending;
      if (!list)
        continue;
      list->push_back(axis);
      if (verifyAssignment(rule, assignment, mesh))
        list->pop_back();
    }
    llvm::sort(assignment.pending);
    // Which experts a token goes to is a number of other type.
    if (rule.linearity == Linearity::separately && !assignment.pending.empty())
      do
        assignment.pendingOperand =
            static_cast<int>(random.below(rule.operands.size()));
      while (getElementTypeOrSelf(op->getOperand(assignment.pendingOperand)) !=
             getElementTypeOrSelf(op->getResult(0)));
    if (isa<MatmulOp, AttentionOp, AttentionGradientOp>(op) &&
        random.chance(60))
      addPanels(op, rule, assignment);
    return assignment;
  }

  /// Where keys go round a ring the values go with them, and the mask does or
  /// stays.
  static bool hasOneRing(Operation *op, const ShardingRule &rule,
                         const FactorAssignment &assignment) {
    if (isa<MatmulOp>(op))
      return true;
    auto getKeyAxes = [&](unsigned operand) {
      const TensorFactors &tensor = rule.operands[operand];
      for (auto [dim, factors] : llvm::enumerate(tensor))
        if (llvm::is_contained(factors, assignment.panels.factor))
          return getUseSharding(rule, assignment, static_cast<int>(operand))
              .dims[dim];
      return AxisList();
    };
    AxisList ring = getKeyAxes(/*operand=*/1);
    for (unsigned operand = 3; operand < rule.operands.size(); ++operand)
      if (AxisList axes = getKeyAxes(operand); !axes.empty() && axes != ring)
        return false;
    return !ring.empty() && getKeyAxes(/*operand=*/2) == ring;
  }

  /// A loop over panels of some factor, over some axes of others, where one is
  /// legal.
  void addPanels(Operation *op, const ShardingRule &rule,
                 FactorAssignment &assignment) {
    SmallVector<int> factors(rule.panelFactors.begin(),
                             rule.panelFactors.end());
    random.shuffle(factors);
    for (int factor : factors) {
      PanelLoop panels{factor, {}};
      for (const AxisList &axes : assignment.axes)
        llvm::copy_if(axes, std::back_inserter(panels.axes),
                      [&](int) { return random.chance(80); });
      llvm::sort(panels.axes);
      assignment.panels = panels;
      if (!verifyAssignment(rule, assignment, mesh) &&
          hasOneRing(op, rule, assignment))
        return;
      assignment.panels = PanelLoop();
    }
  }

  Sharding makeRest(Value value, const Sharding &made) {
    auto type = cast<RankedTensorType>(value.getType());
    Sharding atRest = made;
    if (made.isPartial() && random.chance(50)) {
      // Stays pending, perhaps over fewer axes.
      if (made.reduction == ReductionKind::sum && random.chance(40))
        atRest.partial.pop_back();
      return atRest;
    }
    atRest.partial.clear();
    atRest.reduction = ReductionKind::sum;
    if (random.chance(50))
      return atRest;
    atRest = makeSharding(value, random.chance(30));
    return findReshardPath(mesh, type.getShape(), made, atRest).found ? atRest
                                                                      : made;
  }

  Mesh mesh;
  Random &random;
  FlatSymbolRefAttr symbol;
  DenseMap<Attribute, Attribute> variables;
  /// In updates: what is decided by the name of the op.
  bool isUniform;
  llvm::StringMap<FactorAssignment> uniform;
};

} // namespace

void writeRandomPlan(ModuleOp module, Random &random, int64_t positions) {
  Mesh mesh = makeMesh(random, positions);
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  builder.create<MeshOp>(module.getLoc(), "mesh",
                         MeshAttr::get(module.getContext(), mesh));
  for (auto function : module.getOps<func::FuncOp>())
    Planner(module, mesh, random).run(function);
}

} // namespace parplan::test
