//===- StageCuts.h - Where a model is cut into stages -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGECUTS_H
#define PARPLAN_LIB_PLANNER_STAGECUTS_H

#include "lib/Planner/Evaluation/StepTime.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

/// A model as a chain of units, any two neighbours of which may be cut apart.
struct StageChain {
  struct Unit {
    /// Of one micro-batch, and once per step.
    PassTimes pass{0, 0, 0};
    double startSeconds = 0, beforeMeetingSeconds = 0, afterMeetingSeconds = 0;
    /// For the whole step, and for each micro-batch in flight.
    int64_t permanentBytes = 0, savedBytes = 0;
    /// A cut before the unit is between two blocks of the model.
    bool startsBlock = false;
  };
  std::vector<Unit> units;
  /// Of the boundary behind every unit but the last: seconds of a message.
  std::vector<double> latencies;
  /// Of every rank.
  int64_t fixedBytes = 0;
  /// The units of which something is combined once per step, per such op.
  std::vector<std::vector<int>> meetings;
};

/// The first unit of every stage, ascending from 0.
using StageCuts = std::vector<int>;

struct CutSearch {
  StageCuts cuts;
  double seconds = 0;
  /// Of the position that works most, for one micro-batch.
  double busiestSeconds = 0;
  /// Of the position that needs most, by the sums of `StageChain`.
  int64_t bytes = 0;
};

/// Time and memory of cuts.
CutSearch evaluateCuts(const StageChain &chain, const ScheduleShape &shape,
                       const StageCuts &cuts);

/// The fastest cuts that were found of those that fit, else the smallest. All
/// of them are looked at where there are few. Else, for several limits of the
/// slowest stage, a dynamic programme finds the cuts whose messages take least,
/// each of which is simulated; the best one is improved by moving single cuts.
/// The shape is not refused for so many units.
/// Improving ends when `isOver`.
CutSearch findCuts(const StageChain &chain, const ScheduleShape &shape,
                   int64_t limitBytes, llvm::function_ref<bool()> isOver);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGECUTS_H
