//===- Plan.cpp - Choosing how everything is spread -----------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Planner/Solver.h"
#include "passes/Plan/GraphProblem.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSwitch.h"

namespace parplan {
#define GEN_PASS_DEF_PLAN
#include "passes/Plan/Passes.h.inc"
} // namespace parplan

using namespace mlir;
using namespace parplan;

namespace {

struct Plan : public parplan::impl::PlanBase<Plan> {
  using PlanBase::PlanBase;

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function) {
      getOperation().emitError("there is no function @main to plan");
      return signalPassFailure();
    }
    parplan::DiagnosticEngine engine;
    std::optional<ClusterDescription> description =
        loadCluster(cluster, engine);
    std::optional<Cluster> machines =
        description ? makeCluster(*description, gpus, engine) : std::nullopt;
    if (!machines) {
      getOperation().emitError(engine.render());
      return signalPassFailure();
    }
    for (auto attention : function.getOps<AttentionOp>())
      if (attention.getSink()) {
        attention.emitOpError("has a sink, which no plan knows: "
                              "parplan-write-out-sinks comes before");
        return signalPassFailure();
      }
    GraphProblem graph = extractProblem(
        function, [](int64_t node) { return "node" + std::to_string(node); });
    if (auto fault = verifyProblem(graph.problem)) {
      getOperation().emitError("the function cannot be planned: ") << *fault;
      return signalPassFailure();
    }
    std::optional<PlanRequest> request = getRequest(*machines);
    if (!request)
      return signalPassFailure();
    CostModel model(*machines, Precision::fp32);
    PlanResult result = searchPlan(graph.problem, *request, ClusterCosts(model),
                                   SearchEffort::usual);
    if (!result.answer) {
      InFlightDiagnostic error = getOperation().emitError("no plan fits ");
      error << int64_t(gpus) << " devices of " << request->memoryLimitBytes
            << " bytes";
      for (const std::string &refusal : result.refusals)
        error.attachNote() << refusal;
      return signalPassFailure();
    }
    for (const std::string &problem :
         verifyAnswer(graph.problem, *result.answer)) {
      getOperation().emitError("the evaluator refuses the plan: ") << problem;
      return signalPassFailure();
    }
    applyAnswer(function, graph, *result.answer);
  }

private:
  /// The request of the options; nullopt, after an error, where they name none.
  std::optional<PlanRequest> getRequest(const Cluster &machines) {
    PlanRequest request;
    request.devicesPerNode = machines.getDevicesPerNode();
    request.deviceCount = gpus;
    request.memoryLimitBytes =
        memory ? int64_t(memory) : machines.getDevice().memoryBytes;
    auto take = [](int64_t size, std::optional<int64_t> &into) {
      if (size != 0)
        into = size;
    };
    take(data, request.dataSize);
    take(tensor, request.tensorSize);
    take(context, request.contextSize);
    take(expert, request.expertSize);
    if (sequence >= 0)
      request.sequenceParallel = sequence != 0;
    if (zero >= 0)
      request.zeroStage = zero;
    take(pipeline, request.pipelineSize);
    const Node &node = machines.description.node;
    request.hostLimitBytes = node.hostMemoryBytes / gpus;
    request.nvmeLimitBytes = node.nvme ? node.nvme->bytes / gpus : 0;
    if (!setPasses(request))
      return std::nullopt;
    if (servers > 0)
      keepOnServers({servers, std::nullopt, gpus - servers}, request);
    if (!grid.empty()) {
      if (grid.size() == 2)
        request.grid = {ForcedGrid::Kind::grid2d, {}};
      else if (grid.size() == 3)
        request.grid = {
            depth ? ForcedGrid::Kind::grid2_5d : ForcedGrid::Kind::grid3d, {}};
      else
        return fail("a grid has two or three sizes");
      request.grid->sizes.assign(grid.begin(), grid.end());
    }
    for (const std::string &entry : force) {
      // GLOB:ALGORITHM
      auto [glob, name] = StringRef(entry).rsplit(':');
      std::optional<Algorithm> algorithm = parseAlgorithm(name);
      if (!algorithm)
        return fail("'" + entry + "' is not GLOB:ALGORITHM");
      request.forcedAlgorithms.push_back({glob.str(), *algorithm});
    }
    return request;
  }

  /// Schedule, recomputation and offload.
  bool setPasses(PlanRequest &request) {
    if (!schedule.empty()) {
      std::optional<ScheduleName> name = parseScheduleName(schedule);
      if (!name)
        return fail("'" + schedule + "' is no schedule"), false;
      request.schedule = {name->kind, name->chunks};
    }
    if (!recompute.empty()) {
      auto kind = llvm::StringSwitch<std::optional<RecomputeKind>>(recompute)
                      .Case("none", RecomputeKind::none)
                      .Case("selective", RecomputeKind::selective)
                      .Case("full", RecomputeKind::full)
                      .Default(std::nullopt);
      if (!kind)
        return fail("'" + recompute + "' is not none, selective or full"),
               false;
      request.recompute = kind;
    }
    for (const std::string &entry : offload) {
      OffloadChoice &choice =
          request.offload ? *request.offload : request.offload.emplace();
      auto [what, name] = StringRef(entry).split(':');
      MemoryTier tier = name == "nvme" ? MemoryTier::nvme : MemoryTier::host;
      if (what == "optimizer")
        choice.optimizer = tier;
      else if (what == "parameters")
        choice.parameters = tier;
      else if (entry == "activations:cpu")
        choice.activations = true;
      else
        return fail("'" + entry + "' is not KIND:TIER"), false;
    }
    return true;
  }

  std::nullopt_t fail(const Twine &message) {
    getOperation().emitError(message);
    return std::nullopt;
  }
};

} // namespace
