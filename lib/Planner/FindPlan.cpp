//===- FindPlan.cpp - A plan of what a request leaves open ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"
#include "Recompute.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <algorithm>
#include <chrono>

using namespace parplan;

namespace {

/// Of the time: whoever asks for a plan may ask again for the smallest one.
constexpr double shareOfBudget = 0.3;

/// What is tried where no plan fits: first recomputing, then stages, each with
/// as little of it as suffices.
class LastResorts {
public:
  LastResorts(const PlanningProblem &problem, const PlanRequest &request,
              const PlanCosts &costs)
      : problem(problem), request(request), costs(costs) {}

  /// The smallest peak of what was looked at.
  int64_t getSmallestBytes() const { return smallestBytes; }

  std::optional<PlanResult> find() {
    if (isTraining(problem) && !request.recompute) {
      if (auto result = recompute())
        return result;
    }
    if (request.pipelineSize)
      return std::nullopt;
    for (int64_t positions = 2; positions <= request.deviceCount; ++positions) {
      if (request.deviceCount % positions != 0)
        continue;
      PlanRequest cut = request;
      cut.pipelineSize = positions;
      for (RecomputeKind kind : getKinds()) {
        cut.recompute = kind;
        cut.timeBudgetSeconds = getSecondsLeft();
        PlanResult result = solveCounted(cut);
        if (result.answer)
          return result;
      }
    }
    return std::nullopt;
  }

private:
  std::vector<RecomputeKind> getKinds() const {
    if (request.recompute || !isTraining(problem))
      return {request.recompute.value_or(RecomputeKind::none)};
    return {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};
  }

  PlanResult solveCounted(const PlanRequest &changed) {
    PlanResult result = solve(problem, changed, costs);
    smallestBytes = std::min(smallestBytes, result.smallestBytes);
    return result;
  }

  double getSecondsLeft() const {
    std::chrono::duration<double> spent = Clock::now() - start;
    return std::max(0.0,
                    shareOfBudget * request.timeBudgetSeconds - spent.count());
  }

  /// Of the fastest layouts as few values as suffice; else the smallest layouts
  /// with everything of a kind.
  std::optional<PlanResult> recompute() {
    PlanRequest unlimited = request;
    unlimited.memoryLimitBytes = std::numeric_limits<int64_t>::max();
    PlanResult fastest = solveCounted(unlimited);
    if (fastest.answer && recomputeUntilFits(problem, costs, *fastest.answer,
                                             request.memoryLimitBytes)) {
      fastest.evaluation = evaluatePlan(problem, *fastest.answer, costs);
      fastest.objectiveSeconds = fastest.evaluation.stepTimeSeconds;
      fastest.certificate.upperBoundSeconds = fastest.objectiveSeconds;
      fastest.certificate.exact = false;
      return fastest;
    }
    for (RecomputeKind kind : {RecomputeKind::selective, RecomputeKind::full}) {
      PlanRequest again = request;
      again.recompute = kind;
      again.timeBudgetSeconds = getSecondsLeft();
      PlanResult result = solveCounted(again);
      if (result.answer)
        return result;
    }
    return std::nullopt;
  }

  using Clock = std::chrono::steady_clock;
  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
  Clock::time_point start = Clock::now();
  int64_t smallestBytes = std::numeric_limits<int64_t>::max();
};

} // namespace

PlanResult parplan::findPlan(const PlanningProblem &problem,
                             const PlanRequest &request,
                             const PlanCosts &costs) {
  PlanResult result = solveGatheringAgain(problem, request, costs);
  constexpr int64_t unknown = std::numeric_limits<int64_t>::max();
  bool isTooLarge =
      result.smallestBytes != unknown || result.leastBytes != unknown;
  if (result.answer || !isTooLarge)
    return result;
  LastResorts resorts(problem, request, costs);
  if (std::optional<PlanResult> found = resorts.find())
    return std::move(*found);
  result.smallestBytes =
      std::min(result.smallestBytes, resorts.getSmallestBytes());
  return result;
}
