//===- ServerTime.h - What servers change of a plan -------------*- C++ -*-===//
//
// Part of parplan. Private to the planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SERVERTIME_H
#define PARPLAN_PLANNER_SERVERTIME_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// `evaluation` is that of the plan of the workers, which reduce gradients and
/// update variables themselves; makes it that with the servers of `answer`.
/// With x seconds for one worker's messages to one server, or back, and w
/// workers, a step takes what else it does and (w + 1) x; without a common step
/// what one worker takes and 2 x, or w x where the servers are slower.
void addServers(const PlanningProblem &problem, const PlanningAnswer &answer,
                const PlanCosts &costs, PlanEvaluation &evaluation);

} // namespace parplan

#endif // PARPLAN_PLANNER_SERVERTIME_H
