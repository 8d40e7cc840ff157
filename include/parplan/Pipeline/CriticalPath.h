//===- CriticalPath.h - What the end of a step waits for --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_CRITICALPATH_H
#define PARPLAN_PIPELINE_CRITICALPATH_H

#include "parplan/Pipeline/Timeline.h"

namespace parplan {

/// Passes of which each begins when the one before it has ended, on its
/// position or, after a message, on another: from the first pass of a step to
/// the last one of the first position. Whatever the times, no step of the same
/// schedule ends earlier than they and the messages take, nor is one repeated
/// sooner: the first position ends one step before it begins the next.
struct CriticalPath {
  /// How many there are of each virtual stage.
  struct Counts {
    int64_t forwards = 0, backwards = 0;
  };
  std::vector<Counts> stages;
  int64_t messages = 0;
};

/// The longest such path with these times. Of schedules whose order does not
/// depend on the times and that have backward passes.
CriticalPath findCriticalPath(const PipelineSchedule &schedule,
                              const StageTimes &times,
                              const Latencies &latencies);

} // namespace parplan

#endif // PARPLAN_PIPELINE_CRITICALPATH_H
