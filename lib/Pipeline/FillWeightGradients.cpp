//===- FillWeightGradients.cpp - Weight gradients where one waits ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "FillWeightGradients.h"

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Support/Check.h"

#include <deque>
#include <functional>
#include <limits>
#include <queue>

using namespace parplan;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// One run over the base schedule.
class Filling {
public:
  Filling(const PipelineSchedule &base, const StageTimes &times,
          const Latencies &latencies, bool mayOverrun)
      : base(base), shape(base.shape), times(times), latencies(latencies),
        mayOverrun(mayOverrun), ranks(shape.positions),
        forwardArrivals(shape.getStageCount() * shape.microBatches, never),
        gradientArrivals(forwardArrivals) {
    result.shape = shape;
    result.passes.resize(shape.positions);
  }

  PipelineSchedule run() {
    int64_t left = 3 * shape.getStageCount() * shape.microBatches;
    clock.push(0);
    while (left != 0) {
      PARPLAN_CHECK(!clock.empty(), printScheduleName(shape), " with ",
                    shape.positions, " positions and ", shape.microBatches,
                    " micro-batches does not fit its limit");
      double now = clock.top();
      while (!clock.empty() && clock.top() == now)
        clock.pop();
      for (int64_t position = 0; position != shape.positions; ++position)
        left -= ranks[position].freeSeconds <= now && step(position, now);
    }
    return std::move(result);
  }

private:
  struct Rank {
    size_t next = 0;
    double freeSeconds = 0;
    int64_t live = 0;
    std::deque<Pass> pending;
  };

  double &at(std::vector<double> &arrivals, int64_t stage, int64_t batch) {
    return arrivals[stage * shape.microBatches + batch];
  }

  /// When what the pass needs is there; infinity: nobody has made it yet.
  double getArrival(int64_t stage, const Pass &pass) {
    if (pass.kind == PassKind::forward)
      return stage == 0 ? 0 : at(forwardArrivals, stage - 1, pass.microBatch);
    if (stage + 1 == shape.getStageCount())
      return at(forwardArrivals, stage, pass.microBatch);
    return at(gradientArrivals, stage + 1, pass.microBatch);
  }

  void append(int64_t position, const Pass &pass, double now) {
    const PassTimes &stageTimes = times[getStage(shape, position, pass.chunk)];
    ranks[position].freeSeconds = now + stageTimes.getSeconds(pass.kind);
    clock.push(ranks[position].freeSeconds);
    result.passes[position].push_back(pass);
  }

  /// Runs a forward or input gradient pass and says when others have its
  /// result.
  void runNext(int64_t position, int64_t stage, const Pass &pass, double now) {
    Rank &rank = ranks[position];
    ++rank.next;
    append(position, pass, now);
    bool isForward = pass.kind == PassKind::forward;
    rank.live += isForward;
    if (!isForward)
      rank.pending.push_back(pass);
    double arrival = rank.freeSeconds;
    if (isForward && stage + 1 < shape.getStageCount())
      arrival += latencies.get(shape, stage);
    if (!isForward && stage > 0)
      arrival += latencies.get(shape, stage - 1);
    at(isForward ? forwardArrivals : gradientArrivals, stage, pass.microBatch) =
        arrival;
    clock.push(arrival);
  }

  /// True if the position started something.
  bool step(int64_t position, double now) {
    Rank &rank = ranks[position];
    const std::vector<Pass> &order = base.passes[position];
    double arrival = never;
    bool isFull = false;
    if (rank.next != order.size()) {
      const Pass &pass = order[rank.next];
      int64_t stage = getStage(shape, position, pass.chunk);
      arrival = getArrival(stage, pass);
      isFull = pass.kind == PassKind::forward &&
               rank.live >= getInFlightLimit(shape, position);
      if (arrival <= now && !isFull) {
        runNext(position, stage, pass, now);
        return true;
      }
    }
    if (rank.pending.empty())
      return false;
    Pass pass = rank.pending.front();
    pass.kind = PassKind::weightGradient;
    double seconds =
        times[getStage(shape, position, pass.chunk)].weightGradientSeconds;
    if (!mayOverrun && !isFull && arrival < now + seconds)
      return false;
    rank.pending.pop_front();
    --rank.live;
    append(position, pass, now);
    return true;
  }

  const PipelineSchedule &base;
  const ScheduleShape &shape;
  const StageTimes &times;
  const Latencies &latencies;
  bool mayOverrun;
  std::vector<Rank> ranks;
  /// When the result of each stage and micro-batch is where it is used.
  std::vector<double> forwardArrivals, gradientArrivals;
  std::priority_queue<double, std::vector<double>, std::greater<>> clock;
  PipelineSchedule result;
};

} // namespace

PipelineSchedule parplan::fillWeightGradients(const PipelineSchedule &base,
                                              const StageTimes &times,
                                              const Latencies &latencies) {
  auto run = [&](bool mayOverrun) {
    return Filling(base, times, latencies, mayOverrun).run();
  };
  PipelineSchedule overrunning = run(true), fitting = run(false);
  auto getMakespan = [&](const PipelineSchedule &schedule) {
    return simulate(schedule, times, latencies).makespanSeconds;
  };
  return getMakespan(overrunning) <= getMakespan(fitting) ? overrunning
                                                          : fitting;
}
