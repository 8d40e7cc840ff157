//===- StepUnits.h - A step as a row of units -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What comes before the equal blocks of a model, each block, what is between
// two runs of them, and what comes behind: units, in the order of the forward
// pass. An op is in the unit of what it is decided with, or of what it reads
// last. Units that look alike from inside are of one kind, whatever is before
// and behind them, and are planned as their first one.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STEPUNITS_H
#define PARPLAN_LIB_PLANNER_STEPUNITS_H

#include "lib/Planner/Evaluation/Execution.h"

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Planner/Folding.h"

namespace parplan {

struct StepUnits {
  struct Unit {
    int kind = 0;
    /// The block of the folding, or -1.
    int block = -1;
    /// In program order; of units of one kind, place by place the same.
    std::vector<int> ops;
    /// What these read or make, in order of first use, likewise.
    std::vector<int> values;
  };

  /// What a unit has to do with a value.
  enum class Part {
    /// No other unit reads or makes it, but ops of no unit may.
    own,
    /// Between this unit and the one before it, or behind it.
    before,
    behind,
    /// Several units read it, of which this is the first.
    shared,
    /// Another unit answers for it.
    foreign,
  };

  struct Kind {
    /// The first unit.
    int representative = 0;
    int64_t count = 0;
    /// Per value of the unit.
    std::vector<Part> parts;
    /// Numbers of the boundaries, -1: none. Units of one kind have the same.
    int before = -1, behind = -1;
    /// Per value its slot in that boundary, or -1.
    std::vector<int> slots;
  };

  std::vector<Unit> units;
  std::vector<Kind> kinds;
  /// Per boundary how many values cross it.
  std::vector<int> slotCounts;
  /// Per op its unit; -1: it combines several.
  std::vector<int> unitOfOp;
  std::vector<Phase> phases;
  /// Per op whether it is done before all positions meet (`findMeetings`, each
  /// unit a place of its own).
  std::vector<bool> isBeforeMeeting;
  Meeting meeting = Meeting::never;

  /// Before all blocks, or behind them. A model without any is one itself.
  bool isEnd(size_t unit) const {
    return units[unit].block < 0 && units.size() > 1 &&
           (unit == 0 || unit + 1 == units.size());
  }
};

/// `labels` as in `FoldingOptions`.
StepUnits getStepUnits(const PlanningProblem &problem, const Folding &folding,
                       llvm::ArrayRef<int64_t> labels = {});

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STEPUNITS_H
