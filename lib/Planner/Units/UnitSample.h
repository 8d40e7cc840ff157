//===- UnitSample.h - One unit of each kind, as a problem -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITSAMPLE_H
#define PARPLAN_LIB_PLANNER_UNITSAMPLE_H

#include "StepUnits.h"

#include "parplan/Planner/Decisions.h"

namespace parplan {

/// The ops of the first unit of each kind, one after the other, with values of
/// their own. It is no complete problem: what other units make has no producer
/// in it. Candidates and costs ask no more than this of a model, whatever its
/// number of blocks.
struct UnitSample {
  struct Range {
    int firstOp = 0, endOp = 0;
    int firstValue = 0, endValue = 0;
  };
  struct Value {
    StepUnits::Part part = StepUnits::Part::own;
    /// In the boundary of its part, or -1.
    int slot = -1;
    /// Ops of other units read it before its backward pass begins, and after.
    bool isReadForwardElsewhere = false, isReadBackwardElsewhere = false;
    /// What combines units reads it, or adds up the gradients of several.
    bool isCombined = false;
    /// The op that makes it in this unit, or -1.
    int maker = -1;
    /// How often a stage may read it that computes it where it does; 0: it is
    /// always in memory.
    int mostFusedReads = 0;
    /// Of variables that several units read, of what is made before the first
    /// pass, and of gradients that another unit adds to its own: one
    /// of the samples that must lie alike, the same for all of them, and how
    /// many units read it at most. -1: it is none of these.
    int tiedTo = -1, readingUnits = 1;
  };

  PlanningProblem problem;
  /// Per value and op the one that it is of the whole problem.
  std::vector<int> valueOf, opOf;
  std::vector<Range> kinds;
  std::vector<Value> values;
  /// Per op.
  std::vector<Phase> phases;
  std::vector<bool> isBeforeMeeting;
  Decisions decisions;
  /// Per decision the first one that is equal to it, and per op the one that
  /// has its place there.
  std::vector<int> firstEqual, firstEqualOp;
  /// Per value that is tied, the units that have it, in their order, each with
  /// its sample of it.
  std::vector<std::vector<std::pair<int, int>>> tied;
};

UnitSample makeUnitSample(const PlanningProblem &problem,
                          const StepUnits &units);

/// The sample of a step whose sample has that problem, from that of a step with
/// other sizes.
UnitSample complete(UnitSample sample, PlanningProblem problem);

/// True for what runs in a backward pass.
inline bool isBackward(Phase phase) {
  return phase == Phase::inputGradient || phase == Phase::weightGradient;
}

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITSAMPLE_H
