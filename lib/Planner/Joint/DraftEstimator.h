//===- DraftEstimator.h - What drafts seem to take --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H
#define PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H

#include "DraftBudgets.h"
#include "StageMix.h"

#include "parplan/Planner/SearchModel.h"

#include <limits>

namespace parplan {

/// A plan before it is judged.
struct Draft {
  std::vector<int64_t> counts;
  ChainStates states;
  std::vector<StageMix> mixes;
  /// Of a byte, per position; above 0 where more memory gives faster plans.
  std::vector<double> prices;
  /// For which it was made.
  DraftLimits limits;
  double seconds = std::numeric_limits<double>::infinity();
};

/// Times drafts by the sums of their units, with the schedule that they would
/// have.
class DraftEstimator {
public:
  /// All of them stay.
  DraftEstimator(const SpaceModel &model, const UnitChain &chain,
                 Meeting meeting)
      : model(model), chain(chain), meeting(meeting) {}

  /// Of a step. Where the backward pass is split, micro-batches have the room
  /// that budgets leave, or no limit.
  double getSeconds(const ScheduleShape &shape, const Draft &draft,
                    bool isLimited = true) const;
  /// What a byte of each micro-batch that waits for its weight gradient is
  /// worth to each position, as seconds of a micro-batch: with fewer bytes more
  /// of them may come behind all input gradients.
  std::vector<double> getWaitingPrices(const ScheduleShape &shape,
                                       const Draft &draft) const;
  std::vector<Moment> getPeakMoments(const ScheduleShape &shape,
                                     const Draft &draft) const;
  /// What the units of a stage cost together, stage by stage.
  std::vector<CostVector> getStageCosts(const ScheduleShape &shape,
                                        const Draft &draft) const;

private:
  PipelineSchedule makeSchedule(const ScheduleShape &shape, const Draft &draft,
                                const std::vector<CostVector> &costs,
                                const Latencies &latencies,
                                bool isLimited = true) const;
  /// Of the boundaries between stages.
  std::vector<double> getLatencies(const ScheduleShape &shape,
                                   const Draft &draft) const;

  const SpaceModel &model;
  const UnitChain &chain;
  Meeting meeting;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H
