//===- DraftEstimator.cpp - What drafts seem to take ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "DraftEstimator.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

std::vector<CostVector>
DraftEstimator::getStageCosts(const ScheduleShape &shape,
                              const Draft &draft) const {
  std::vector<CostVector> costs(shape.getStageCount());
  for (int64_t position = 0; position < shape.positions; ++position)
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (const BlockPlan *plan : draft.mixes[position].plans[chunk])
        costs[getStage(shape, position, chunk)] += plan->cost;
  return costs;
}

static StageTimes getTimes(const std::vector<CostVector> &costs) {
  StageTimes times;
  for (const CostVector &cost : costs)
    times.push_back({cost.forward, cost.inputGradient, cost.weightGradient});
  return times;
}

std::vector<double> DraftEstimator::getLatencies(const ScheduleShape &shape,
                                                 const Draft &draft) const {
  std::vector<int> cuts = chain.getCuts(shape, draft.counts);
  std::vector<double> latencies;
  for (size_t stage = 1; stage < cuts.size(); ++stage)
    latencies.push_back(
        model.getLatency(cuts[stage] - 1, draft.states.out[cuts[stage] - 1]));
  return latencies;
}

/// Of a room.
static int64_t toBytes(double bytes) {
  return static_cast<int64_t>(
      std::clamp(bytes, 0.0, static_cast<double>(WaitingRoom::mostBytes)));
}

/// What budgets leave for micro-batches beside what is permanent, and what a
/// pass needs.
static WaitingRoom getRoom(const ScheduleShape &shape, const Draft &draft,
                           const std::vector<CostVector> &costs) {
  std::vector<double> left = draft.limits.budgets;
  for (auto [bytes, mix] : llvm::zip_equal(left, draft.mixes))
    bytes -= mix.workBytes;
  WaitingRoom room;
  for (auto [stage, cost] : llvm::enumerate(costs)) {
    left[getPosition(shape, static_cast<int64_t>(stage))] -=
        cost.permanentBytes;
    PassBytes &bytes = room.stages.emplace_back();
    bytes.saved = bytes.forward = toBytes(cost.savedBytes);
    bytes.waiting = bytes.weightGradient = toBytes(cost.waitingBytes);
    bytes.inputGradient = std::max(bytes.saved, bytes.waiting);
  }
  for (double bytes : left)
    room.positionBytes.push_back(toBytes(bytes));
  return room;
}

PipelineSchedule
DraftEstimator::makeSchedule(const ScheduleShape &shape, const Draft &draft,
                             const std::vector<CostVector> &costs,
                             const Latencies &latencies, bool isLimited) const {
  WaitingRoom room;
  if (isLimited && splitsBackward(shape.kind))
    room = getRoom(shape, draft, costs);
  return parplan::makeSchedule(shape, getTimes(costs), latencies, room);
}

std::vector<Moment> DraftEstimator::getPeakMoments(const ScheduleShape &shape,
                                                   const Draft &draft) const {
  std::vector<CostVector> costs = getStageCosts(shape, draft);
  return findPeakMoments(
      makeSchedule(shape, draft, costs, getLatencies(shape, draft)), costs);
}

std::vector<double> DraftEstimator::getWaitingPrices(const ScheduleShape &shape,
                                                     const Draft &draft) const {
  std::vector<CostVector> costs = getStageCosts(shape, draft), waiting = costs;
  PipelineSchedule schedule =
      makeSchedule(shape, draft, costs, getLatencies(shape, draft));
  for (CostVector &cost : waiting)
    cost.savedBytes = 0;
  std::vector<double> prices(shape.positions, 0);
  for (auto [position, moment] :
       llvm::enumerate(findPeakMoments(schedule, waiting))) {
    double count = 0, bytes = 0, seconds = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const CostVector &cost =
          costs[getStage(shape, static_cast<int64_t>(position), chunk)];
      count += moment.waiting[chunk];
      bytes += moment.waiting[chunk] * cost.waitingBytes;
      seconds += moment.waiting[chunk] * cost.weightGradient;
    }
    if (bytes > 0)
      prices[position] =
          count * seconds / bytes / static_cast<double>(shape.microBatches);
  }
  return prices;
}

double DraftEstimator::getSeconds(const ScheduleShape &shape,
                                  const Draft &draft, bool isLimited) const {
  std::vector<CostVector> costs = getStageCosts(shape, draft);
  StageTimes times = getTimes(costs);
  if (shape.positions == 1)
    return static_cast<double>(shape.microBatches) * times[0].getSeconds() +
           costs[0].meeting + costs[0].ends;
  std::vector<double> beforeMeeting(shape.positions, 0), ends = beforeMeeting;
  for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
    int64_t position = getPosition(shape, stage);
    beforeMeeting[position] += costs[stage].meeting;
    ends[position] += costs[stage].ends;
  }
  std::vector<double> latencies = getLatencies(shape, draft);
  PipelineSchedule schedule =
      makeSchedule(shape, draft, costs, latencies, isLimited);
  constexpr int64_t steps = 5;
  bool meets = getMeeting(meeting, shape) == Meeting::always;
  Timeline timeline = simulate(schedule, times, latencies, meets ? 1 : steps);
  double last = meets ? 0 : timeline.periodSeconds, atEnds = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    if (meets)
      last = std::max(last, timeline.passes[position].back().endSeconds +
                                beforeMeeting[position]);
    atEnds = std::max(atEnds,
                      ends[position] + (meets ? 0 : beforeMeeting[position]));
  }
  return last + atEnds;
}
