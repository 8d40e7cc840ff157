//===- Compile.cpp - The road from a model to a program -------------------===//
//
// The phases in their order; each is a line of `docs/architecture.md`.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/Backend.h"
#include "lib/Driver/Commands.h"
#include "lib/Driver/Force.h"
#include "lib/Driver/ForceRules.h"
#include "lib/Driver/Frontend.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/MicroBatches.h"
#include "lib/Driver/Planning.h"
#include "lib/Driver/SequenceOrder.h"
#include "lib/Driver/TrainingSpec.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include <chrono>

using namespace parplan;

namespace {

class Stopwatch {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// A plan, and the program of one rank that carries it out.
struct PlannedProgram {
  Plan plan;
  LoweredProgram lowered;
};

/// Where memory decided, a faster plan may exist whose arena fits though its
/// estimated peak does not: then only `boundSeconds` is certain.
void weakenCertificate(Certificate &certificate, double boundSeconds) {
  if (certificate.upperBoundSeconds <= boundSeconds * (1 + 1e-9))
    return;
  certificate.lowerBoundSeconds =
      std::min(certificate.lowerBoundSeconds, boundSeconds);
  certificate.exact = false;
}

/// Which tier besides the device is too small for a rank of a program.
std::optional<std::string> findSmallTier(const Cluster &cluster,
                                         const Prediction &prediction) {
  PlanEvaluation needs;
  for (const RankPrediction &rank : prediction.ranks) {
    needs.hostBytes = std::max(needs.hostBytes, rank.hostPeakBytes);
    needs.nvmeBytes = std::max(needs.nvmeBytes, rank.nvmePeakBytes);
  }
  PlanRequest limits;
  setTierLimits(cluster, limits);
  return parplan::findSmallTier(limits, needs);
}

/// Plans and lowers until the program fits. The planner's sum of live bytes is
/// an estimate of the arena, which is known only after fusion and packing: when
/// the arena is larger than the limit, the plan is made again with that much
/// less; when every estimate is, the plan with the smallest one is tried. The
/// first try is `first`, where there is one. `leastArenaBytes` is that of all
/// programs so far.
std::optional<PlannedProgram>
planAndLower(const Frontend &frontend, std::optional<Plan> first,
             const CompileOptions &options, const Cluster &cluster,
             int64_t memoryLimitBytes, const Stopwatch &searchTime,
             SearchEffort effort, int64_t &leastArenaBytes, IRDumper &dumper,
             DiagnosticEngine &engine) {
  constexpr int attempts = 8;
  CostModel model(cluster, getPrecision(options));
  ClusterCosts costs(model);
  bool isGiven = !options.planPath.empty();
  std::string modelSha256 =
      isGiven ? frontend.model.info->computeSha256() : std::string();
  int64_t budget = memoryLimitBytes;
  int64_t arenaBytes = 0;
  double boundSeconds = std::numeric_limits<double>::infinity();
  PlanLack lack;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    bool isSmallest = lack.smallestBytes.has_value();
    CompileOptions attemptOptions = options;
    attemptOptions.timeBudgetSeconds =
        std::max(options.timeBudgetSeconds - searchTime.getSeconds(), 0.01);
    std::optional<Plan> plan = std::exchange(first, std::nullopt);
    if (!plan)
      plan = makePlan(frontend, attemptOptions, cluster, modelSha256, costs,
                      budget, isSmallest ? nullptr : &lack, engine, effort);
    if (!plan && !isSmallest && lack.smallestBytes) {
      // No estimate is that wrong.
      if (*lack.smallestBytes / 2 > memoryLimitBytes) {
        reportNoPlanFits(options, memoryLimitBytes,
                         "the smallest that was found needs " +
                             formatBytes(*lack.smallestBytes),
                         engine);
        return std::nullopt;
      }
      budget = *lack.smallestBytes;
      continue;
    }
    if (!plan)
      return std::nullopt;
    boundSeconds = std::min(boundSeconds, plan->boundWithoutLimitSeconds);
    std::optional<LoweredProgram> lowered =
        lower(frontend, plan->answer, costs, dumper, engine);
    if (!lowered)
      return std::nullopt;
    arenaBytes = lowered->prediction.getPeakBytes();
    leastArenaBytes = std::min(leastArenaBytes, arenaBytes);
    if (auto tier = findSmallTier(cluster, lowered->prediction)) {
      reportNoPlanFits(options, memoryLimitBytes, *tier, engine);
      return std::nullopt;
    }
    if (arenaBytes <= memoryLimitBytes) {
      if (!isGiven)
        weakenCertificate(plan->certificate, boundSeconds);
      return PlannedProgram{std::move(*plan), std::move(*lowered)};
    }
    if (isGiven || isSmallest)
      break;
    // The next plan must be smaller, by the estimate too.
    budget =
        std::max<int64_t>(1, std::min(budget - (arenaBytes - memoryLimitBytes),
                                      plan->evaluation.peakBytes - 1));
  }
  reportNoPlanFits(options, memoryLimitBytes,
                   "the smallest that was lowered takes " +
                       formatBytes(leastArenaBytes),
                   engine);
  return std::nullopt;
}

ImportOptions getImportOptions(const CompileOptions &options) {
  ImportOptions import;
  import.path = options.modelPath;
  import.dims.insert(options.dimensions.begin(), options.dimensions.end());
  import.globalBatch = options.globalBatch;
  import.needWeights = options.emit == EmitStage::executable;
  return import;
}

/// A model with its plan, for the number of micro-batches of the plan.
struct PlannedModel {
  Frontend frontend;
  PlannedProgram program;
  double importSeconds = 0;
  double searchSeconds = 0;
  std::optional<SequenceSummary> sequence;
};

bool lacksMemoryOnly(const DiagnosticEngine &engine) {
  return llvm::all_of(engine.getDiagnostics(), [](const Diagnostic &entry) {
    return entry.severity != Severity::error ||
           entry.code.number == codes::noPlanFits.number;
  });
}

/// A plan that is given was made for one step. Reports what the options ask for
/// otherwise, and takes its number of micro-batches.
bool adoptPlan(const CompileOptions &options, FrontendOptions &request,
               DiagnosticEngine &engine) {
  std::optional<PlanClaims> claims = readPlanClaims(options.planPath, engine);
  if (!claims)
    return false;
  auto compare = [&](const std::string &what, const std::string &planned,
                     const std::string &asked) {
    if (planned != asked)
      engine.error(codes::planMismatch, Location::inFile(options.planPath))
          << "the plan is for " << what << " " << quoteName(planned)
          << ", the options ask for " << quoteName(asked);
  };
  request.zigzag = claims->zigzag;
  setWorkers(request, claims->servers);
  bool isTraining = options.training.has_value();
  compare("a", claims->training ? "training step" : "forward pass",
          isTraining ? "training step" : "forward pass");
  compare("precision", claims->precision,
          stringifyPrecision(getPrecision(options)));
  if (options.globalBatch)
    compare("a global batch of", std::to_string(claims->batch),
            std::to_string(*options.globalBatch));
  if (options.force.microBatches)
    compare("micro-batches", std::to_string(claims->microBatches),
            std::to_string(*options.force.microBatches));
  request.microBatches = claims->microBatches;
  if (isTraining || claims->microBatches > 1)
    request.import.globalBatch = claims->batch;
  if (engine.hasErrors() || !isTraining)
    return !engine.hasErrors();

  const TrainingSummary &plan = *claims->training;
  const TrainingOptions &training = *options.training;
  auto getKind = [](const std::string &text) {
    return text.substr(0, text.find(':'));
  };
  auto print = [](bool value) { return std::string(value ? "on" : "off"); };
  compare("loss", plan.loss, printLoss(training));
  compare("optimizer", getKind(plan.optimizer),
          getKind(printOptimizer(training.optimizer)));
  compare("clipping", print(plan.clipNorm.has_value()),
          print(training.clipNorm.has_value()));
  compare("the gradient norm", print(plan.reportGradientNorm),
          print(training.reportGradientNorm));
  compare("frozen parameters", joinText(plan.frozen, ","),
          joinText(training.frozen, ","));
  return !engine.hasErrors();
}

/// Runs the frontend and plans. Unless micro-batches are forced, a step or
/// forward pass has as few as possible, and more when no plan fits; on a forced
/// pipeline it has as many as make it fastest. Where no number fits, all are
/// tried again with last resorts, as long as there is time.
std::optional<PlannedModel>
planModel(mlir::MLIRContext &context, const CompileOptions &options,
          const Cluster &cluster, int64_t memoryLimitBytes, IRDumper &dumper,
          DiagnosticEngine &engine) {
  FrontendOptions request{getImportOptions(options), options.training,
                          options.force.microBatches.value_or(0),
                          options.precision};
  setWorkers(request, options.force.servers);
  if (!options.planPath.empty() && !adoptPlan(options, request, engine))
    return std::nullopt;
  Stopwatch searchTime;
  std::vector<int64_t> counts = {request.microBatches};
  if (counts.front() == 0 && options.force.pipelineSize.value_or(1) > 1) {
    counts = rankMicroBatchCounts(context, options, request, cluster,
                                  memoryLimitBytes, engine);
    if (counts.empty())
      return std::nullopt;
  }
  // What said that memory does not suffice, for the fewest micro-batches.
  std::optional<DiagnosticEngine> lack;
  double importSeconds = 0;
  int64_t leastArenaBytes = std::numeric_limits<int64_t>::max();
  for (size_t index = 0; index < 2 * counts.size(); ++index) {
    int64_t count = counts[index % counts.size()];
    SearchEffort effort =
        index < counts.size() ? SearchEffort::usual : SearchEffort::lastResorts;
    if (index > 0 && searchTime.getSeconds() > options.timeBudgetSeconds)
      break;
    if (effort == SearchEffort::lastResorts && !options.planPath.empty())
      break;
    if (index == counts.size()) {
      CompileOptions rest = options;
      rest.timeBudgetSeconds -= searchTime.getSeconds();
      counts = rankLastResorts(context, rest, request, cluster,
                               memoryLimitBytes, counts);
      index = counts.size();
      count = counts.front();
    }
    request.microBatches = count;
    DiagnosticEngine attempt;
    Stopwatch importTime;
    std::optional<SimplifiedModel> model =
        simplifyModel(context, request, dumper, attempt);
    importSeconds += importTime.getSeconds();
    if (model && count == 0)
      counts = getMicroBatchCounts(*model);
    std::optional<OrderedModel> ordered;
    if (model)
      ordered = orderSequence(
          std::move(*model), options, request,
          {cluster, memoryLimitBytes,
           std::max(options.timeBudgetSeconds - searchTime.getSeconds(), 0.01),
           effort},
          dumper, attempt);
    std::optional<PlannedProgram> program;
    if (ordered)
      program = planAndLower(ordered->frontend, std::move(ordered->plan),
                             options, cluster, memoryLimitBytes, searchTime,
                             effort, leastArenaBytes, dumper, attempt);
    if (program) {
      engine.append(std::move(attempt));
      weakenCertificate(program->plan.certificate, ordered->othersBoundSeconds);
      return PlannedModel{std::move(ordered->frontend), std::move(*program),
                          importSeconds, searchTime.getSeconds(),
                          std::move(ordered->order)};
    }
    bool lacksMemory = lacksMemoryOnly(attempt);
    if (!lack || lacksMemory)
      lack = std::move(attempt);
    if (lacksMemory)
      continue;
    if (index == 0 || index >= counts.size())
      break;
    // That the batch cannot be cut further is no fault of the model: go on with
    // last resorts for the numbers that are possible.
    counts.resize(index--);
  }
  engine.append(std::move(*lack));
  return std::nullopt;
}

std::optional<TrainingSummary> describeTraining(const CompileOptions &options,
                                                const Frontend &frontend) {
  if (!options.training)
    return std::nullopt;
  const TrainingOptions &training = *options.training;
  TrainingSummary summary;
  summary.loss = printLoss(training);
  summary.optimizer = printOptimizer(training.optimizer);
  summary.learningRateSchedule =
      printLearningRateSchedule(options.learningRate);
  summary.clipNorm = training.clipNorm;
  summary.reportGradientNorm = training.reportGradientNorm;
  summary.frozen = training.frozen;
  summary.forcedZeroStage = options.force.zeroStage;
  if (options.force.offload)
    summary.offload = printOffload(*options.force.offload);
  for (const TrainedParameter &parameter : frontend.parameters)
    summary.parameters[parameter.name] = {parameter.isTrained,
                                          parameter.reason};
  return summary;
}

std::map<std::string, std::vector<std::string>>
listStacks(const Frontend &frontend) {
  mlir::ModuleOp module = frontend.model.module.get();
  std::map<std::string, std::vector<std::string>> stacks;
  for (auto stack : module.getOps<InitializerOp>()) {
    if (!stack.getMembers())
      continue;
    std::vector<std::string> &names = stacks[stack.getName().str()];
    for (auto symbol :
         stack.getMembers()->getAsRange<mlir::FlatSymbolRefAttr>())
      names.push_back(module.lookupSymbol<InitializerOp>(symbol.getValue())
                          .getName()
                          .str());
  }
  return stacks;
}

std::string describeOrder(const std::optional<SequenceSummary> &sequence) {
  if (!sequence)
    return "";
  if (sequence->zigzag == 1)
    return "\nthe sequence is in the model's order: " + sequence->reason;
  return "\nthe sequence is in zig-zag order over " +
         std::to_string(sequence->zigzag) + " ranks";
}

std::string describe(const PlanSummary &summary, const std::string &directory) {
  const Mesh &mesh = summary.answer.mesh;
  std::vector<std::string> axes;
  for (const MeshAxis &axis : mesh.getAxes())
    axes.push_back(axis.name + "=" + std::to_string(axis.size));
  int64_t bytes = 0, calls = 0;
  for (const auto &[kind, count] :
       summary.prediction.getRank(0).communication) {
    bytes += count.bytes;
    calls += count.calls;
  }
  if (const auto &servers = summary.answer.servers) {
    if (servers->staleness)
      axes = {std::to_string(servers->workers) + " workers"};
    axes.push_back("and " + std::to_string(servers->servers) + " servers");
  }
  return "mesh " + (axes.empty() ? "1" : joinText(axes, " ")) +
         ", predicted step " +
         formatSeconds(summary.evaluation.stepTimeSeconds) + ", peak memory " +
         formatBytes(summary.prediction.getPeakBytes()) +
         " a rank, communication " + formatBytes(bytes) + " in " +
         std::to_string(calls) + " calls on rank 0" +
         describeOrder(summary.sequence) + "\nwritten to " + directory + "\n";
}

} // namespace

