//===- StageMemory.h - Live bytes of positions of a pipeline ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGEMEMORY_H
#define PARPLAN_LIB_PLANNER_STAGEMEMORY_H

#include "Execution.h"

#include "parplan/Planner/Evaluator.h"

namespace parplan {

/// What a rank of every position holds at most.
struct StageMemory {
  struct Position {
    /// On the device, and of that, at its peak.
    int64_t deviceBytes = 0;
    int64_t parameterBytes = 0, optimizerBytes = 0, gradientBytes = 0;
    int peakOp = 0;
    int64_t hostBytes = 0, nvmeBytes = 0;
    /// During passes at most, beside what micro-batches have.
    int64_t besideBytes = 0;
  };
  std::vector<Position> positions;
};

/// Of a plan with stages, recomputation or tiers. A position has, besides its
/// parameters and what lives for the whole step, during a pass
/// * what forward passes saved whose backward pass has not begun, for every
///   micro-batch that the schedule has in flight then,
/// * what input gradients left for those of weights that come later,
/// * what is live in the pass itself, and
/// * messages that have arrived early.
/// Schedules that depend on times are those for the times of the plan.
StageMemory getStageMemory(const PlanningProblem &problem,
                           const PlanningAnswer &answer);

class StageBytes;
StageMemory getStageMemory(const StageBytes &bytes,
                           const PipelineSchedule &schedule);

/// The order of the passes of a plan, for the times and the room that it has;
/// without a pipeline for equal times.
PipelineSchedule makeSchedule(const NumberedPlan &plan);

/// Of any plan, the position that needs most.
MemoryPeak getMemoryPeak(const NumberedPlan &plan);

/// True for a plan without any of these.
bool isPlain(const PlanningAnswer &answer);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGEMEMORY_H
