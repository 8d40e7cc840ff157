//===- PlanRoom.h - How much of the memory may wait -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANROOM_H
#define PARPLAN_LIB_PLANNER_PLANROOM_H

#include "StageBytes.h"
#include "StepTime.h"

namespace parplan {

/// The room of micro-batches with which a plan whose pipeline has its times is
/// fastest, of those that fit a rank of `limitBytes`; where none does, the one
/// that exceeds them least. Not limited where the backward pass is not split.
WaitingRoom findRoom(const StageBytes &bytes, const StepWork &work,
                     int64_t limitBytes);

/// Gives a plan its room, and the times that come before it.
void setPipelineRoom(const PlanningProblem &problem, const PlanCosts &costs,
                     int64_t limitBytes, PlanningAnswer &answer);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PLANROOM_H
