//===- ScheduleBounds.h - Steps are not shorter than this -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Bounds of the time of a step that are sums over its positions. So the best
// plan of each position for the weights of the sum, found alone, bounds every
// step: one position (the centre) runs all its micro-batches, the others are
// passed once on the way to it and back.
//
// Example: 1F1B on three positions. The first micro-batch goes through the
// positions before the centre i, the centre runs all m of them, and the last
// one goes back: the sum over k < i of t_k, plus m t_i. What a step does
// besides passes is added where it cannot be avoided.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SCHEDULEBOUNDS_H
#define PARPLAN_PLANNER_SCHEDULEBOUNDS_H

#include "parplan/Pipeline/Timeline.h"

#include <optional>
#include <vector>

namespace parplan {

/// How often the passes of a virtual stage count.
struct PassWeights {
  double forward = 0, inputGradient = 0, weightGradient = 0;

  double get(const PassTimes &times) const {
    return forward * times.forwardSeconds +
           inputGradient * times.inputGradientSeconds +
           weightGradient * times.weightGradientSeconds;
  }
  bool isNone() const {
    return forward == 0 && inputGradient == 0 && weightGradient == 0;
  }
  bool operator==(const PassWeights &other) const = default;
};

/// A step takes at least the weighted sum of passes, of what the centre does
/// once per step at its ends, of what one position does once before all meet,
/// and of so many messages. No weight is negative.
struct StepBound {
  int64_t centre = 0;
  /// `ofCentre` is the same for every position as centre.
  bool isShared = false;
  /// Per chunk, of each position before the centre, of it, and of each behind.
  std::vector<PassWeights> before, ofCentre, behind;
  /// In the first chunk of the first position, besides `before`.
  PassWeights ofFirst;
  /// The position whose seconds before meeting count, if any.
  std::optional<int64_t> meetingPosition;
  double messages = 0;
  /// The centre's weight gradients that are left out, as they may come behind
  /// all its input gradients; 0: none. How many of them do is a matter of
  /// memory (`countWaiting`).
  int64_t mostWaiting = 0;
};

/// What a position does once per step.
struct OnceTimes {
  double meetingSeconds = 0, endsSeconds = 0;
};

double getSeconds(const StepBound &bound, const ScheduleShape &shape,
                  const StageTimes &times, const std::vector<OnceTimes> &once,
                  double leastMessageSeconds);

/// A step takes no less than what the centre works in it.
StepBound getWorkBound(const ScheduleShape &shape, int64_t centre);

/// The bounds that are known of a position as centre, for whatever times.
std::vector<StepBound> getStepBounds(const ScheduleShape &shape,
                                     Meeting meeting, int64_t centre);

/// Per chunk the micro-batches that a position has in flight in it during its
/// first backward pass, in every schedule of the shape, whatever the times. No
/// other moment has more of all chunks together, but for schedules that split
/// the backward pass.
std::vector<int64_t> getLeastInFlight(const ScheduleShape &shape,
                                      int64_t position);

/// The weight gradients of each chunk of a position that are done when its last
/// input gradient is, and those that wait, where so many chunks of
/// micro-batches wait: the first in are the first out. Of schedules that split
/// the backward pass.
struct WaitingCounts {
  std::vector<int64_t> done, waiting;
};
WaitingCounts countWaiting(const ScheduleShape &shape, int64_t position,
                           int64_t waiting);

} // namespace parplan

#endif // PARPLAN_PLANNER_SCHEDULEBOUNDS_H
