//===- DraftBudgets.h - What a draft may have -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_DRAFTBUDGETS_H
#define PARPLAN_LIB_PLANNER_DRAFTBUDGETS_H

#include "PeakMoments.h"

#include <vector>

namespace parplan {

/// Per position the bytes for what units have at a moment.
struct DraftLimits {
  std::vector<double> budgets;
  std::vector<Moment> moments;
  /// Seconds of a micro-batch per byte that waits for its weight gradient,
  /// beside prices of memory; empty: none.
  std::vector<double> waitingPrices = {};
  /// Budgets are for what passes need, too; or that is left out.
  bool countsWork = true;
};

/// Learns from plans what drafts of a schedule may have. Sums of units are
/// estimates. What they left out at most is left free until a plan fits; then
/// positions that have more to spare get it back.
class DraftBudgets {
public:
  /// A position has so many bytes for its units, their passes and what is left
  /// out. Where its micro-batches have a room, budgets hold at all moments.
  DraftBudgets(DraftLimits limits, double freeBytes, bool hasRoom)
      : limits(std::move(limits)), freeBytes(freeBytes), hasRoom(hasRoom) {}

  const DraftLimits &getLimits() const { return limits; }

  /// What a position needs in a plan.
  struct Position {
    /// Of the units of each chunk.
    std::vector<CostVector> chunks;
    /// More than it has; below 0: it has as many to spare.
    double excessBytes = 0;
    /// It would be faster with more memory.
    bool isLimited = false;
    /// When its units seem to have most.
    Moment peak;
    /// What a pass over one of them needs beside that.
    double workBytes = 0;
  };
  using Plan = std::vector<Position>;

  /// Less at one moment may be more at another one: budgets are for the mean of
  /// the moments at which plans needed most. False: the plan fits, and no
  /// position would gain much.
  bool learn(Plan plan);

  /// Nothing was found to keep the budgets: smaller plans may leave out less.
  /// False: no other ones are worth a try.
  bool relax();

private:
  double getLeftOut(const Plan &plan, size_t position) const;
  double getMostLeftOut(size_t position) const;
  void setBudgets();

  DraftLimits limits;
  double freeBytes;
  bool hasRoom;
  std::vector<Plan> plans;
  /// The share of what was left out that is left free, between one that is too
  /// little and one for which there is no draft.
  double share = 1, tooLittle = 0, tooMuch = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_DRAFTBUDGETS_H
