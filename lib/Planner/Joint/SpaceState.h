//===- SpaceState.h - What is known of one space ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SPACESTATE_H
#define PARPLAN_LIB_PLANNER_SPACESTATE_H

#include "CutBound.h"
#include "PlanDrafts.h"

namespace parplan {

/// One mesh and number of micro-batches, with all that its oracles were asked:
/// schedules share it.
class SpaceState {
public:
  SpaceState(std::unique_ptr<SpaceModel> model, double memoryLimitBytes,
             double spareBytes, double leastMessageSeconds,
             const SpaceInfo &info);

  /// Of a rank; plans leave `spare` bytes of them free.
  void setMemoryLimit(double bytes, double spare) {
    freeBytes = bytes - model->getFixedBytes();
    drafts.setMemoryLimit(bytes - spare);
  }

  /// There are blocks enough for a schedule.
  bool fits(const ScheduleShape &shape) const {
    return chain.getInstanceCount() > 0 && chain.getBlocksPerChunk(shape) > 0;
  }

  /// What the busiest position works at least, whatever memory its best blocks
  /// need; infinity: more than `cutoff`, or the schedule does not fit.
  double getWorkBound(const ScheduleShape &shape, double cutoff);
  /// The least step of a schedule with them.
  double getBlockBound(const ScheduleShape &shape, double cutoff);
  /// The same within the memory of the positions.
  double getMemoryBound(const ScheduleShape &shape, double cutoff,
                        bool countsWaiting = true);
  /// The same by the order of the passes, where that is fixed; else 0.
  double getPathBound(const ScheduleShape &shape, double cutoff);

  /// See `PlanDrafts::find`; quickly: from equal stages alone.
  std::optional<PlanDrafts::Found> findPlan(const ScheduleShape &shape,
                                            double knownSeconds,
                                            bool isQuick = false);

  /// See `SpaceModel`.
  void forget() { model->forget(); }

  int64_t getCallCount() const { return oracles.getCallCount(); }

private:
  /// Those of the bound, unless it must be quick, and equal ones. None: all
  /// take longer than what is known.
  PlanDrafts::Cuts getCuts(const ScheduleShape &shape, double knownSeconds,
                           bool isQuick);
  CutBound makeBound(const ScheduleShape &shape, CutBound::Effort effort,
                     bool isOfKnown = false);

  std::unique_ptr<SpaceModel> model;
  std::vector<BlockOracle *> distinct;
  UnitChain chain;
  AskedOracles oracles;
  MemoryDual dual;
  PlanDrafts drafts;
  double freeBytes = 0;
  double leastMessageSeconds;
  Meeting meeting;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SPACESTATE_H
