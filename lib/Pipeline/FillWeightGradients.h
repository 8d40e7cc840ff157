//===- FillWeightGradients.h - Weight gradients where one waits -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PIPELINE_FILLWEIGHTGRADIENTS_H
#define PARPLAN_LIB_PIPELINE_FILLWEIGHTGRADIENTS_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Gives a schedule of forward and input gradient passes its weight gradients,
/// within the limit of what may be in flight. A position runs its next pass as
/// soon as the inputs are there; while it waits, and when the pass would exceed
/// the limit or the room, it runs the oldest weight gradient. One that may not
/// fit into the wait is started or not: both are tried, the shorter step wins.
/// O(passes * positions).
PipelineSchedule fillWeightGradients(const PipelineSchedule &base,
                                     const StageTimes &times,
                                     const Latencies &latencies,
                                     const WaitingRoom &room);

} // namespace parplan

#endif // PARPLAN_LIB_PIPELINE_FILLWEIGHTGRADIENTS_H
