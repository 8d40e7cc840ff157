//===- PlanModel.cpp - From a model to a plan that fits -------------------===//

#include "lib/Driver/PlanModel.h"

#include "lib/Driver/EarlyProgram.h"
#include "lib/Driver/Force.h"
#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/ModelCandidates.h"
#include "parplan/Planner/Tiers.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <ctime>

using namespace parplan;

SequenceSummary
parplan::describeSequence(const PlanCandidate &chosen,
                          const std::map<PlanCandidate, double> &seconds,
                          const std::optional<std::string> &obstacle) {
  if (chosen.zigzag > 1)
    return {chosen.zigzag, ""};
  const std::pair<const PlanCandidate, double> *fastest = nullptr;
  for (const auto &entry : seconds)
    if (entry.first.zigzag > 1 &&
        entry.first.microBatches == chosen.microBatches &&
        entry.first.effort == chosen.effort &&
        (!fastest || entry.second < fastest->second))
      fastest = &entry;
  if (fastest)
    return {1,
            "in zig-zag order over " + std::to_string(fastest->first.zigzag) +
                " ranks a step would take " + formatSeconds(fastest->second)};
  return {1, obstacle.value_or("no plan with another order was found")};
}

std::optional<std::string>
parplan::findSmallTier(const Cluster &cluster, const Prediction &prediction) {
  PlanEvaluation needs;
  for (const RankPrediction &rank : prediction.ranks) {
    needs.hostBytes = std::max(needs.hostBytes, rank.hostPeakBytes);
    needs.nvmeBytes = std::max(needs.nvmeBytes, rank.nvmePeakBytes);
  }
  PlanRequest limits;
  setTierLimits(cluster, limits);
  return findSmallTier(limits, needs);
}

namespace {

/// That a server needs more than fits, and more than every worker: no other
/// plan of the workers makes it smaller.
std::optional<std::string>
findSmallServer(const std::optional<ServerChoice> &servers,
                const Prediction &prediction, int64_t memoryLimitBytes) {
  if (!servers)
    return std::nullopt;
  int64_t ofServers = 0, ofWorkers = 0;
  for (int64_t rank = 0; rank < servers->getRankCount(); ++rank) {
    int64_t bytes = prediction.getRank(rank).peakBytes;
    int64_t &most = rank < servers->workers ? ofWorkers : ofServers;
    most = std::max(most, bytes);
  }
  if (ofServers <= std::max(ofWorkers, memoryLimitBytes))
    return std::nullopt;
  return describeServerNeed(*servers, ofServers);
}

/// The same with the programs of plans.
class LoweredCandidates : public ModelCandidates {
public:
  LoweredCandidates(mlir::MLIRContext &context, const CompileOptions &options,
                    const FrontendOptions &request, const Cluster &cluster,
                    int64_t memoryLimitBytes, IRDumper &dumper, bool isEarly)
      : ModelCandidates(context, options, request, cluster, memoryLimitBytes),
        dumper(dumper),
        // One processor alone would take as much from the search, what is
        // dumped is dumped once, and what is compared with a joint plan comes
        // before its program.
        isEarly(isEarly && std::thread::hardware_concurrency() > 1 &&
                !dumper.isActive() && !options.force.hasMoreThanCounts()),
        early([this](const EarlyProgram::Plan &plan,
                     const std::atomic<bool> &stop) {
          // Where it fails it is made again, and says why.
          DiagnosticEngine ignored;
          IRDumper silent("", ignored);
          const std::optional<Frontend> &frontend =
              finishLent(plan.candidate).frontend;
          if (!frontend || stop)
            return std::optional<LoweredProgram>();
          return parplan::lower(*frontend, plan.answer, costs, silent, ignored,
                                &stop);
        }) {}