CommandResult parplan::compile(const CompileOptions &options,
                               const OutputOptions &output,
                               DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<Cluster> cluster = chooseCluster(options, engine);
  if (!cluster || !checkForceOnCluster(options.force, *cluster, engine) ||
      !checkServerPrecision(options, engine))
    return result;
  if (options.emit == EmitStage::executable && !cluster->getDevice().canEmit) {
    engine.error(codes::planningOnlyDevice)
            .help("use --emit source, or `parplan plan`")
        << "programs cannot be built for " << cluster->getDevice().name
        << ", which the cluster " << quoteName(cluster->description.name)
        << " has";
    return result;
  }

  auto context = makeContext();
  IRDumper dumper(options.dumpDirectory, engine);
  int64_t memoryLimitBytes =
      options.memoryLimitBytes.value_or(cluster->getDevice().memoryBytes);
  std::optional<PlannedModel> planned =
      planModel(*context, options, *cluster, memoryLimitBytes, dumper, engine);
  if (!planned)
    return result;
  const Frontend &frontend = planned->frontend;
  const ModelInfo &info = *frontend.model.info;
  if (output.verbose)
    result.text += "imported in " + formatSeconds(planned->importSeconds) +
                   ", planned in " + formatSeconds(planned->searchSeconds) +
                   "\n";

  const Plan &plan = planned->program.plan;
  const std::optional<ServerChoice> &servers = plan.answer.servers;
  int64_t globalBatch = frontend.globalBatch *
                        (servers && servers->staleness ? servers->workers : 1);
  std::map<std::string, int64_t> dimensions = options.dimensions;
  if (info.batch && !info.batchSymbol.empty())
    dimensions[info.batchSymbol] = globalBatch;
  PlanSummary summary{{options.modelPath, info.computeSha256(),
                       info.parameterCount,
                       static_cast<int64_t>(info.getNodeCount()), globalBatch,
                       std::move(dimensions), listStacks(frontend)},
                      getClusterSource(options),
                      *cluster,
                      getPrecision(options),
                      memoryLimitBytes,
                      frontend.microBatches,
                      describeTraining(options, frontend),
                      planned->sequence,
                      frontend.graph.problem,
                      plan.answer,
                      plan.evaluation,
                      plan.certificate,
                      planned->program.lowered.prediction,
                      {planned->searchSeconds, 1, options.seed.value_or(0)}};
  Json document = toJson(summary);

  std::optional<OutputDirectory> directory =
      OutputDirectory::create(options.outputDirectory, "plan.json", engine);
  if (!directory ||
      !directory->writeFile("plan.json", printJson(document), engine))
    return result;
  if (options.emit != EmitStage::plan &&
      !emitProgram(frontend, planned->program.lowered, options, *directory,
                   engine))
    return result;
  if (!directory->commit(engine))
    return result;
  result.text += describe(summary, options.outputDirectory);
  result.document = {{"output", sanitize(options.outputDirectory)},
                     {"plan", std::move(document)}};
  return result;
}
