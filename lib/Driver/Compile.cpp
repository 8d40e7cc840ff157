//===- Compile.cpp - The road from a model to a program -------------------===//
//
// The phases in their order; each is a line of `docs/architecture.md`.
//
//===----------------------------------------------------------------------===//

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

/// Plans and lowers until the program fits. The planner's sum of live bytes is
/// an estimate of the arena, which is known only after fusion and packing: when
/// the arena is larger than the limit, the plan is made again with that much
/// less; when every estimate is, the plan with the smallest one is tried.
/// `leastArenaBytes` is that of all programs so far.
std::optional<PlannedProgram>
planAndLower(const Frontend &frontend, const CompileOptions &options,
             const Cluster &cluster, int64_t memoryLimitBytes,
             const Stopwatch &searchTime, SearchEffort effort,
             int64_t &leastArenaBytes, IRDumper &dumper,
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
  std::optional<int64_t> smallestBytes;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    bool isSmallest = smallestBytes.has_value();
    CompileOptions attemptOptions = options;
    attemptOptions.timeBudgetSeconds =
        std::max(options.timeBudgetSeconds - searchTime.getSeconds(), 0.01);
    std::optional<Plan> plan = makePlan(
        frontend.graph.problem, attemptOptions, cluster, modelSha256, costs,
        budget, isSmallest ? nullptr : &smallestBytes, engine, effort);
    if (!plan && !isSmallest && smallestBytes) {
      budget = *smallestBytes;
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

/// A forward pass runs once: its batch is the one that the model has.
bool checkBatch(const CompileOptions &options, const ModelInfo &info,
                DiagnosticEngine &engine) {
  if (options.training || !options.globalBatch ||
      info.batch == options.globalBatch)
    return true;
  engine.error(codes::unsupportedOption, Location::inFile(options.modelPath))
      << "--global-batch " << *options.globalBatch
      << ": the model has a fixed batch of " << info.batch.value_or(1)
      << ", and running it several times a step is not built yet";
  return false;
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
  bool isTraining = options.training.has_value();
  compare("a", claims->training ? "training step" : "forward pass",
          isTraining ? "training step" : "forward pass");
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
  compare("precision", claims->precision,
          stringifyPrecision(getPrecision(options)));
  if (options.globalBatch)
    compare("a global batch of", std::to_string(claims->batch),
            std::to_string(*options.globalBatch));
  if (options.force.microBatches)
    compare("micro-batches", std::to_string(plan.microBatches),
            std::to_string(*options.force.microBatches));
  request.training->microBatches = plan.microBatches;
  request.import.globalBatch = claims->batch;
  return !engine.hasErrors();
}

/// Runs the frontend and plans. Unless micro-batches are forced, a training
/// step has as few as possible, and more when no plan fits; that of a forced
/// pipeline has as many as make it fastest. Where no number fits, all are tried
/// again with last resorts, as long as there is time.
std::optional<PlannedModel>
planModel(mlir::MLIRContext &context, const CompileOptions &options,
          const Cluster &cluster, int64_t memoryLimitBytes, IRDumper &dumper,
          DiagnosticEngine &engine) {
  FrontendOptions request{getImportOptions(options), options.training};
  if (!options.planPath.empty() && !adoptPlan(options, request, engine))
    return std::nullopt;
  Stopwatch searchTime;
  std::vector<int64_t> counts = {
      request.training ? request.training->microBatches : 1};
  if (request.training && counts.front() == 0 &&
      options.force.pipelineSize.value_or(1) > 1) {
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
    if (effort == SearchEffort::lastResorts &&
        (!options.planPath.empty() ||
         searchTime.getSeconds() > options.timeBudgetSeconds))
      break;
    if (request.training)
      request.training->microBatches = count;
    DiagnosticEngine attempt;
    Stopwatch importTime;
    std::optional<Frontend> frontend =
        runFrontend(context, request, dumper, attempt);
    importSeconds += importTime.getSeconds();
    if (frontend && count == 0)
      counts = getMicroBatchCounts(*frontend);
    std::optional<PlannedProgram> program;
    SequenceChoice sequence;
    if (frontend && checkBatch(options, *frontend->model.info, attempt)) {
      sequence = orderSequence(context, options, request, cluster,
                               memoryLimitBytes, dumper, frontend, attempt);
      if (frontend)
        program =
            planAndLower(*frontend, options, cluster, memoryLimitBytes,
                         searchTime, effort, leastArenaBytes, dumper, attempt);
    }
    if (program) {
      engine.append(std::move(attempt));
      weakenCertificate(program->plan.certificate, sequence.othersBoundSeconds);
      return PlannedModel{std::move(*frontend), std::move(*program),
                          importSeconds, searchTime.getSeconds(),
                          std::move(sequence.order)};
    }
    // That the batch cannot be cut further is no fault of the model.
    bool lacksMemory = lacksMemoryOnly(attempt);
    if (!lack || lacksMemory)
      lack = std::move(attempt);
    if (!lacksMemory)
      break;
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
  summary.microBatches = frontend.microBatches;
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
  if (!cluster || !checkForceOnCluster(options.force, *cluster, engine))
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

  std::map<std::string, int64_t> dimensions = options.dimensions;
  if (info.batch && !info.batchSymbol.empty())
    dimensions[info.batchSymbol] = frontend.globalBatch;
  const Plan &plan = planned->program.plan;
  PlanSummary summary{{options.modelPath, info.computeSha256(),
                       info.parameterCount,
                       static_cast<int64_t>(info.getNodeCount()),
                       frontend.globalBatch, std::move(dimensions)},
                      getClusterSource(options),
                      *cluster,
                      getPrecision(options),
                      memoryLimitBytes,
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
