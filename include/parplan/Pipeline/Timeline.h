//===- Timeline.h - When passes start and end -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_TIMELINE_H
#define PARPLAN_PIPELINE_TIMELINE_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Whether all positions wait for each other in every step, as for the norm of
/// all gradients.
enum class Meeting {
  never,
  /// With some cuts of the model into stages.
  bySomeCuts,
  /// Where the first stage and the last one are on different positions.
  ofEnds,
  always,
};

/// With a schedule of this shape; not `ofEnds`.
Meeting getMeeting(Meeting ofModel, const ScheduleShape &shape);

/// Three times, not one. The makespan is the time of a step when all positions
/// wait for each other between steps (the norm of all gradients); the period is
/// the time of a step when no position waits for others between steps.
struct Timeline {
  struct Interval {
    double startSeconds = 0;
    double endSeconds = 0;
    /// Position in one order of all passes in which every pass comes after what
    /// it needs. Breaks ties of equal times.
    int64_t order = 0;
  };
  /// As `PipelineSchedule::passes`, of the first step.
  std::vector<std::vector<Interval>> passes;
  /// From the first start to the last end of the first step.
  double makespanSeconds = 0;
  /// The same on the slowest position alone.
  double spanSeconds = 0;
  /// From the end of the step before the last to the end of the last one, on
  /// the slowest position; 0 if one step was simulated.
  double periodSeconds = 0;
  /// For each position, in chunks.
  std::vector<int64_t> inFlightPeaks;
};

/// Runs the passes of each position in their order, each as soon as its inputs
/// are there. None if the order waits for itself. `steps`: how many in a row,
/// none of which waits for others than its inputs; 5 settle the period.
/// `sharing`: how much faster a position works while others wait, whose
/// processors it shares; times are those beside all others at work.
std::optional<Timeline> trySimulate(const PipelineSchedule &schedule,
                                    const StageTimes &times,
                                    const Latencies &latencies = {},
                                    int64_t steps = 1, double sharing = 1);
/// Of a schedule that verifies.
Timeline simulate(const PipelineSchedule &schedule, const StageTimes &times,
                  const Latencies &latencies = {}, int64_t steps = 1,
                  double sharing = 1);

/// No schedule of this shape ends a step earlier. Without simulation.
double getLowerBound(const ScheduleShape &shape, const StageTimes &times,
                     const Latencies &latencies = {});
/// The schedule of this shape ends a step at the latest then (gpipe, forward
/// only on one chunk: exactly then). None for kinds that have no such formula:
/// these are simulated.
std::optional<double> getUpperBound(const ScheduleShape &shape,
                                    const StageTimes &times,
                                    const Latencies &latencies = {});

/// One line for each position, `columns` characters wide: F f forward of chunk
/// 0, 1; D d backward; B b input gradient; W w weight gradient; . idle.
std::string drawTimeline(const PipelineSchedule &schedule,
                         const Timeline &timeline, int64_t columns = 100);

} // namespace parplan

#endif // PARPLAN_PIPELINE_TIMELINE_H
