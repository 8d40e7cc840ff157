//===- FindPlan.cpp - The best plan of all --------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/FindPlan.h"

#include "ProblemSource.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

PlanFinder::PlanFinder(const StepProblems &problems, const PlanRequest &request,
                       const PlanCosts &costs, const FindPlanOptions &options)
    : source(
          std::make_unique<ProblemSource>(problems, request, costs, options)),
      search(*source) {}

PlanFinder::~PlanFinder() = default;

void PlanFinder::end() { source->end(); }

FoundPlan parplan::findPlan(const StepProblems &problems,
                            const PlanRequest &request, const PlanCosts &costs,
                            const FindPlanOptions &options) {
  SpaceSearchOptions search;
  search.memoryLimitBytes = static_cast<double>(request.memoryLimitBytes);
  search.timeBudgetSeconds = request.timeBudgetSeconds;
  return PlanFinder(problems, request, costs, options).find(search);
}

FoundPlan PlanFinder::find(const SpaceSearchOptions &options) {
  SpaceSearchResult found = search.run(options);

  FoundPlan plan;
  plan.boundSource = found.boundSource;
  plan.evaluations = found.evaluations;
  plan.judgedPlans = found.plans;
  plan.oracleCalls = found.oracleCalls;
  plan.spaces = source->getSpaceCount();
  PlanResult &result = plan.result;
  result.certificate = found.certificate;
  result.certificate.exact &= !source->leavesOut;
  result.isCutShort = found.isCutShort;
  result.refusals = source->refusals;
  if (plan.spaces == 0)
    result.refusals.push_back("no mesh is looked at jointly");
  for (const std::string &refusal : found.refusals)
    if (!llvm::is_contained(result.refusals, refusal))
      result.refusals.push_back(refusal);
  if (found.leastExcessBytes != std::numeric_limits<int64_t>::max())
    result.smallestBytes =
        static_cast<int64_t>(options.memoryLimitBytes) + found.leastExcessBytes;
  if (found.plan) {
    result.answer = std::move(found.plan->answer);
    result.microBatches = found.configuration.microBatches;
    result.boundMicroBatches = found.boundMicroBatches;
    result.boundPositions = found.boundPositions;
    result.evaluation = found.plan->evaluation;
    result.objectiveSeconds = result.evaluation.stepTimeSeconds;
    result.smallestBytes = result.evaluation.peakBytes;
  }
  return plan;
}
