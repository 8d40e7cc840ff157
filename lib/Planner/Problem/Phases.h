//===- Phases.h - The parts of a step ---------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PHASES_H
#define PARPLAN_LIB_PLANNER_PHASES_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// The parts of a step, in order. Without splitting, both gradients are one
/// pass.
enum class Phase { start, forward, inputGradient, weightGradient, end };

/// Per op its phase. Ops that run once per step are in the first or the last:
/// the first if an op of a pass reads them.
std::vector<Phase> getPhases(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PHASES_H
