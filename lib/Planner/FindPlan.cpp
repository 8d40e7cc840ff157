//===- FindPlan.cpp - A plan of what a request leaves open ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/Solver.h"

#include <algorithm>

using namespace parplan;

namespace {

using Clock = std::chrono::steady_clock;

/// The numbers of positions that a request allows.
std::vector<int64_t> getPositionCounts(const PlanRequest &request) {
  if (request.pipelineSize)
    return {*request.pipelineSize};
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= request.deviceCount; ++count)
    if (request.deviceCount % count == 0)
      counts.push_back(count);
  return counts;
}

} // namespace

PlanResult parplan::findLastResort(const PlanningProblem &problem,
                                   const PlanRequest &request,
                                   const PlanCosts &costs) {
  Clock::time_point start = Clock::now();
  auto getDeadline = [&](double share) {
    return start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(
                           share * request.timeBudgetSeconds));
  };
  // Bounds of what is not searched get the rest of the time.
  constexpr double shareOfSearch = 0.9;
  Clock::time_point deadline = getDeadline(shareOfSearch);
  PlanResult best;
  double bound = CostNetwork::forbidden;
  std::vector<int64_t> counts = getPositionCounts(request);
  for (auto [index, count] : llvm::enumerate(counts)) {
    PlanRequest resort = request;
    resort.mayResort = true;
    resort.pipelineSize = count;
    std::chrono::duration<double> left = deadline - Clock::now();
    resort.timeBudgetSeconds = std::max(0.0, left.count()) /
                               static_cast<double>(counts.size() - index);
    if (best.answer && left.count() <= 0) {
      bound = std::min(bound,
                       getLeastSeconds(problem, resort, costs, getDeadline(1)));
      continue;
    }
    PlanResult result = solve(problem, resort, costs);
    bound = std::min(bound, result.boundWithoutLimitSeconds);
    if (result.answer && (!best.answer || result.evaluation.stepTimeSeconds <
                                              best.evaluation.stepTimeSeconds))
      std::swap(best, result);
    best.leastBytes = std::min(best.leastBytes, result.leastBytes);
    best.smallestBytes = std::min(best.smallestBytes, result.smallestBytes);
    best.certificate.explored += result.certificate.explored;
    best.certificate.pruned += result.certificate.pruned;
    for (std::string &refusal : result.refusals)
      if (!llvm::is_contained(best.refusals, refusal))
        best.refusals.push_back(std::move(refusal));
  }
  best.boundWithoutLimitSeconds = bound;
  best.certificate.lowerBoundSeconds =
      std::min(bound, best.certificate.upperBoundSeconds);
  best.certificate.exact = false;
  return best;
}

PlanResult parplan::findPlan(const PlanningProblem &problem,
                             const PlanRequest &request,
                             const PlanCosts &costs) {
  Clock::time_point start = Clock::now();
  PlanResult result = solveGatheringAgain(problem, request, costs);
  constexpr int64_t unknown = std::numeric_limits<int64_t>::max();
  bool isTooLarge =
      result.smallestBytes != unknown || result.leastBytes != unknown;
  if (result.answer || !isTooLarge)
    return result;
  PlanRequest rest = request;
  std::chrono::duration<double> spent = Clock::now() - start;
  rest.timeBudgetSeconds =
      std::max(0.0, request.timeBudgetSeconds - spent.count());
  PlanResult resort = findLastResort(problem, rest, costs);
  if (!resort.answer)
    resort.smallestBytes = std::min(resort.smallestBytes, result.smallestBytes);
  return resort;
}
