//===- PathBound.h - Steps take the longest path at least -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PATHBOUND_H
#define PARPLAN_LIB_PLANNER_PATHBOUND_H

#include "CutBound.h"
#include "MemoryDual.h"

#include "parplan/Pipeline/CriticalPath.h"

namespace parplan {

/// Bounds the steps of a schedule whose order is fixed by one path of passes:
/// the critical one where positions take about what they take in a likely cut.
/// How often it has the passes of each position are weights of their costs;
/// what these are at least, each within the memory of its position, is summed
/// over positions, and the least sum over all cuts is the bound. It sees
/// what formulas with one busy position do not: messages that hold up every
/// chunk of an interleaved schedule.
class PathBound {
public:
  struct Options {
    /// Not `Meeting::ofEnds`.
    Meeting meeting = Meeting::always;
    double leastMessageSeconds = 0, freeBytes = 0;
  };

  /// `cuts` has been raised, `likely` is the best cut by it.
  PathBound(CutBound &cuts, const CutPath &likely, const UnitChain &chain,
            const ScheduleShape &shape, MemoryDual &dual,
            const Options &options);

  /// True of schedules with a fixed order that several positions run.
  static bool isKnown(const ScheduleShape &shape) {
    return shape.positions > 1 && hasBackward(shape.kind) &&
           !splitsBackward(shape.kind);
  }

  /// Infinity: every cut takes longer than `cutoff`.
  double find(double cutoff);

private:
  StageTimes getLikelyTimes(const CutPath &likely);
  /// Divided by the number of micro-batches, as prices of memory are of one.
  void setWeights(const CriticalPath &path, const StageTimes &times);
  /// The blocks of each position in the cut with the least sum; none: no cut.
  CutPath findLeast(const std::vector<std::vector<CutBound::Place>> &places);
  double getCost(int64_t position, const CutBound::Place &place) const;

  CutBound &cuts;
  const UnitChain &chain;
  const ScheduleShape &shape;
  MemoryDual &dual;
  Options options;
  double batches;
  /// Per position, by chunk.
  std::vector<std::vector<Weights>> weights;
  std::vector<const CutBound::CutSums *> sums;
  RaisedPlaces raised;
  double messageSeconds = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PATHBOUND_H
