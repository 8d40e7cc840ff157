//===- Planning.cpp - From a problem to a plan that fits ------------------===//

#include "lib/Driver/Planning.h"

#include "lib/Driver/Disposal.h"
#include "lib/Driver/ForceRules.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

using namespace parplan;

std::string parplan::getClusterSource(const CompileOptions &options) {
  if (!options.cluster.empty())
    return options.cluster;
  return options.target == Target::host ? "host" : "dgx-h100";
}

std::optional<Cluster> parplan::chooseCluster(const CompileOptions &options,
                                              DiagnosticEngine &engine) {
  std::optional<ClusterDescription> description =
      loadCluster(getClusterSource(options), engine);
  if (!description)
    return std::nullopt;
  return makeCluster(std::move(*description), options.gpus, engine);
}

Precision parplan::getPrecision(const CompileOptions &options) {
  switch (options.training ? options.training->precision : options.precision) {
  case ComputePrecision::fp32:
    return Precision::fp32;
  case ComputePrecision::bf16:
    return Precision::bf16;
  case ComputePrecision::fp16:
    return Precision::fp16;
  }
  PARPLAN_UNREACHABLE("unknown precision");
}

/// What of the request is too much, and what was found to do.
static void describe(const WaysOut &waysOut, DiagnosticBuilder &error) {
  std::vector<std::string> entries;
  for (const std::string &entry : waysOut.conflict)
    entries.push_back(escapeName(entry));
  if (entries.size() == 1)
    error.note("--force " + entries.front() + " alone is too much");
  else if (!entries.empty())
    error.note("--force " + joinText(entries, ",") +
               " is too much together, but not with any one of them left out");
  else if (waysOut.isForceInnocent)
    error.note("nothing fits without --force, either");
  for (const WayOut &way : waysOut.ways)
    error.help(way.change + ": a plan takes " + formatBytes(way.peakBytes) +
               " a device and " + formatSeconds(way.seconds) + " a step");
}

/// Nobody knows then what is not among the plans that were looked at.
static void describe(SearchEnd end, const CompileOptions &options,
                     DiagnosticBuilder &error) {
  if (end == SearchEnd::timeOver)
    error.note("time was over (--time-budget, " +
               formatSeconds(options.timeBudgetSeconds) +
               ") before all plans were seen; more of it may find one");
}

void parplan::reportNoPlanFits(const CompileOptions &options,
                               int64_t memoryLimitBytes,
                               const std::string &reason, SearchEnd end,
                               const WaysOut &waysOut,
                               DiagnosticEngine &engine) {
  DiagnosticBuilder error =
      engine.error(codes::noPlanFits, Location::inFile(options.modelPath));
  error << (end == SearchEnd::timeOver ? "no plan was found for "
                                       : "no plan for ")
        << options.gpus
        << (end == SearchEnd::timeOver ? " devices that fits "
                                       : " devices fits ")
        << formatBytes(memoryLimitBytes) << " per device; " << reason;
  describe(end, options, error);
  describe(waysOut, error);
  if (waysOut.ways.empty())
    error.help(joinText({options.force.servers ? "use more devices or servers"
                                               : "use more devices",
                         "devices with more memory", "or a smaller batch"},
                        ", "));
}

std::string parplan::describeServerNeed(const ServerChoice &servers,
                                        int64_t bytes) {
  return "each of " + std::to_string(servers.servers) + " servers needs " +
         formatBytes(bytes);
}

void parplan::reportNoPlanPossible(const CompileOptions &options,
                                   const std::vector<std::string> &refusals,
                                   SearchEnd end, const WaysOut &waysOut,
                                   DiagnosticEngine &engine) {
  DiagnosticBuilder error =
      engine.error(codes::noPlanPossible, Location::inFile(options.modelPath));
  error << "no plan for " << options.gpus
        << " devices was found that does what is asked for";
  for (const std::string &refusal : refusals)
    error.note(refusal);
  describe(end, options, error);
  describe(waysOut, error);
}

std::optional<PlanClaims> parplan::readPlanClaims(const std::string &path,
                                                  DiagnosticEngine &engine) {
  std::optional<std::string> text =
      readFile(path, codes::unreadablePlan, engine);
  std::optional<Json> document =
      text ? parseJson(*text, path, codes::badPlan, engine) : std::nullopt;
  return document ? readClaims(*document, path, engine) : std::nullopt;
}

bool parplan::confirmModel(const std::string &planSha256,
                           const std::string &modelSha256,
                           const std::string &planPath,
                           DiagnosticEngine &engine) {
  if (planSha256 == modelSha256)
    return true;
  engine.error(codes::planMismatch, Location::inFile(planPath))
      << "the plan is of a model with SHA-256 " << escapeName(planSha256)
      << ", this one has " << modelSha256;
  return false;
}

