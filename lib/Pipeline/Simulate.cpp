//===- Simulate.cpp - When passes start and end ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Timeline.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

namespace {

constexpr double notYet = -1;

/// One step after the other; positions are free when the step before let go.
class Machine {
public:
  Machine(const PipelineSchedule &schedule, const StageTimes &times,
          const Latencies &latencies)
      : schedule(schedule), shape(schedule.shape), times(times),
        latencies(latencies), freeSeconds(shape.positions, 0) {
    PARPLAN_CHECK(static_cast<int64_t>(times.size()) == shape.getStageCount(),
                  "times of ", times.size(), " stages, not ",
                  shape.getStageCount());
  }

  /// False if some position waits for ever.
  bool runStep() {
    size_t cells = shape.getStageCount() * shape.microBatches;
    forwardEnds.assign(cells, notYet);
    gradientEnds.assign(cells, notYet);
    intervals.assign(shape.positions, {});
    int64_t order = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t position = 0; position != shape.positions; ++position)
        while (tryNext(position, order))
          moved = true;
    }
    for (int64_t position = 0; position != shape.positions; ++position)
      if (intervals[position].size() != schedule.passes[position].size())
        return false;
    return true;
  }

  const PipelineSchedule &schedule;
  const ScheduleShape &shape;
  const StageTimes &times;
  const Latencies &latencies;
  std::vector<double> freeSeconds;
  std::vector<std::vector<Timeline::Interval>> intervals;

private:
  double &at(std::vector<double> &ends, int64_t stage, int64_t batch) {
    return ends[stage * shape.microBatches + batch];
  }

  /// When what the pass needs has arrived, `notYet` if something has not.
  double getArrival(int64_t stage, const Pass &pass) {
    double own = 0, other = 0, latency = 0;
    int64_t batch = pass.microBatch;
    switch (pass.kind) {
    case PassKind::forward:
      if (stage != 0) {
        other = at(forwardEnds, stage - 1, batch);
        latency = latencies.get(shape, stage - 1);
      }
      break;
    case PassKind::backward:
    case PassKind::inputGradient:
      own = at(forwardEnds, stage, batch);
      if (stage + 1 != shape.getStageCount()) {
        other = at(gradientEnds, stage + 1, batch);
        latency = latencies.get(shape, stage);
      }
      break;
    case PassKind::weightGradient:
      own = at(gradientEnds, stage, batch);
      break;
    }
    if (own == notYet || other == notYet)
      return notYet;
    return std::max(own, other + latency);
  }

  bool tryNext(int64_t position, int64_t &order) {
    const std::vector<Pass> &list = schedule.passes[position];
    if (intervals[position].size() == list.size())
      return false;
    const Pass &pass = list[intervals[position].size()];
    int64_t stage = getStage(shape, position, pass.chunk);
    double arrival = getArrival(stage, pass);
    if (arrival == notYet)
      return false;
    double start = std::max(freeSeconds[position], arrival);
    double end = start + times[stage].getSeconds(pass.kind);
    freeSeconds[position] = end;
    intervals[position].push_back({start, end, order++});
    if (pass.kind == PassKind::forward)
      at(forwardEnds, stage, pass.microBatch) = end;
    else if (pass.kind != PassKind::weightGradient)
      at(gradientEnds, stage, pass.microBatch) = end;
    return true;
  }

  /// Of each stage and micro-batch.
  std::vector<double> forwardEnds, gradientEnds;
};

} // namespace

std::optional<Timeline> parplan::trySimulate(const PipelineSchedule &schedule,
                                             const StageTimes &times,
                                             const Latencies &latencies,
                                             int64_t steps) {
  Machine machine(schedule, times, latencies);
  if (!machine.runStep())
    return std::nullopt;
  Timeline timeline;
  timeline.passes = machine.intervals;
  for (int64_t position = 0; position != schedule.shape.positions; ++position) {
    timeline.inFlightPeaks.push_back(getInFlightPeak(schedule, position));
    const std::vector<Timeline::Interval> &list = timeline.passes[position];
    if (list.empty())
      continue;
    double end = list.back().endSeconds;
    timeline.makespanSeconds = std::max(timeline.makespanSeconds, end);
    timeline.spanSeconds =
        std::max(timeline.spanSeconds, end - list.front().startSeconds);
  }
  for (int64_t step = 1; step < steps; ++step) {
    std::vector<double> before = machine.freeSeconds;
    PARPLAN_CHECK(machine.runStep(), "step ", step, " waits for itself");
    timeline.periodSeconds = 0;
    for (size_t position = 0; position != before.size(); ++position)
      timeline.periodSeconds =
          std::max(timeline.periodSeconds,
                   machine.freeSeconds[position] - before[position]);
  }
  return timeline;
}

Timeline parplan::simulate(const PipelineSchedule &schedule,
                           const StageTimes &times, const Latencies &latencies,
                           int64_t steps) {
  std::optional<Timeline> timeline =
      trySimulate(schedule, times, latencies, steps);
  PARPLAN_CHECK(timeline, "the schedule waits for itself");
  return std::move(*timeline);
}
