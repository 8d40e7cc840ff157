//===- ScheduleBounds.h - Steps are not shorter than this -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Bounds of the time of a step that are sums over its stages. So the best plan
// of each stage for the weights of the sum, found alone, bounds every step: one
// stage (the centre) runs all its micro-batches, the others are passed through
// once on the way to it and back.
//
// Example: 1F1B on three positions with equal stages. The first micro-batch
// goes through the positions before the centre, the centre runs all of them,
// and the last one goes back: sum over k < i of t_k, plus m t_i. What a step
// does besides passes is added where it cannot be avoided.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SCHEDULEBOUNDS_H
#define PARPLAN_PLANNER_SCHEDULEBOUNDS_H

#include "parplan/Pipeline/Timeline.h"

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
  bool operator==(const PassWeights &other) const = default;
};

/// A step takes at least: the weighted passes of all virtual stages, the
/// weighted seconds that positions need once per step before they meet and at
/// the ends, and the weighted messages.
struct StepBound {
  int64_t centre = 0;
  std::vector<PassWeights> stages;
  /// Per position.
  std::vector<double> meeting, ends;
  /// Per boundary between two stages.
  std::vector<double> latencies;
};

/// What a position does once per step.
struct OnceTimes {
  double meetingSeconds = 0, endsSeconds = 0;
};

double getSeconds(const StepBound &bound, const StageTimes &times,
                  const std::vector<OnceTimes> &once,
                  const std::vector<double> &latencies);

/// All bounds that are known, at least one per position; every one is valid for
/// whatever times, and none has a negative weight. `meets`: positions wait for
/// each other in each step.
std::vector<StepBound> getStepBounds(const ScheduleShape &shape, bool meets);

/// Per virtual stage the micro-batches that its position has in flight in it,
/// all at one moment, in every schedule of the shape, whatever the times: a
/// moment at which the position has most.
std::vector<int64_t> getLeastInFlight(const ScheduleShape &shape);

} // namespace parplan

#endif // PARPLAN_PLANNER_SCHEDULEBOUNDS_H
