//===- Completion.h - Stages, recomputation and tiers of a plan -*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_COMPLETION_H
#define PARPLAN_LIB_PLANNER_COMPLETION_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"
#include "parplan/Planner/Tiers.h"

#include <chrono>

namespace parplan {

/// True if plans of a request have more than layouts.
bool needsCompletion(const PlanRequest &request);

struct CompletedPlan {
  PlanningAnswer answer;
  PlanEvaluation evaluation;
};

/// A plan with the layouts of `layouts` and what else is asked for: what is
/// recomputed, where values rest, and on a mesh with positions a schedule and
/// the stages. Of what the request leaves open the fastest that fits, else the
/// smallest; after `deadline` the best so far. Nothing, and `refusal`, where it
/// is impossible. Plans that take `enoughSeconds` need not be made faster.
std::optional<CompletedPlan> completePlan(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanCosts &costs, const PlanningAnswer &layouts, double enoughSeconds,
    std::chrono::steady_clock::time_point deadline, std::string &refusal);

/// True where plans of a request may have values on other tiers, and where
/// these may be updated there.
bool mayOffload(const PlanningProblem &problem, const PlanRequest &request);
bool mayUpdateOnHost(const PlanningProblem &problem,
                     const PlanRequest &request);

/// What no plan of a request can do, with the nearest possible: first of
/// stages, recomputation and tiers, then of the meshes of a position.
std::optional<std::string> findImpossible(const PlanningProblem &problem,
                                          const PlanRequest &request);

/// The schedules that are tried for a number of positions.
std::vector<ScheduleShape> getShapes(const PlanningProblem &problem,
                                     const PlanRequest &request,
                                     int64_t positions);

/// Bytes that some rank needs whatever the plan: what lives for the whole step
/// lies on some device, or if it may wait on another tier, comes to one.
int64_t getLeastBytes(const PlanningProblem &problem,
                      const PlanRequest &request);

/// Seconds that every plan takes at least whose layouts take `seconds` if all
/// of them are on one position.
double getBoundOfPositions(double seconds, const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_COMPLETION_H