  std::optional<ProgramNeed> lower(const PlanCandidate &candidate,
                                   const PlanResult &plan) override {
    if (dumper.isActive() && dumped != candidate)
      dump(candidate);
    lowered = early.take({candidate, *plan.answer});
    isLoweredEarly = lowered.has_value();
    if (!lowered)
      lowered = parplan::lower(*finish(candidate).frontend, *plan.answer, costs,
                               dumper, engine);
    if (!lowered)
      return std::nullopt;
    const Prediction &prediction = lowered->prediction;
    ProgramNeed need{prediction.getPeakBytes(),
                     parplan::findSmallTier(cluster, prediction)};
    if (!need.refusal)
      need.refusal =
          findSmallServer(plan.answer->servers, prediction, memoryLimitBytes);
    return need;
  }

  void beginEarly(const PlanCandidate &candidate,
                  const PlanningAnswer &answer) override {
    if (isEarly)
      early.begin({candidate, answer});
  }

  void endEarly(const PlanCandidate &candidate,
                const std::optional<PlanningAnswer> &answer) override {
    if (!answer)
      return early.settle(nullptr);
    EarlyProgram::Plan found{candidate, *answer};
    early.settle(&found);
  }

  /// Of the last plan that was lowered, and whether beside the search.
  std::optional<LoweredProgram> lowered;
  bool isLoweredEarly = false;
  /// What lowering said.
  DiagnosticEngine engine;

private:
  /// Phases are dumped of the model that is lowered.
  void dump(const PlanCandidate &candidate) {
    dumped = candidate;
    DiagnosticEngine ignored;
    FrontendOptions step = getOptions(candidate);
    if (auto simplified = simplifyModel(context, step, dumper, ignored))
      finishFrontend(std::move(*simplified), step, dumper, ignored);
  }

  IRDumper &dumper;
  std::optional<PlanCandidate> dumped;
  /// Programs are made beside the search.
  bool isEarly;
  EarlyProgram early;
};

/// How a model that was imported is asked for near the given request.
struct NearModel {
  int64_t batch = 1;
  /// Empty where the batch is fixed.
  std::string batchSymbol;
  bool isBatchFree = false;
};

std::optional<PlannedModel>
planModel(mlir::MLIRContext &context, const CompileOptions &options,
          const FrontendOptions &request, const Cluster &cluster,
          int64_t memoryLimitBytes, IRDumper &dumper, bool isEarly,
          llvm::function_ref<WaysOut(const NearModel &)> findWays,
          DiagnosticEngine &engine) {
  Stopwatch time;
  DiagnosticEngine said;
  IRDumper silent("", said);
  std::optional<SimplifiedModel> first =
      simplifyModel(context, request, silent, said);
  if (!first) {
    engine.append(std::move(said));
    return std::nullopt;
  }
  double firstSeconds = time.getSeconds();
  const ModelInfo &info = *first->model.info;
  NearModel near{first->globalBatch * request.workers, info.batchSymbol,
                 options.globalBatch || !info.batchSymbol.empty()};
  LoweredCandidates candidates(context, options, request, cluster,
                               memoryLimitBytes, dumper, isEarly);
  PlanChoice choice =
      candidates.choose(std::move(*first), std::move(said), engine);
  engine.append(std::move(candidates.engine));
  if (!choice.candidate) {
    candidates.refuse(
        choice, [&] { return findWays(near); }, engine);
    return std::nullopt;
  }
  double importSeconds = firstSeconds + candidates.getImportSeconds();
  std::optional<SequenceSummary> sequence = candidates.describe(choice);
  return PlannedModel{candidates.take(*choice.candidate, engine),
                      std::move(choice.plan),
                      std::move(*candidates.lowered),
                      std::move(sequence),
                      importSeconds,
                      time.getSeconds() - importSeconds,
                      candidates.isLoweredEarly};
}

/// Plans what is near a request, as long as there is time.
class NearPlanner {
public:
  NearPlanner(mlir::MLIRContext &context, const CompileOptions &options,
              const FrontendOptions &request, int64_t memoryLimitBytes,
              const NearModel &model)
      : context(context), options(options), request(request),
        memoryLimitBytes(memoryLimitBytes), model(model) {}

