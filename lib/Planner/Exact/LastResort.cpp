//===- LastResort.cpp - Plans where nothing else fits ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PreparedSpace.h"
#include "ServersSearch.h"
#include "lib/Planner/Completion/Completion.h"

#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

namespace {

using Clock = std::chrono::steady_clock;

/// The request for every number of positions that it allows.
std::vector<PlanRequest> getResorts(const PlanRequest &request) {
  std::vector<PlanRequest> resorts;
  for (int64_t count = 1; count <= request.deviceCount; ++count) {
    if (request.deviceCount % count != 0 ||
        request.pipelineSize.value_or(count) != count)
      continue;
    resorts.push_back(request);
    resorts.back().mayResort = true;
    resorts.back().pipelineSize = count;
    // Others follow.
    resorts.back().control.likely = nullptr;
  }
  // What does not divide the devices is refused with the nearest that does.
  if (resorts.empty())
    resorts.push_back(request);
  return resorts;
}

} // namespace

PlanResult parplan::findLastResort(const PlanningProblem &problem,
                                   const PlanRequest &request,
                                   const PlanCosts &costs) {
  if (request.servers)
    return searchWorkers(
        problem, request, costs,
        [&](const PlanningProblem &workers, const PlanRequest &asked) {
          return findLastResort(workers, asked, costs);
        });
  Clock::time_point start = Clock::now();
  auto getDeadline = [&](double share) {
    return start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(
                           share * request.timeBudgetSeconds));
  };
  // Bounds of what is not searched get the rest of the time, of which the space
  // that was at hand may leave nothing.
  constexpr double shareOfSearch = 0.9;
  constexpr auto leastOfBounds = std::chrono::seconds(1);
  Clock::time_point deadline = getDeadline(shareOfSearch);
  std::optional<Clock::time_point> deadlineOfBounds;
  PlanResult best;
  double bound = CostNetwork::forbidden;
  bool isCutShort = false;
  std::vector<PlanRequest> resorts = getResorts(request);
  for (auto [index, resort] : llvm::enumerate(resorts)) {
    std::chrono::duration<double> left = deadline - Clock::now();
    if (request.control.isStopped())
      left = left.zero();
    resort.timeBudgetSeconds = std::max(0.0, left.count()) /
                               static_cast<double>(resorts.size() - index);
    isCutShort |= left.count() <= 0;
    if (best.answer && left.count() <= 0) {
      if (!deadlineOfBounds)
        deadlineOfBounds =
            std::max(getDeadline(1), Clock::now() + leastOfBounds);
      // Nobody waits for more after an interrupt.
      bound = std::min(bound, getLeastSeconds(problem, resort, costs,
                                              request.control.isStopped()
                                                  ? getDeadline(1)
                                                  : *deadlineOfBounds));
      continue;
    }
    PlanResult result = solve(problem, resort, costs);
    bound = std::min(bound, result.boundWithoutLimitSeconds);
    isCutShort |= result.isCutShort;
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
  best.isCutShort = isCutShort;
  best.boundWithoutLimitSeconds = bound;
  best.certificate.lowerBoundSeconds =
      std::min(bound, best.certificate.upperBoundSeconds);
  best.certificate.exact = false;
  return best;
}

PlanResult parplan::searchPlan(const PlanningProblem &problem,
                               const PlanRequest &request,
                               const PlanCosts &costs, SearchEffort effort) {
  PARPLAN_CHECK(effort != SearchEffort::updatesOnHost,
                "joint searches alone move updates");
  return effort == SearchEffort::usual
             ? solveGatheringAgain(problem, request, costs)
             : findLastResort(problem, request, costs);
}

double parplan::getLeastSeconds(const PlanningProblem &problem,
                                const PlanRequest &request,
                                const PlanCosts &costs, SearchEffort effort) {
  if (const std::optional<ServerChoice> &servers = request.servers) {
    PlanRequest asked = request;
    asked.servers.reset();
    double own = getLeastSeconds(getWorkersProblem(problem).problem, asked,
                                 costs, effort);
    return getServerSeconds(problem, *servers, costs).getStep(*servers, own);
  }
  Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(request.timeBudgetSeconds));
  if (effort == SearchEffort::usual)
    return getLeastSeconds(problem, request, costs, deadline);
  double least = CostNetwork::forbidden;
  for (const PlanRequest &resort : getResorts(request))
    least = std::min(least, getLeastSeconds(problem, resort, costs, deadline));
  return least;
}