bool parplan::confirmOrder(const Frontend &frontend,
                           const std::string &planPath,
                           DiagnosticEngine &engine) {
  if (!frontend.orderObstacle)
    return true;
  engine.error(codes::planMismatch, Location::inFile(planPath))
      << "the plan has the sequence in zig-zag order, which the model does not "
         "allow: "
      << *frontend.orderObstacle;
  return false;
}

static std::optional<PlanningAnswer>
readPlanFile(const PlanningProblem &problem, const CompileOptions &options,
             const std::string &modelSha256, DiagnosticEngine &engine) {
  std::optional<std::string> text =
      readFile(options.planPath, codes::unreadablePlan, engine);
  std::optional<Json> document =
      text ? parseJson(*text, options.planPath, codes::badPlan, engine)
           : std::nullopt;
  std::optional<PlanClaims> claims =
      document ? readClaims(*document, options.planPath, engine) : std::nullopt;
  if (!claims ||
      !confirmModel(claims->modelSha256, modelSha256, options.planPath, engine))
    return std::nullopt;
  std::optional<PlanningAnswer> answer =
      readAnswer(*document, options.planPath, problem, engine);
  if (!answer)
    return std::nullopt;
  int64_t ranks = answer->servers ? answer->servers->getRankCount()
                                  : answer->mesh.getRankCount();
  if (ranks != options.gpus) {
    engine.error(codes::planMismatch, Location::inFile(options.planPath))
        << "the plan is for " << ranks << " devices, --gpus asks for "
        << options.gpus;
    return std::nullopt;
  }
  return answer;
}

void parplan::setTierLimits(const Cluster &cluster, PlanRequest &request) {
  const Node &node = cluster.description.node;
  int64_t sharers = std::min(cluster.getDevicesPerNode(), cluster.deviceCount);
  request.hostLimitBytes = node.hostMemoryBytes / sharers;
  request.nvmeLimitBytes = node.nvme ? node.nvme->bytes / sharers : 0;
}

PlanRequest parplan::getRequest(const CompileOptions &options,
                                const Cluster &cluster,
                                int64_t memoryLimitBytes) {
  const ForceOptions &force = options.force;
  PlanRequest request;
  request.deviceCount = options.gpus;
  request.memoryLimitBytes = memoryLimitBytes;
  request.dataSize = force.dataSize;
  request.tensorSize = force.tensorSize;
  request.grid = force.grid;
  request.contextSize = force.contextSize;
  request.expertSize = force.expertSize;
  request.sequenceParallel = force.sequenceParallel;
  request.pipelineSize = force.pipelineSize;
  request.schedule = force.schedule;
  request.recompute = force.recompute;
  request.offload = force.offload;
  setTierLimits(cluster, request);
  request.forcedAlgorithms = force.nodes;
  request.zeroStage = force.zeroStage;
  if (force.servers)
    keepOnServers(*force.servers, request);
  request.devicesPerNode = cluster.getDevicesPerNode();
  return request;
}

std::vector<int64_t> parplan::getContextSizes(const PlanningProblem &problem,
                                              const CompileOptions &options,
                                              const Cluster &cluster) {
  return getContextSizes(problem,
                         getRequest(options, cluster, /*memoryLimitBytes=*/0));
}

/// Reports that servers are too few for the variables, if they are. What else
/// they need is known of their program alone.
static bool checkServerMemory(const PlanningProblem &problem,
                              const CompileOptions &options,
                              int64_t memoryLimitBytes,
                              DiagnosticEngine &engine) {
  if (!options.force.servers)
    return true;
  int64_t bytes = getServerBytes(problem, *options.force.servers);
  if (bytes > memoryLimitBytes)
    reportNoPlanFits(options, memoryLimitBytes,
                     describeServerNeed(*options.force.servers, bytes),
                     SearchEnd::allSeen, {}, engine);
  return bytes <= memoryLimitBytes;
}

std::optional<PlanResult> parplan::takePlan(const Frontend &frontend,
                                            const CompileOptions &options,
                                            const std::string &modelSha256,
                                            const PlanCosts &costs,
                                            DiagnosticEngine &engine) {
  const PlanningProblem &problem = frontend.graph.problem;
  PlanResult plan;
  plan.answer = readPlanFile(problem, options, modelSha256, engine);
  if (!plan.answer)
    return std::nullopt;
  for (const std::string &violation : verifyAnswer(problem, *plan.answer))
    engine.error(codes::planRefuted, Location::inFile(options.planPath))
        << violation;
  if (engine.hasErrors())
    return std::nullopt;
  plan.evaluation = evaluatePlan(problem, *plan.answer, costs);
  plan.certificate.upperBoundSeconds = plan.evaluation.stepTimeSeconds;
  return plan;
}

