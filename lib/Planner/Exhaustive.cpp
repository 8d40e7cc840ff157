//===- Exhaustive.cpp - The oracle: every combination ---------------------===//

#include "Refusals.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

using namespace parplan;

/// Advances `digits`, last fastest; false after the last combination.
static bool advance(std::vector<size_t> &digits,
                    const std::vector<size_t> &sizes) {
  for (size_t i = digits.size(); i-- > 0;) {
    if (++digits[i] < sizes[i])
      return true;
    digits[i] = 0;
  }
  return false;
}

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
    const Mesh &mesh = space.mesh;
    std::optional<std::string> refusal;
    auto assignments = getAllowedAssignments(problem, request, space, refusal);
    if (refusal) {
      result.refusals.push_back(*refusal);
      continue;
    }
    auto rests = getRestCandidates(problem, request, space, assignments);
    Decisions decisions = getDecisions(problem);
    std::vector<size_t> sizes;
    for (const Decision &decision : decisions.all)
      sizes.push_back(assignments[decision.leader].size());
    // What replaces a variable lies as that does.
    for (auto [value, choices] : llvm::zip_equal(problem.values, rests))
      sizes.push_back(value.updates >= 0 ? 1 : choices.size());
    std::vector<size_t> digits(sizes.size(), 0);
    PlanningAnswer answer;
    answer.mesh = mesh;
    answer.servers = request.servers;
    answer.assignments.resize(assignments.size());
    answer.rest.resize(rests.size());
    do {
      for (size_t op = 0; op < assignments.size(); ++op)
        answer.assignments[op] = assignments[op][digits[decisions.ofOp[op]]];
      for (size_t value = 0; value < rests.size(); ++value) {
        int updated = problem.values[value].updates;
        answer.rest[value] =
            updated >= 0 ? answer.rest[updated]
                         : rests[value][digits[decisions.all.size() + value]];
      }
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
    } while (advance(digits, sizes));
  }
  if (result.answer)
    result.certificate.upperBoundSeconds =
        result.certificate.lowerBoundSeconds =
            result.evaluation.stepTimeSeconds;
  result.certificate.exact = true;
  return result;
}
