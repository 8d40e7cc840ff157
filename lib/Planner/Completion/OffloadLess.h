//===- OffloadLess.h - No more offload than memory asks for -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_OFFLOADLESS_H
#define PARPLAN_LIB_PLANNER_OFFLOADLESS_H

#include "Completion.h"

namespace parplan {

/// Brings back to the device what a plan that fits has on other tiers, as far
/// as there is memory and it saves time: parameters that are streamed, updates
/// with all that they replace, all activations. Of each of these kinds as many
/// as fit, or as few as save as much (more are taken not to save less), for
/// every order of the kinds; the fastest of all, at worst the plan itself.
/// After `deadline` the best so far.
CompletedPlan offloadLess(const PlanningProblem &problem,
                          const PlanRequest &request, const PlanCosts &costs,
                          CompletedPlan plan,
                          std::chrono::steady_clock::time_point deadline);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_OFFLOADLESS_H
