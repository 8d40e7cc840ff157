//===- Stages.h - Into how many stages a model can be cut -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_STAGES_H
#define PARPLAN_PLANNER_STAGES_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// Into how many stages a model can be cut at most, whatever the layouts.
int64_t countMostStages(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_PLANNER_STAGES_H