/// The evaluator has the last word on every answer.
static void confirm(const PlanningProblem &problem, const PlanCosts &costs,
                    PlanResult &plan) {
  std::vector<std::string> violations = verifyAnswer(problem, *plan.answer);
  PARPLAN_CHECK(violations.empty(),
                "the evaluator refuses a plan: ", violations.front());
  plan.evaluation = evaluatePlan(problem, *plan.answer, costs);
}

static void setExpertRanks(const PlanCandidate &candidate,
                           PlanRequest &request) {
  if (candidate.expertRanks != PlanCandidate::any)
    request.expertRanks = candidate.expertRanks;
}

PlanResult parplan::searchPlan(const Frontend &frontend,
                               const CompileOptions &options,
                               const Cluster &cluster, const PlanCosts &costs,
                               const PlanCandidate &candidate,
                               int64_t memoryLimitBytes, double seconds,
                               const SearchControl &control,
                               DiagnosticEngine &engine) {
  const PlanningProblem &problem = frontend.graph.problem;
  if (!checkForceOnModel(options.force, options.gpus, problem,
                         frontend.loopObstacle, options.modelPath, engine))
    return {};
  if (!checkServerMemory(problem, options, memoryLimitBytes, engine))
    return {};
  PlanRequest request = getRequest(options, cluster, memoryLimitBytes);
  setExpertRanks(candidate, request);
  request.timeBudgetSeconds = seconds;
  request.control = control;
  PlanResult plan = searchPlan(problem, request, costs, candidate.effort);
  if (!plan.answer)
    return plan;
  confirm(problem, costs, plan);
  double layoutSeconds = getLayoutSeconds(problem, *plan.answer, costs);
  double difference = std::abs(layoutSeconds - plan.objectiveSeconds);
  PARPLAN_CHECK(difference <= 1e-9 * layoutSeconds,
                "solver and evaluator disagree on the seconds of layouts");
  return plan;
}

FindPlanOptions parplan::getJointOptions(const Cluster &cluster) {
  FindPlanOptions options;
  // Between nodes a position works on several micro-batches, not on parts of
  // an op.
  constexpr int64_t usual = 8;
  options.mostTensorRanks = std::max(usual, cluster.getDevicesPerNode());
  return options;
}

JointPlanner::JointPlanner(StepProblems given, const CompileOptions &options,
                           const Cluster &cluster, const PlanCosts &costs,
                           SearchEffort effort)
    : steps(std::move(given)),
      request(getRequest(options, cluster, /*memoryLimitBytes=*/0)),
      costs(costs) {
  request.updatesMayMove = effort == SearchEffort::updatesOnHost;
  finder = std::make_shared<PlanFinder>(steps, request, costs,
                                        getJointOptions(cluster));
}

JointPlanner::~JointPlanner() {
  finder->end();
  disposeInBackground(std::move(finder));
}

PlanResult JointPlanner::search(int64_t memoryLimitBytes, double seconds,
                                const SearchControl &control,
                                const Likely &likely) {
  SpaceSearchOptions search;
  search.memoryLimitBytes = static_cast<double>(memoryLimitBytes);
  // To lower plan after plan takes longer than a little memory is worth: few
  // arenas have more gaps than that.
  constexpr double spareShare = 0.01;
  search.spareBytes = spareShare * search.memoryLimitBytes;
  search.timeBudgetSeconds = seconds;
  // What fits where nothing of this does needs time, too: with what the choice
  // of plans keeps back, half of all. But to have no plan is worse than to be
  // late.
  search.shareWithoutPlan = 0.6;
  search.patienceSeconds = 5;
  search.stop = control.stop;
  search.progress = [&](const SpaceSearchProgress &progress) {
    control.report(
        {progress.bestSeconds, progress.lowerBoundSeconds, progress.explored});
  };
  search.likely = [&](const JudgedPlan &plan, const Configuration &of) {
    likely(of.microBatches, plan.answer);
  };
  PlanResult plan = finder->find(search).result;
  if (!plan.answer)
    return plan;
  double judged = plan.evaluation.stepTimeSeconds;
  int64_t groups = getExpertGroups(steps.get(plan.microBatches)->getAlike(),
                                   request, getExpertRanks(plan.answer->mesh));
  confirm(*steps.getInGroups(groups).get(plan.microBatches)->get(), costs,
          plan);
  double difference = std::abs(plan.evaluation.stepTimeSeconds - judged);
  PARPLAN_CHECK(difference <= 1e-9 * judged,
                "search and evaluator disagree on the seconds of a step");
  return plan;
}

double parplan::getLeastSeconds(const Frontend &frontend,
                                const CompileOptions &options,
                                const Cluster &cluster, const PlanCosts &costs,
                                const PlanCandidate &candidate,
                                double seconds) {
  PlanRequest request = getRequest(options, cluster, /*memoryLimitBytes=*/0);
  setExpertRanks(candidate, request);
  request.timeBudgetSeconds = seconds;
  return getLeastSeconds(frontend.graph.problem, request, costs,
                         candidate.effort);
}
