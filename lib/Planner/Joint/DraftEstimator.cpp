//===- DraftEstimator.cpp - What drafts seem to take ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "DraftEstimator.h"

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

std::vector<Moment> DraftEstimator::getPeakMoments(const ScheduleShape &shape,
                                                   const Draft &draft) const {
  std::vector<CostVector> costs = getStageCosts(shape, draft);
  return findPeakMoments(
      makeSchedule(shape, getTimes(costs), getLatencies(shape, draft)), costs);
}

double DraftEstimator::getSeconds(const ScheduleShape &shape,
                                  const Draft &draft) const {
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
  PipelineSchedule schedule = makeSchedule(shape, times, latencies);
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
