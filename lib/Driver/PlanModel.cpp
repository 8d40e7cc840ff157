//===- PlanModel.cpp - From a model to a plan that fits -------------------===//

#include "lib/Driver/PlanModel.h"

#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/Text.h"
#include "passes/Order/Passes.h"

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

/// The problems of a model. Each is imported and finished once.
class ModelCandidates : public CandidateOracle {
public:
  ModelCandidates(mlir::MLIRContext &context, const CompileOptions &options,
                  const FrontendOptions &request, const Cluster &cluster)
      : context(context), options(options), request(request), cluster(cluster),
        costModel(cluster, getPrecision(options)), costs(costModel) {}

  /// Chooses among the candidates of a model, whose first import is `first`, of
  /// which `said` was said. Reports where none fits.
  PlanChoice choose(SimplifiedModel first, DiagnosticEngine said,
                    int64_t memoryLimitBytes, DiagnosticEngine &engine) {
    Stopwatch time;
    PlanCandidate least{first.microBatches};
    std::vector<int64_t> counts = {first.microBatches};
    if (request.microBatches == 0)
      counts = getMicroBatchCounts(first);
    std::vector<int64_t> orders = {1};
    if (hasCausalAttention(first.getMain()))
      llvm::append_range(orders, getSharers());
    Imported &imported = models[least.microBatches];
    imported.model = std::move(first);
    imported.engine = std::move(said);
    const std::optional<Frontend> &plain = finish(least).frontend;
    if (!plain) {
      reportImpossible(least, engine);
      return {};
    }
    if (!checkForceOnModel(options.force, options.gpus, plain->graph.problem,
                           plain->loopObstacle, options.modelPath, engine))
      return {};
    std::vector<CandidateRound> rounds =
        listCandidates(counts, orders, options.force.pipelineSize.value_or(1),
                       request.training.has_value());
    PlanChoice choice =
        choosePlan(rounds, memoryLimitBytes,
                   options.timeBudgetSeconds - time.getSeconds(), *this);
    if (choice.candidate || choice.isFault)
      return choice;
    if (auto lack = choice.describeLack())
      reportNoPlanFits(options, memoryLimitBytes, *lack, engine);
    else
      reportImpossible(rounds.front().front(), engine);
    return choice;
  }

  bool prepare(const PlanCandidate &candidate) override {
    return finish(candidate).frontend.has_value();
  }

  PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                    double seconds) override {
    Finished &finished = finish(candidate);
    PlanResult result =
        searchPlan(*finished.frontend, options, cluster, costs,
                   candidate.effort, limitBytes, seconds, finished.engine);
    if (!result.answer && finished.refusals.empty())
      finished.refusals = result.refusals;
    return result;
  }

  /// There is no program: the estimate of memory is taken for it.
  std::optional<ProgramNeed> lower(const PlanCandidate &,
                                   const PlanResult &plan) override {
    return ProgramNeed{plan.evaluation.peakBytes, std::nullopt};
  }

  double getLeastSeconds(const PlanCandidate &candidate,
                         double seconds) override {
    if (seconds <= 0)
      return 0;
    const Finished &finished = finish(candidate);
    return finished.frontend
               ? parplan::getLeastSeconds(*finished.frontend, options, cluster,
                                          costs, candidate.effort, seconds)
               : std::numeric_limits<double>::infinity();
  }

  /// In which order the sequence lies; nothing where ranks could not share it.
  std::optional<SequenceSummary> describe(const PlanChoice &choice) {
    const PlanCandidate &chosen = *choice.candidate;
    std::optional<std::string> obstacle;
    bool isShared = false;
    for (const auto &[key, finished] : frontends) {
      isShared |= key.first == chosen.microBatches && finished.isShared;
      if (key.first == chosen.microBatches && !obstacle)
        obstacle = finished.obstacle;
    }
    if (!isShared)
      return std::nullopt;
    return describeSequence(chosen, choice.seconds, obstacle);
  }

  /// With what was said of it.
  Frontend take(const PlanCandidate &candidate, DiagnosticEngine &engine) {
    Finished &finished = finish(candidate);
    engine.append(std::move(models.at(candidate.microBatches).engine));
    engine.append(std::move(finished.engine));
    return std::move(*finished.frontend);
  }

  double getImportSeconds() const { return importSeconds; }

