//===- Compile.cpp - The road from a model to a program -------------------===//
//
// The phases in their order; each is a line of `docs/architecture.md`.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/Commands.h"
#include "lib/Driver/Disposal.h"
#include "lib/Driver/Force.h"
#include "lib/Driver/ForceRules.h"
#include "lib/Driver/Frontend.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/PlanModel.h"
#include "lib/Driver/TrainingSpec.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/ScopeExit.h"

#include <cmath>

using namespace parplan;

namespace {

ImportOptions getImportOptions(const CompileOptions &options) {
  ImportOptions import;
  import.path = options.modelPath;
  import.dims.insert(options.dimensions.begin(), options.dimensions.end());
  import.globalBatch = options.globalBatch;
  import.needWeights = options.emit == EmitStage::executable;
  return import;
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
  request.expertGroups = claims->expertRanks;
  setWorkers(request, claims->servers);
  bool isTraining = options.training.has_value();
  compare("a", claims->training ? "training step" : "forward pass",
          isTraining ? "training step" : "forward pass");
  compare("precision", claims->precision,
          stringifyPrecision(getPrecision(options)));
  if (options.globalBatch)
    compare("a global batch of", std::to_string(claims->batch),
            std::to_string(*options.globalBatch));
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

/// Takes the plan of `--plan` and lowers it.
std::optional<PlannedModel>
planAsGiven(mlir::MLIRContext &context, const CompileOptions &options,
            FrontendOptions request, const Cluster &cluster,
            int64_t memoryLimitBytes, IRDumper &dumper,
            DiagnosticEngine &engine) {
  Stopwatch importTime;
  if (!adoptPlan(options, request, engine))
    return std::nullopt;
  std::optional<SimplifiedModel> model =
      simplifyModel(context, request, dumper, engine);
  if (!model)
    return std::nullopt;
  std::optional<Frontend> frontend =
      finishFrontend(std::move(*model), request, dumper, engine);
  if (!frontend || !confirmOrder(*frontend, options.planPath, engine))
    return std::nullopt;
  double importSeconds = importTime.getSeconds();
  Stopwatch planTime;
  CostModel costModel(cluster, getPrecision(options));
  ClusterCosts costs(costModel);
  std::optional<PlanResult> plan = takePlan(
      *frontend, options, frontend->model.info->computeSha256(), costs, engine);
  std::optional<LoweredProgram> lowered;
  if (plan)
    lowered = lower(*frontend, *plan->answer, costs, dumper, engine);
  if (!lowered)
    return std::nullopt;
  int64_t bytes = lowered->prediction.getPeakBytes();
  std::optional<std::string> lack = findSmallTier(cluster, lowered->prediction);
  if (!lack && bytes > memoryLimitBytes)
    lack = "the plan takes " + formatBytes(bytes);
  if (lack) {
    reportNoPlanFits(options, memoryLimitBytes, *lack, SearchEnd::allSeen, {},
                     engine);
    return std::nullopt;
  }
  std::optional<SequenceSummary> sequence;
  if (request.zigzag > 1)
    sequence = {request.zigzag, ""};
  return PlannedModel{std::move(*frontend), std::move(*plan),
                      std::move(*lowered),  std::move(sequence),
                      importSeconds,        planTime.getSeconds()};
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

/// What a compilation takes most of its memory for.
struct Compilation {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::optional<PlannedModel> planned;
  std::optional<PlanSummary> summary;
};

/// An output with the plan alone.
std::optional<OutputDirectory> makeDirectoryOf(const Json &plan,
                                               const CompileOptions &options,
                                               DiagnosticEngine &engine) {
  std::optional<OutputDirectory> directory =
      OutputDirectory::create(options.outputDirectory, "plan.json", engine);
  if (!directory || !directory->writeFile("plan.json", printJson(plan), engine))
    return std::nullopt;
  return directory;
}

/// The plan alone, whatever came of the rest. False where not even that can be
/// written.
bool writeInterrupted(const Json &document, const PlanResult &plan,
                      const CompileOptions &options, DiagnosticEngine &engine) {
  std::optional<OutputDirectory> directory =
      makeDirectoryOf(document, options, engine);
  if (!directory || !directory->commit(engine))
    return false;
  double hundredths = std::ceil(plan.certificate.getGap() * 1e4 - 1e-6);
  engine.error(codes::interrupted, Location::inFile(options.modelPath))
      << "interrupted; the best plan so far, with "
      << formatSeconds(plan.evaluation.stepTimeSeconds)
      << " a step and a gap of " << formatNumber(hundredths / 100)
      << " %, is written to " << escapeName(options.outputDirectory);
  return true;
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

  auto work = std::make_shared<Compilation>();
  auto dispose =
      llvm::make_scope_exit([&work] { disposeInBackground(std::move(work)); });
  IRDumper dumper(options.dumpDirectory, engine);
  int64_t memoryLimitBytes =
      options.memoryLimitBytes.value_or(cluster->getDevice().memoryBytes);
  FrontendOptions request{getImportOptions(options), options.training,
                          options.force.microBatches.value_or(0),
                          options.precision};
  request.cluster = cluster->description;
  if (options.planPath.empty())
    setWorkers(request, options.force.servers);
  std::optional<PlannedModel> &planned = work->planned;
  planned = options.planPath.empty()
                ? planModel(*work->context, options, request, *cluster,
                            memoryLimitBytes, dumper, engine)
                : planAsGiven(*work->context, options, std::move(request),
                              *cluster, memoryLimitBytes, dumper, engine);
  if (!planned)
    return result;
  const Frontend &frontend = planned->frontend;
  const ModelInfo &info = *frontend.model.info;
  const PlanResult &plan = planned->plan;
  if (output.verbose)
    result.text += "imported in " + formatSeconds(planned->importSeconds) +
                   ", planned in " + formatSeconds(planned->searchSeconds) +
                   " with an estimated peak memory of " +
                   formatBytes(plan.evaluation.peakBytes) + " a rank\n";

  const std::optional<ServerChoice> &servers = plan.answer->servers;
  int64_t globalBatch = frontend.globalBatch *
                        (servers && servers->staleness ? servers->workers : 1);
  std::map<std::string, int64_t> dimensions = options.dimensions;
  if (info.batch && !info.batchSymbol.empty())
    dimensions[info.batchSymbol] = globalBatch;
  PlanSummary &summary = work->summary.emplace(
      PlanSummary{{options.modelPath, info.computeSha256(), info.parameterCount,
                   static_cast<int64_t>(info.getNodeCount()), globalBatch,
                   std::move(dimensions), listStacks(frontend)},
                  getClusterSource(options),
                  *cluster,
                  getPrecision(options),
                  memoryLimitBytes,
                  frontend.microBatches,
                  describeTraining(options, frontend),
                  planned->sequence,
                  options.forceEntries,
                  frontend.graph.problem,
                  *plan.answer,
                  plan.evaluation,
                  plan.certificate,
                  planned->lowered.prediction,
                  {planned->searchSeconds, 1, options.seed.value_or(0)}});
  CostModel costModel(*cluster, getPrecision(options));
  summary.opSeconds =
      getOpSeconds(summary.problem, summary.answer, ClusterCosts(costModel));
  Json document = toJson(summary);

  std::optional<OutputDirectory> directory =
      makeDirectoryOf(document, options, engine);
  if (!directory)
    return result;
  // An interrupted compiler has an error of its own.
  DiagnosticEngine said;
  bool isEmitted =
      options.emit == EmitStage::plan || options.control.isStopped() ||
      emitProgram(frontend, planned->lowered, options, *directory, said);
  bool isInterrupted = options.control.isStopped();
  if (isInterrupted) {
    directory->discard();
    if (!writeInterrupted(document, plan, options, engine))
      return result;
  } else {
    engine.append(std::move(said));
    if (!isEmitted || !directory->commit(engine))
      return result;
  }
  result.text += describe(summary, options.outputDirectory);
  result.document = {{"output", sanitize(options.outputDirectory)},
                     {"plan", std::move(document)}};
  return result;
}
