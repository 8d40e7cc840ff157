//===- Completion.h - Stages, recomputation and tiers of a plan -*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_COMPLETION_H
#define PARPLAN_LIB_PLANNER_COMPLETION_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"
#include "parplan/Planner/Solver.h"

namespace parplan {

/// True if plans of a request have more than layouts.
bool needsCompletion(const PlanRequest &request);

/// Adds to a plan with layouts what else is asked for, as fast as it fits:
/// what is recomputed, where values rest, and on a mesh with positions a
/// schedule and the stages. Says why that is impossible.
std::optional<std::string> completePlan(const PlanningProblem &problem,
                                        const PlanRequest &request,
                                        const PlanCosts &costs,
                                        PlanningAnswer &answer);

/// What of a request is impossible besides layouts, with the nearest possible.
std::optional<std::string>
findImpossibleCompletion(const PlanningProblem &problem,
                         const PlanRequest &request);

/// Which tier of a request is too small for a plan.
std::optional<std::string> findSmallTier(const PlanRequest &request,
                                         const PlanEvaluation &evaluation);

/// The schedules that are tried for a number of positions.
std::vector<ScheduleShape> getShapes(const PlanningProblem &problem,
                                     const PlanRequest &request,
                                     int64_t positions);

/// Seconds that every plan takes at least whose layouts take `seconds` if all
/// of them are on one position.
double getBoundOfPositions(double seconds, const Mesh &mesh);

/// `mesh` with `positions` of a pipeline as the outermost axis.
Mesh addPipelineAxis(const Mesh &mesh, int64_t positions);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_COMPLETION_H
