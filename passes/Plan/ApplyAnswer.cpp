//===- ApplyAnswer.cpp - A plan as attributes -----------------------------===//

#include "dialects/parplan/FunctionAttributes.h"
#include "dialects/parplan/ParplanOps.h"
#include "passes/Plan/GraphProblem.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace parplan;

/// The mesh op of the plan, first in the module; replaces an earlier one.
static FlatSymbolRefAttr setMesh(func::FuncOp function, const Mesh &mesh) {
  auto module = function->getParentOfType<ModuleOp>();
  for (MeshOp old : llvm::make_early_inc_range(module.getOps<MeshOp>()))
    old.erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto op =
      builder.create<MeshOp>(module.getLoc(), builder.getStringAttr("mesh"),
                             MeshAttr::get(builder.getContext(), mesh));
  return FlatSymbolRefAttr::get(op.getSymNameAttr());
}

static void setRoom(func::FuncOp function, const WaitingRoom &room) {
  Builder builder(function.getContext());
  function->setAttr(attributes::roomBytes,
                    builder.getDenseI64ArrayAttr(room.positionBytes));
  SmallVector<int64_t> bytes;
  for (const PassBytes &stage : room.stages)
    bytes.append({stage.saved, stage.waiting, stage.forward,
                  stage.inputGradient, stage.weightGradient});
  function->setAttr(attributes::passBytes, builder.getDenseI64ArrayAttr(bytes));
}

/// The stages of ops, and what orders them, in place of those of an earlier
/// plan.
static void setPipeline(func::FuncOp function, const GraphProblem &graph,
                        const PlanningAnswer &answer) {
  Builder builder(function.getContext());
  function->removeAttr(attributes::pipelineSchedule);
  function->removeAttr(attributes::passSeconds);
  function->removeAttr(attributes::boundarySeconds);
  function->removeAttr(attributes::roomBytes);
  function->removeAttr(attributes::passBytes);
  if (answer.pipeline) {
    function->setAttr(
        attributes::pipelineSchedule,
        builder.getStringAttr(printScheduleName(answer.pipeline->shape)));
    SmallVector<double> seconds;
    for (const PassTimes &times : answer.pipeline->times)
      seconds.append({times.forwardSeconds, times.inputGradientSeconds,
                      times.weightGradientSeconds});
    function->setAttr(attributes::passSeconds,
                      builder.getDenseF64ArrayAttr(seconds));
    if (!answer.pipeline->latencies.empty())
      function->setAttr(
          attributes::boundarySeconds,
          builder.getDenseF64ArrayAttr(answer.pipeline->latencies));
    if (answer.pipeline->room.isLimited())
      setRoom(function, answer.pipeline->room);
  }
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    op->removeAttr(attributes::stage);
    if (answer.pipeline && answer.getStage(index) >= 0)
      op->setAttr(attributes::stage,
                  builder.getI64IntegerAttr(answer.getStage(index)));
    op->removeAttr(attributes::relay);
    if (answer.isRelayed(index))
      op->setAttr(attributes::relay, builder.getUnitAttr());
    op->removeAttr(attributes::perVisit);
    if (answer.isPerVisit(index))
      op->setAttr(attributes::perVisit, builder.getUnitAttr());
    op->removeAttr(attributes::recompute);
    if (answer.isRecomputed(index))
      op->setAttr(attributes::recompute, builder.getUnitAttr());
  }
}

/// Servers stand beside the ranks of the plan; without a common step these are
/// one worker of several.
static Mesh getMeshWithServers(const PlanningAnswer &answer) {
  std::vector<MeshAxis> axes = answer.mesh.getAxes().vec();
  if (!answer.servers)
    return answer.mesh;
  if (answer.servers->staleness || axes.empty())
    axes = {{"dp0", answer.servers->workers, AxisRole::data}};
  // Plans that users give name their axes as they like.
  std::string name;
  for (int number = 0; name.empty(); ++number) {
    name = "ps" + std::to_string(number);
    for (const MeshAxis &axis : axes)
      if (axis.name == name)
        name.clear();
  }
  axes.push_back({name, answer.servers->servers, AxisRole::server});
  return Mesh(std::move(axes));
}

void parplan::applyAnswer(func::FuncOp function, const GraphProblem &graph,
                          const PlanningAnswer &answer) {
  const Mesh &mesh = answer.mesh;
  FlatSymbolRefAttr symbol = setMesh(function, getMeshWithServers(answer));
  Builder builder(function.getContext());
  function->removeAttr(attributes::staleness);
  if (answer.servers && answer.servers->staleness)
    function->setAttr(attributes::staleness,
                      builder.getI64IntegerAttr(*answer.servers->staleness));

  llvm::DenseMap<Value, ShardingAttr> shardings;
  llvm::DenseSet<Value> again;
  llvm::DenseMap<Value, MemoryTier> tiers;
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    shardings[value] = ShardingAttr::get(symbol, mesh, answer.rest[index]);
    if (answer.isGatheredAgain(index))
      again.insert(value);
    if (answer.getTier(index) != MemoryTier::device)
      tiers[value] = answer.getTier(index);
  }

  for (auto [op, description, assignment] :
       llvm::zip_equal(graph.ops, graph.problem.ops, answer.assignments)) {
    op->setAttr(attributes::factors,
                FactorsAttr::get(symbol, mesh, description.rule, assignment));
    op->removeAttr(attributes::inPieces);
    for (int result : description.results)
      if (int variable = graph.problem.values[result].updates;
          variable >= 0 && answer.restsInPieces(variable))
        op->setAttr(attributes::inPieces, builder.getUnitAttr());
  }
  setPipeline(function, graph, answer);
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    SmallVector<Attribute> results;
    op.removeAttr(attributes::gatherAgain);
    op.removeAttr(attributes::tier);
    for (Value result : op.getResults()) {
      if (auto tier = tiers.find(result); tier != tiers.end())
        op.setAttr(attributes::tier,
                   builder.getStringAttr(stringifyMemoryTier(tier->second)));
      results.push_back(shardings.lookup(result));
      if (again.contains(result))
        op.setAttr(attributes::gatherAgain, builder.getUnitAttr());
    }
    op.setAttr(attributes::shardings, builder.getArrayAttr(results));
  }
  setArgumentAttributes(function, attributes::sharding, [&](unsigned index) {
    return shardings.lookup(body.getArgument(index));
  });
  setResultAttributes(function, attributes::sharding, [&](unsigned index) {
    return shardings.lookup(body.getTerminator()->getOperand(index));
  });
}
