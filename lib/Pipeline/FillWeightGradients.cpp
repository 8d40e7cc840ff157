//===- FillWeightGradients.cpp - Weight gradients where one waits ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "FillWeightGradients.h"

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Never.h"

#include <deque>
#include <functional>
#include <queue>

using namespace parplan;

namespace {

/// One run over the base schedule.
class Filling {
public:
  Filling(const PipelineSchedule &base, const StageTimes &times,
          const Latencies &latencies, const WaitingRoom &room, bool mayOverrun)
      : base(base), shape(base.shape), times(times), latencies(latencies),
        room(room), mayOverrun(mayOverrun), ranks(shape.positions),
        forwardArrivals(shape.getStageCount() * shape.microBatches, never),
        gradientArrivals(forwardArrivals) {
    result.shape = shape;
    result.passes.resize(shape.positions);
  }

  PipelineSchedule run() {
    int64_t left = 3 * shape.getStageCount() * shape.microBatches;
    for (int64_t position = 0; position != shape.positions; ++position)
      wake(position, 0);
    while (left != 0) {
      PARPLAN_CHECK(!clock.empty(), printScheduleName(shape), " with ",
                    shape.positions, " positions and ", shape.microBatches,
                    " micro-batches does not fit its limit");
      auto [now, position] = clock.top();
      while (!clock.empty() && clock.top() == Event(now, position))
        clock.pop();
      left -= ranks[position].freeSeconds <= now && step(position, now);
    }
    return std::move(result);
  }

private:
  struct Rank {
    size_t next = 0;
    double freeSeconds = 0;
    int64_t live = 0;
    /// Of micro-batches between their passes, where the room is limited.
    int64_t bytes = 0;
    std::deque<Pass> pending;
  };

  /// Nothing but the end of its own pass, and what arrives while it waits, lets
  /// a position go on.
  using Event = std::pair<double, int64_t>;
  void wake(int64_t position, double seconds) {
    clock.emplace(seconds, position);
  }

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
    wake(position, ranks[position].freeSeconds);
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
    if (room.isLimited())
      rank.bytes += getLeft(room.stages[stage], pass.kind);
    if (!isForward)
      rank.pending.push_back(pass);
    double arrival = rank.freeSeconds;
    bool isLast = isForward ? stage + 1 == shape.getStageCount() : stage == 0;
    if (!isLast) {
      arrival += latencies.get(shape, isForward ? stage : stage - 1);
      int64_t reader = getPosition(shape, isForward ? stage + 1 : stage - 1);
      if (ranks[reader].freeSeconds <= now)
        wake(reader, arrival);
    }
    at(isForward ? forwardArrivals : gradientArrivals, stage, pass.microBatch) =
        arrival;
  }

  /// True if a weight gradient has to come before the pass.
  bool isTooMuch(int64_t position, int64_t stage, PassKind kind) const {
    const Rank &rank = ranks[position];
    bool isForward = kind == PassKind::forward;
    if (isForward && rank.live >= getInFlightLimit(shape, position))
      return true;
    if (!room.isLimited() || rank.pending.empty())
      return false;
    const PassBytes &own = room.stages[stage];
    // Behind it a weight gradient may run beside what it leaves.
    int64_t during = isForward ? own.forward : own.inputGradient - own.saved;
    int64_t behind = getLeft(own, kind) + getMostOfWeights(position);
    return rank.bytes + std::max(during, behind) > room.positionBytes[position];
  }

  static int64_t getLeft(const PassBytes &of, PassKind kind) {
    return kind == PassKind::forward ? of.saved : of.waiting - of.saved;
  }

  /// What weight gradients of a position need while they run, and not while
  /// they wait.
  int64_t getMostOfWeights(int64_t position) const {
    int64_t most = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const PassBytes &own = room.stages[getStage(shape, position, chunk)];
      most = std::max(most, own.weightGradient - own.waiting);
    }
    return most;
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
      isFull = isTooMuch(position, stage, pass.kind);
      if (arrival <= now && !isFull) {
        runNext(position, stage, pass, now);
        return true;
      }
    }
    auto wait = [&] {
      if (arrival > now && arrival != never)
        wake(position, arrival);
      return false;
    };
    if (rank.pending.empty())
      return wait();
    Pass pass = rank.pending.front();
    pass.kind = PassKind::weightGradient;
    int64_t stage = getStage(shape, position, pass.chunk);
    double seconds = times[stage].weightGradientSeconds;
    if (!mayOverrun && !isFull && arrival < now + seconds)
      return wait();
    rank.pending.pop_front();
    --rank.live;
    if (room.isLimited())
      rank.bytes -= room.stages[stage].waiting;
    append(position, pass, now);
    return true;
  }

  const PipelineSchedule &base;
  const ScheduleShape &shape;
  const StageTimes &times;
  const Latencies &latencies;
  const WaitingRoom &room;
  bool mayOverrun;
  std::vector<Rank> ranks;
  /// When the result of each stage and micro-batch is where it is used.
  std::vector<double> forwardArrivals, gradientArrivals;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> clock;
  PipelineSchedule result;
};

} // namespace

PipelineSchedule parplan::fillWeightGradients(const PipelineSchedule &base,
                                              const StageTimes &times,
                                              const Latencies &latencies,
                                              const WaitingRoom &room) {
  auto run = [&](bool mayOverrun) {
    return Filling(base, times, latencies, room, mayOverrun).run();
  };
  PipelineSchedule overrunning = run(true), fitting = run(false);
  auto getMakespan = [&](const PipelineSchedule &schedule) {
    return simulate(schedule, times, latencies).makespanSeconds;
  };
  return getMakespan(overrunning) <= getMakespan(fitting) ? overrunning
                                                          : fitting;
}
