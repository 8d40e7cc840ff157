//===- DraftEstimator.h - What drafts seem to take --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H
#define PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H

#include "PeakMoments.h"
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
  /// For which the bytes of mixes are counted.
  std::vector<Moment> moments;
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

  /// Of a step.
  double getSeconds(const ScheduleShape &shape, const Draft &draft) const;
  std::vector<Moment> getPeakMoments(const ScheduleShape &shape,
                                     const Draft &draft) const;
  /// What the units of a stage cost together, stage by stage.
  std::vector<CostVector> getStageCosts(const ScheduleShape &shape,
                                        const Draft &draft) const;

private:
  /// Of the boundaries between stages.
  std::vector<double> getLatencies(const ScheduleShape &shape,
                                   const Draft &draft) const;

  const SpaceModel &model;
  const UnitChain &chain;
  Meeting meeting;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_DRAFTESTIMATOR_H
