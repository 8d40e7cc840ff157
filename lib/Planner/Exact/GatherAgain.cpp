//===- GatherAgain.cpp - Copies that are made again to save memory --------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ServersSearch.h"
#include "lib/Planner/Completion/Completion.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <chrono>

using namespace parplan;

PlanResult parplan::solveGatheringAgain(const PlanningProblem &problem,
                                        const PlanRequest &request,
                                        const PlanCosts &costs) {
  if (request.servers)
    return searchWorkers(
        problem, request, costs,
        [&](const PlanningProblem &workers, const PlanRequest &asked) {
          return solveGatheringAgain(workers, asked, costs);
        });
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  PlanResult result = solve(problem, request, costs);
  if (needsCompletion(request) || request.control.isStopped())
    return result;
  // Large problems ask only when there is no plan.
  constexpr size_t mostOps = 2000;
  bool isSlower = result.evaluation.stepTimeSeconds >
                  result.boundWithoutLimitSeconds * (1 + 1e-9);
  std::chrono::duration<double> spent = Clock::now() - start;
  if (!isTraining(problem) ||
      (result.answer && (!isSlower || problem.ops.size() > mostOps ||
                         spent.count() >= request.timeBudgetSeconds)))
    return result;
  // The parameters alone are too large.
  if (!result.answer &&
      result.smallestBytes == std::numeric_limits<int64_t>::max())
    return result;

  PlanRequest unlimited = request;
  unlimited.memoryLimitBytes = std::numeric_limits<int64_t>::max();
  unlimited.timeBudgetSeconds =
      std::max(0.0, request.timeBudgetSeconds - spent.count());
  // Its plan does not fit yet.
  unlimited.control.likely = nullptr;
  // Where there is no plan, half of that is for last resorts.
  if (!result.answer)
    unlimited.timeBudgetSeconds /= 2;
  PlanResult fastest = solve(problem, unlimited, costs);
  if (!fastest.answer ||
      !gatherAgain(problem, *fastest.answer, request.memoryLimitBytes))
    return result;
  PlanEvaluation evaluation = evaluatePlan(problem, *fastest.answer, costs);
  if (result.answer &&
      result.evaluation.stepTimeSeconds <= evaluation.stepTimeSeconds)
    return result;
  // No plan is faster than the fastest one with everything kept, so its lower
  // bound holds.
  fastest.evaluation = evaluation;
  fastest.certificate.upperBoundSeconds = evaluation.stepTimeSeconds;
  fastest.certificate.exact = false;
  return fastest;
}
