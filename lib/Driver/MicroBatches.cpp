//===- MicroBatches.cpp - Into how many parts a step is cut ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/MicroBatches.h"

#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/ClusterCosts.h"

#include <map>

using namespace parplan;

/// Of the ascending `counts` those that are worth a plan: from `positions` to
/// eight times as many; the most there are where all are fewer.
static std::vector<int64_t> chooseCandidates(const std::vector<int64_t> &counts,
                                             int64_t positions) {
  constexpr int64_t most = 8;
  std::vector<int64_t> candidates;
  for (int64_t count : counts)
    if (count >= positions && count <= most * positions)
      candidates.push_back(count);
  if (candidates.empty()) {
    auto above = llvm::lower_bound(counts, positions);
    candidates.push_back(above == counts.end() ? counts.back() : *above);
  }
  return candidates;
}

std::vector<int64_t> parplan::rankMicroBatchCounts(
    mlir::MLIRContext &context, const CompileOptions &options,
    const FrontendOptions &request, const Cluster &cluster,
    int64_t memoryLimitBytes, DiagnosticEngine &engine) {
  IRDumper dumper("", engine);
  FrontendOptions least = request;
  least.training->microBatches = 0;
  std::optional<Frontend> first = runFrontend(context, least, dumper, engine);
  if (!first ||
      !checkForceOnModel(options.force, options.gpus, first->graph.problem,
                         options.modelPath, engine))
    return {};
  std::vector<int64_t> counts = getMicroBatchCounts(*first);
  std::vector<int64_t> candidates =
      chooseCandidates(counts, *options.force.pipelineSize);

  CostModel model(cluster, getPrecision(options));
  ClusterCosts costs(model);
  CompileOptions share = options;
  share.timeBudgetSeconds /= static_cast<double>(candidates.size() + 1);
  std::multimap<double, int64_t> priced;
  for (int64_t count : candidates) {
    if (candidates.size() == 1) {
      priced.emplace(0, count);
      break;
    }
    FrontendOptions trial = request;
    trial.training->microBatches = count;
    // What fails here fails again, and is reported then.
    DiagnosticEngine ignored;
    std::optional<Frontend> frontend =
        runFrontend(context, trial, dumper, ignored);
    std::optional<Plan> plan;
    if (frontend)
      plan = makePlan(frontend->graph.problem, share, cluster,
                      /*modelSha256=*/"", costs, memoryLimitBytes,
                      /*smallestBytes=*/nullptr, ignored);
    if (plan)
      priced.emplace(plan->evaluation.stepTimeSeconds, count);
  }

  std::vector<int64_t> ranked;
  for (const auto &[seconds, count] : priced)
    ranked.push_back(count);
  for (int64_t count : counts)
    if (!llvm::is_contained(ranked, count))
      ranked.push_back(count);
  return ranked;
}
