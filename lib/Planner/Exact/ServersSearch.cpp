//===- ServersSearch.cpp - The search of plans with servers ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ServersSearch.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Servers.h"

#include <algorithm>

using namespace parplan;

PlanResult parplan::searchWorkers(
    const PlanningProblem &step, const PlanRequest &request,
    const PlanCosts &costs,
    llvm::function_ref<PlanResult(const PlanningProblem &, const PlanRequest &)>
        search) {
  const ServerChoice &servers = *request.servers;
  WorkersProblem workers = getWorkersProblem(step);
  PlanRequest ofWorkers = request;
  ofWorkers.servers.reset();
  // Answers of that problem are none of the step.
  ofWorkers.control.likely = nullptr;
  PlanResult result = search(workers.problem, ofWorkers);
  // A step takes the longer, the longer its workers take: so the best plan of
  // the workers is the best, and a bound of theirs gives one of all.
  ServerSeconds seconds = getServerSeconds(step, servers, costs);
  result.boundWithoutLimitSeconds =
      seconds.getStep(servers, result.boundWithoutLimitSeconds);
  if (!result.answer)
    return result;
  // Gradients that the search left otherwise now stay as they are made.
  result.objectiveSeconds -=
      getLayoutSeconds(workers.problem, *result.answer, costs);
  result.answer = getStepAnswer(step, workers, *result.answer, servers);
  result.objectiveSeconds += getLayoutSeconds(step, *result.answer, costs);
  result.evaluation = evaluatePlan(step, *result.answer, costs);
  Certificate &certificate = result.certificate;
  certificate.upperBoundSeconds = result.evaluation.stepTimeSeconds;
  certificate.lowerBoundSeconds =
      std::min(seconds.getStep(servers, certificate.lowerBoundSeconds),
               certificate.upperBoundSeconds);
  return result;
}
