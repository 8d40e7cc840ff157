//===- Phases.h - The parts of a step ---------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PHASES_H
#define PARPLAN_LIB_PLANNER_PHASES_H

#include "parplan/Pipeline/Schedule.h"
#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// The parts of a step, in order. Without splitting, both gradients are one
/// pass.
enum class Phase { start, forward, inputGradient, weightGradient, end };

/// The phase that a pass runs; unsplit, both gradients are that of the input.
inline Phase getPhase(PassKind kind) {
  return kind == PassKind::forward          ? Phase::forward
         : kind == PassKind::weightGradient ? Phase::weightGradient
                                            : Phase::inputGradient;
}

/// Per op its phase. Ops that run once per step are in the first or the last:
/// the first if an op of a pass reads them.
std::vector<Phase> getPhases(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PHASES_H
