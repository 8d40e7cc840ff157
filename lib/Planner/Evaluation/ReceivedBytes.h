//===- ReceivedBytes.h - Messages that wait for their readers ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_RECEIVEDBYTES_H
#define PARPLAN_LIB_PLANNER_RECEIVEDBYTES_H

#include "Execution.h"

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Per position and pass the bytes of messages that have been received and that
/// a later pass reads, or that are handed on later. What a pass reads itself is
/// an instance of it.
std::vector<std::vector<int64_t>>
getReceivedBytes(const NumberedPlan &plan, const Execution &execution,
                 const PipelineSchedule &schedule);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_RECEIVEDBYTES_H