protected:
  struct Imported {
    std::optional<SimplifiedModel> model;
    DiagnosticEngine engine;
  };

  struct Finished {
    /// Nothing where a step cannot be cut or ordered so.
    std::optional<Frontend> frontend;
    DiagnosticEngine engine;
    /// In zig-zag order: ranks could share the sequence; what does not allow
    /// that it lies so.
    bool isShared = false;
    std::optional<std::string> obstacle;
    /// Why no plan was found.
    std::vector<std::string> refusals;
  };

  /// The options of the frontend for a candidate.
  FrontendOptions getOptions(const PlanCandidate &candidate) const {
    FrontendOptions step = request;
    step.microBatches = candidate.microBatches;
    step.zigzag = candidate.zigzag;
    return step;
  }

  const std::optional<SimplifiedModel> &
  simplify(const PlanCandidate &candidate) {
    auto [place, isNew] = models.try_emplace(candidate.microBatches);
    Imported &imported = place->second;
    if (isNew) {
      Stopwatch time;
      IRDumper silent("", imported.engine);
      imported.model = simplifyModel(context, getOptions(candidate), silent,
                                     imported.engine);
      importSeconds += time.getSeconds();
    }
    return imported.model;
  }

  Finished &finish(const PlanCandidate &candidate) {
    auto [place, isNew] =
        frontends.try_emplace({candidate.microBatches, candidate.zigzag});
    Finished &finished = place->second;
    const std::optional<SimplifiedModel> &simplified = simplify(candidate);
    if (!isNew || !simplified)
      return finished;
    if (candidate.zigzag > 1) {
      const Finished &plain = finish({candidate.microBatches});
      finished.isShared =
          plain.frontend &&
          llvm::is_contained(
              getContextSizes(plain.frontend->graph.problem, options, cluster),
              candidate.zigzag);
      if (!finished.isShared)
        return finished;
    }
    Stopwatch time;
    IRDumper silent("", finished.engine);
    finished.frontend = finishFrontend(
        simplified->clone(), getOptions(candidate), silent, finished.engine);
    importSeconds += time.getSeconds();
    if (finished.frontend && finished.frontend->orderObstacle) {
      finished.obstacle = std::move(finished.frontend->orderObstacle);
      finished.frontend.reset();
    }
    return finished;
  }

  mlir::MLIRContext &context;
  const CompileOptions &options;
  const FrontendOptions &request;
  const Cluster &cluster;
  CostModel costModel;
  ClusterCosts costs;

private:
  /// The numbers of ranks that may go round with a sequence, but one.
  std::vector<int64_t> getSharers() const {
    const std::optional<ServerChoice> &servers = options.force.servers;
    int64_t ranks = servers ? servers->workers : options.gpus;
    std::vector<int64_t> sharers;
    for (int64_t count = 2; count <= ranks; ++count)
      if (ranks % count == 0)
        sharers.push_back(count);
    return sharers;
  }

  /// Why there is no plan, where it is not memory.
  void reportImpossible(const PlanCandidate &candidate,
                        DiagnosticEngine &engine) {
    Finished &finished = finish(candidate);
    engine.append(std::move(models.at(candidate.microBatches).engine));
    engine.append(std::move(finished.engine));
    if (!engine.hasErrors())
      reportNoPlanPossible(options, finished.refusals, engine);
  }

  /// By the number of micro-batches; and the order.
  std::map<int64_t, Imported> models;
  std::map<std::pair<int64_t, int64_t>, Finished> frontends;
  double importSeconds = 0;
};

/// The same with the programs of plans.
class LoweredCandidates : public ModelCandidates {
public:
  LoweredCandidates(mlir::MLIRContext &context, const CompileOptions &options,
                    const FrontendOptions &request, const Cluster &cluster,
                    int64_t memoryLimitBytes, IRDumper &dumper)
      : ModelCandidates(context, options, request, cluster),
        memoryLimitBytes(memoryLimitBytes), dumper(dumper) {}

  std::optional<ProgramNeed> lower(const PlanCandidate &candidate,
                                   const PlanResult &plan) override {
    if (dumper.isActive() && dumped != candidate)
      dump(candidate);
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

  /// Of the last plan that was lowered.
  std::optional<LoweredProgram> lowered;
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

  int64_t memoryLimitBytes;
  IRDumper &dumper;
  std::optional<PlanCandidate> dumped;
};

} // namespace

std::optional<PlannedModel>
parplan::planModel(mlir::MLIRContext &context, const CompileOptions &options,
                   const FrontendOptions &request, const Cluster &cluster,
                   int64_t memoryLimitBytes, IRDumper &dumper,
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
  LoweredCandidates candidates(context, options, request, cluster,
                               memoryLimitBytes, dumper);
  PlanChoice choice = candidates.choose(std::move(*first), std::move(said),
                                        memoryLimitBytes, engine);
  engine.append(std::move(candidates.engine));
  if (!choice.candidate)
    return std::nullopt;
  double importSeconds = firstSeconds + candidates.getImportSeconds();
  std::optional<SequenceSummary> sequence = candidates.describe(choice);
  return PlannedModel{candidates.take(*choice.candidate, engine),
                      std::move(choice.plan),
                      std::move(*candidates.lowered),
                      std::move(sequence),
                      importSeconds,
                      time.getSeconds() - importSeconds};
}

std::optional<PlanResult>
parplan::planWithoutProgram(mlir::MLIRContext &context, SimplifiedModel model,
                            const CompileOptions &options,
                            const FrontendOptions &request,
                            const Cluster &cluster, int64_t memoryLimitBytes,
                            DiagnosticEngine &engine) {
  ModelCandidates candidates(context, options, request, cluster);
  PlanChoice choice = candidates.choose(std::move(model), DiagnosticEngine(),
                                        memoryLimitBytes, engine);
  if (!choice.candidate)
    return std::nullopt;
  return std::move(choice.plan);
}
