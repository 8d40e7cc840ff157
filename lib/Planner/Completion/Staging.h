//===- Staging.h - A plan with layouts, cut into stages ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGING_H
#define PARPLAN_LIB_PLANNER_STAGING_H

#include "StageAssignment.h"
#include "StageCuts.h"

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <optional>
#include <string>

namespace parplan {

/// The units of a plan on a mesh with positions: every one as a stage of its
/// own gives the parts of the chain.
StageChain getStageChain(const PlanningProblem &problem,
                         const PlanningAnswer &answer, const PlanCosts &costs,
                         const StageUnits &units);

/// Gives a plan on a mesh with an axis of `positions` the schedule and the
/// stages that are fastest of those that were found to fit, else smallest. What
/// is recomputed and where values rest is decided before. Says why the model
/// cannot be cut. After `deadline` no more schedules are tried.
std::optional<std::string>
cutIntoStages(const PlanningProblem &problem, const PlanRequest &request,
              const PlanCosts &costs, int64_t positions,
              std::chrono::steady_clock::time_point deadline,
              PlanningAnswer &answer);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGING_H
