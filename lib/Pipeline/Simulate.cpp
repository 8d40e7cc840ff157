//===- Simulate.cpp - When passes start and end ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Timeline.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Never.h"

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
    begin();
    int64_t order = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t position = 0; position != shape.positions; ++position)
        while (tryNext(position, order))
          moved = true;
    }
    return isDone();
  }

  /// The first step alone, of positions that share processors: what some of
  /// them leave idle goes to the others, up to `sharing` times their own part.
  bool runShared(double sharing) {
    begin();
    std::vector<double> left(shape.positions, notYet);
    auto count = static_cast<double>(shape.positions);
    double now = 0;
    for (int64_t order = 0; !isDone();) {
      double next = never;
      int64_t active = 0;
      for (int64_t position = 0; position != shape.positions; ++position) {
        if (left[position] == notYet) {
          double arrival = getNextArrival(position);
          if (arrival > now || arrival == notYet) {
            if (arrival != notYet)
              next = std::min(next, arrival);
            continue;
          }
          intervals[position].push_back({now, notYet, order++});
          left[position] = getNextSeconds(position);
        }
        ++active;
      }
      double speed = std::min(
          sharing, count / static_cast<double>(std::max<int64_t>(active, 1)));
      for (double rest : left)
        if (rest != notYet)
          next = std::min(next, now + rest / speed);
      if (next == never)
        return false;
      for (int64_t position = 0; position != shape.positions; ++position) {
        if (left[position] == notYet)
          continue;
        double rest = left[position] - (next - now) * speed;
        bool isOver = now + left[position] / speed <= next;
        left[position] = isOver ? notYet : std::max(0.0, rest);
        if (isOver)
          finish(position, next);
      }
      now = next;
    }
    return true;
  }

  const PipelineSchedule &schedule;
  const ScheduleShape &shape;
  const StageTimes &times;
  const Latencies &latencies;
  std::vector<double> freeSeconds;
  std::vector<std::vector<Timeline::Interval>> intervals;

private:
  void begin() {
    size_t cells = shape.getStageCount() * shape.microBatches;
    forwardEnds.assign(cells, notYet);
    gradientEnds.assign(cells, notYet);
    intervals.assign(shape.positions, {});
    doneCounts.assign(shape.positions, 0);
  }

  bool isDone() const {
    for (int64_t position = 0; position != shape.positions; ++position)
      if (doneCounts[position] != schedule.passes[position].size())
        return false;
    return true;
  }

  const Pass *getNext(int64_t position) const {
    const std::vector<Pass> &list = schedule.passes[position];
    return doneCounts[position] == list.size() ? nullptr
                                               : &list[doneCounts[position]];
  }

  double getNextArrival(int64_t position) {
    const Pass *pass = getNext(position);
    return pass ? getArrival(getStage(shape, position, pass->chunk), *pass)
                : notYet;
  }

  double getNextSeconds(int64_t position) const {
    const Pass &pass = *getNext(position);
    return times[getStage(shape, position, pass.chunk)].getSeconds(pass.kind);
  }

  void finish(int64_t position, double end) {
    const Pass &pass = *getNext(position);
    int64_t stage = getStage(shape, position, pass.chunk);
    intervals[position].back().endSeconds = end;
    ++doneCounts[position];
    if (pass.kind == PassKind::forward)
      at(forwardEnds, stage, pass.microBatch) = end;
    else if (pass.kind != PassKind::weightGradient)
      at(gradientEnds, stage, pass.microBatch) = end;
  }

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
    double arrival = getNextArrival(position);
    if (arrival == notYet)
      return false;
    double start = std::max(freeSeconds[position], arrival);
    intervals[position].push_back({start, notYet, order++});
    freeSeconds[position] = start + getNextSeconds(position);
    finish(position, freeSeconds[position]);
    return true;
  }

  /// Of each stage and micro-batch.
  std::vector<double> forwardEnds, gradientEnds;
  /// Of each position, passes.
  std::vector<size_t> doneCounts;
};

} // namespace

/// Steps that do not wait for each other leave no processor idle, unless one
/// position has more to do than its processors can.
static double getSharedPeriod(const PipelineSchedule &schedule,
                              const StageTimes &times, double sharing) {
  double sum = 0, most = 0;
  for (int64_t position = 0; position != schedule.shape.positions; ++position) {
    double own = 0;
    for (const Pass &pass : schedule.passes[position])
      own += times[getStage(schedule.shape, position, pass.chunk)].getSeconds(
          pass.kind);
    sum += own;
    most = std::max(most, own);
  }
  return std::max(sum / static_cast<double>(schedule.shape.positions),
                  most / sharing);
}

std::optional<Timeline> parplan::trySimulate(const PipelineSchedule &schedule,
                                             const StageTimes &times,
                                             const Latencies &latencies,
                                             int64_t steps, double sharing) {
  Machine machine(schedule, times, latencies);
  bool isShared = sharing > 1;
  if (isShared ? !machine.runShared(sharing) : !machine.runStep())
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
  if (isShared && steps > 1)
    timeline.periodSeconds = getSharedPeriod(schedule, times, sharing);
  for (int64_t step = 1; step < steps && !isShared; ++step) {
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
                           int64_t steps, double sharing) {
  std::optional<Timeline> timeline =
      trySimulate(schedule, times, latencies, steps, sharing);
  PARPLAN_CHECK(timeline, "the schedule waits for itself");
  return std::move(*timeline);
}