  NearAttempt plan(const NearRequest &near) {
    double left = getSecondsLeft();
    if (left <= 0 || options.control.isStopped())
      return {};
    DiagnosticEngine engine;
    CompileOptions asked = options;
    asked.control.listener = nullptr;
    asked.timeBudgetSeconds = left;
    asked.gpus = near.gpus;
    asked.forceEntries = near.forces;
    asked.force = parseForce(joinText(near.forces, ","), near.gpus,
                             options.training.has_value(), engine);
    std::optional<Cluster> cluster = chooseCluster(asked, engine);
    if (engine.hasErrors() ||
        !checkForceOnCluster(asked.force, *cluster, engine) ||
        !checkServerPrecision(asked, engine))
      return {};
    FrontendOptions step = request;
    step.microBatches = asked.force.microBatches.value_or(0);
    setWorkers(step, asked.force.servers);
    if (near.batch != model.batch) {
      step.import.globalBatch = near.batch;
      step.import.dims.erase(model.batchSymbol);
    }
    IRDumper silent("", engine);
    std::optional<PlannedModel> planned = planModel(
        context, asked, step, *cluster, memoryLimitBytes, silent,
        // Its time is that of all threads.
        /*isEarly=*/false, [](const NearModel &) { return WaysOut(); }, engine);
    if (planned)
      return {NearAttempt::Outcome::fits,
              planned->lowered.prediction.getPeakBytes(),
              planned->plan.evaluation.stepTimeSeconds};
    bool isRefused =
        llvm::all_of(engine.getDiagnostics(), [](const Diagnostic &entry) {
          return entry.severity != Severity::error ||
                 entry.code.exitCode == ExitCode::noPlan;
        });
    // A search that was cut short says nothing.
    if (!isRefused || getSecondsLeft() <= 0)
      return {};
    return {NearAttempt::Outcome::nothing};
  }

private:
  /// On a machine with much else to do, more of them pass for the same work.
  double getSecondsLeft() const {
    constexpr double mostWork = 10, most = 30;
    double work = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return std::min(mostWork - work, most - time.getSeconds());
  }

  Stopwatch time;
  std::clock_t start = std::clock();
  mlir::MLIRContext &context;
  const CompileOptions &options;
  const FrontendOptions &request;
  int64_t memoryLimitBytes;
  const NearModel &model;
};

} // namespace

std::optional<PlannedModel>
parplan::planModel(mlir::MLIRContext &context, const CompileOptions &options,
                   const FrontendOptions &request, const Cluster &cluster,
                   int64_t memoryLimitBytes, IRDumper &dumper,
                   DiagnosticEngine &engine) {
  auto findWays = [&](const NearModel &model) {
    constexpr int64_t mostTimes = 64;
    NearPlanner planner(context, options, request, memoryLimitBytes, model);
    return findWaysOut(
        {options.forceEntries, options.gpus, model.batch},
        {std::min(mostTimes * options.gpus, maxDevices), model.isBatchFree},
        [&](const NearRequest &near) { return planner.plan(near); });
  };
  return ::planModel(context, options, request, cluster, memoryLimitBytes,
                     dumper, /*isEarly=*/true, findWays, engine);
}

PlanChoice parplan::planWithoutProgram(mlir::MLIRContext &context,
                                       SimplifiedModel model,
                                       const CompileOptions &options,
                                       const FrontendOptions &request,
                                       const Cluster &cluster,
                                       int64_t memoryLimitBytes,
                                       DiagnosticEngine &engine) {
  ModelCandidates candidates(context, options, request, cluster,
                             memoryLimitBytes);
  PlanChoice choice =
      candidates.choose(std::move(model), DiagnosticEngine(), engine);
  if (!choice.candidate)
    candidates.refuse(
        choice, [] { return WaysOut(); }, engine);
  return choice;
}
