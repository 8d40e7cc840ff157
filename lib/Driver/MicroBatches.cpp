//===- MicroBatches.cpp - Into how many parts a step is cut ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/MicroBatches.h"

#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/SequenceOrder.h"
#include "parplan/Planner/ClusterCosts.h"

#include <map>

using namespace parplan;

/// Of the ascending `counts` those that are worth a plan: from `positions` to
/// eight times as many, of a forward pass fewer, too; the most there are where
/// all are fewer.
static std::vector<int64_t> chooseCandidates(const std::vector<int64_t> &counts,
                                             int64_t positions,
                                             bool isTraining) {
  constexpr int64_t most = 8;
  std::vector<int64_t> candidates;
  for (int64_t count : counts)
    if ((!isTraining || count >= positions) && count <= most * positions)
      candidates.push_back(count);
  if (candidates.empty()) {
    auto above = llvm::lower_bound(counts, positions);
    candidates.push_back(above == counts.end() ? counts.back() : *above);
  }
  return candidates;
}

namespace {

/// Plans a model for several numbers of micro-batches.
class CountPricing {
public:
  /// `options` has the time for one number.
  CountPricing(mlir::MLIRContext &context, const CompileOptions &options,
               const FrontendOptions &request, const Cluster &cluster,
               int64_t memoryLimitBytes, SearchEffort effort)
      : context(context), options(options),
        request(request), search{cluster, memoryLimitBytes,
                                 options.timeBudgetSeconds, effort},
        model(cluster, getPrecision(options)), costs(model) {}

  /// What fails here fails again, and is reported then.
  void price(int64_t count) {
    IRDumper dumper("", ignored);
    FrontendOptions trial = request;
    trial.microBatches = count;
    DiagnosticEngine engine;
    std::optional<SimplifiedModel> simplified =
        simplifyModel(context, trial, dumper, engine);
    std::optional<OrderedModel> ordered;
    if (simplified)
      ordered = orderSequence(std::move(*simplified), options, trial, search,
                              dumper, engine);
    if (ordered && !ordered->plan)
      ordered->plan =
          makePlan(ordered->frontend, options, search.cluster,
                   /*modelSha256=*/"", costs, search.memoryLimitBytes,
                   /*lack=*/nullptr, engine, search.effort);
    if (ordered && ordered->plan)
      priced.emplace(ordered->plan->evaluation.stepTimeSeconds, count);
  }

  /// The fastest first, without those that have no plan.
  std::vector<int64_t> getRanked() const {
    std::vector<int64_t> ranked;
    for (const auto &[seconds, count] : priced)
      ranked.push_back(count);
    return ranked;
  }

private:
  mlir::MLIRContext &context;
  const CompileOptions &options;
  const FrontendOptions &request;
  OrderSearch search;
  CostModel model;
  ClusterCosts costs;
  DiagnosticEngine ignored;
  std::multimap<double, int64_t> priced;
};

} // namespace

std::vector<int64_t> parplan::rankLastResorts(mlir::MLIRContext &context,
                                              const CompileOptions &options,
                                              const FrontendOptions &request,
                                              const Cluster &cluster,
                                              int64_t memoryLimitBytes,
                                              std::vector<int64_t> counts) {
  if (counts.size() == 1)
    return counts;
  CompileOptions share = options;
  share.timeBudgetSeconds /= static_cast<double>(counts.size() + 1);
  CountPricing pricing(context, share, request, cluster, memoryLimitBytes,
                       SearchEffort::lastResorts);
  for (int64_t count : counts)
    pricing.price(count);
  std::vector<int64_t> ranked = pricing.getRanked();
  if (ranked.empty())
    ranked.push_back(counts.front());
  return ranked;
}

std::vector<int64_t> parplan::rankMicroBatchCounts(
    mlir::MLIRContext &context, const CompileOptions &options,
    const FrontendOptions &request, const Cluster &cluster,
    int64_t memoryLimitBytes, DiagnosticEngine &engine) {
  IRDumper dumper("", engine);
  FrontendOptions least = request;
  least.microBatches = 0;
  std::optional<SimplifiedModel> simplified =
      simplifyModel(context, least, dumper, engine);
  std::optional<Frontend> first;
  if (simplified)
    first = finishFrontend(std::move(*simplified), least, dumper, engine);
  if (!first ||
      !checkForceOnModel(options.force, options.gpus, first->graph.problem,
                         first->loopObstacle, options.modelPath, engine))
    return {};
  std::vector<int64_t> counts = getMicroBatchCounts(*first);
  std::vector<int64_t> candidates = chooseCandidates(
      counts, *options.force.pipelineSize, request.training.has_value());

  CompileOptions share = options;
  share.timeBudgetSeconds /= static_cast<double>(candidates.size() + 1);
  CountPricing pricing(context, share, request, cluster, memoryLimitBytes,
                       SearchEffort::usual);
  if (candidates.size() > 1)
    for (int64_t count : candidates)
      pricing.price(count);
  std::vector<int64_t> ranked =
      candidates.size() > 1 ? pricing.getRanked() : candidates;
  for (int64_t count : counts)
    if (!llvm::is_contained(ranked, count))
      ranked.push_back(count);
  return ranked;
}
