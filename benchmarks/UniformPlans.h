//===- UniformPlans.h - The best plan with equal layers ---------*- C++ -*-===//
//
// What planners choose from that decide once for all layers.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BENCHMARKS_UNIFORMPLANS_H
#define PARPLAN_BENCHMARKS_UNIFORMPLANS_H

#include "parplan/Planner/FindPlan.h"

namespace parplan {

/// As `findPlan`, of plans in which all layers lie alike, make the same again,
/// and are equally many in every stage. The lower bound is that of all plans.
FoundPlan findUniformPlan(const StepProblems &problems,
                          const PlanRequest &request, const PlanCosts &costs,
                          const FindPlanOptions &options);

} // namespace parplan

#endif // PARPLAN_BENCHMARKS_UNIFORMPLANS_H
