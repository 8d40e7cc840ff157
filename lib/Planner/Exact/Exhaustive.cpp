//===- Exhaustive.cpp - The oracle: every combination ---------------------===//

#include "lib/Planner/Candidates/EveryLayout.h"
#include "lib/Planner/Completion/Completion.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"

using namespace parplan;

PlanResult parplan::solveByExhaustion(const PlanningProblem &problem,
                                      const PlanRequest &request,
                                      const PlanCosts &costs) {
  PlanResult result;
  result.leastBytes = std::numeric_limits<int64_t>::max();
  if (auto fault = findImpossible(problem, request)) {
    result.refusals.push_back(*fault);
    return result;
  }
  for (const PlanSpace &space : getSpaces(problem, request)) {
    EveryLayout layouts(problem, request, space);
    if (layouts.getRefusal()) {
      result.refusals.push_back(*layouts.getRefusal());
      continue;
    }
    do {
      const PlanningAnswer &answer = layouts.get();
      ++result.certificate.explored;
      if (!verifyAnswer(problem, answer).empty())
        continue;
      PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
      result.leastBytes = std::min(result.leastBytes, evaluation.peakBytes);
      if (evaluation.peakBytes <= request.memoryLimitBytes &&
          (!result.answer ||
           evaluation.stepTimeSeconds < result.evaluation.stepTimeSeconds)) {
        result.answer = answer;
        result.evaluation = evaluation;
      }
    } while (layouts.advance());
  }
  if (result.answer)
    result.certificate.upperBoundSeconds =
        result.certificate.lowerBoundSeconds =
            result.evaluation.stepTimeSeconds;
  result.certificate.exact = true;
  return result;
}
