//===- SpaceState.h - What is known of one space ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SPACESTATE_H
#define PARPLAN_LIB_PLANNER_SPACESTATE_H

#include "CutBound.h"
#include "StageMix.h"

namespace parplan {

/// One mesh and number of micro-batches, with all that its oracles were asked:
/// schedules share it.
class SpaceState {
public:
  SpaceState(std::unique_ptr<SpaceModel> model, double memoryLimitBytes,
             const SpaceInfo &info);

  /// Of a rank.
  void setMemoryLimit(double bytes) {
    memoryLimitBytes = bytes;
    freeBytes = bytes - model->getFixedBytes();
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
  double getMemoryBound(const ScheduleShape &shape, double cutoff);

  struct Found {
    JudgedPlan plan;
    int64_t judged = 0;
  };
  /// A plan of the schedule that fits, else the one that exceeds the memory
  /// least; nullopt: not even that, or nothing seems to take less time than
  /// what is known. Quickly: from equal stages alone.
  std::optional<Found> findPlan(const ScheduleShape &shape, double knownSeconds,
                                bool isQuick = false);

  /// See `SpaceModel`.
  void forget() { model->forget(); }

  int64_t getCallCount() const { return oracles.getCallCount(); }

private:
  /// A plan before it is judged.
  struct Draft {
    std::vector<int64_t> counts;
    ChainStates states;
    std::vector<StageMix> mixes;
    /// Of a byte, per position; above 0 where more memory gives faster plans.
    std::vector<double> prices;
    double seconds = std::numeric_limits<double>::infinity();
  };

  CutBound makeBound(const ScheduleShape &shape, CutBound::Effort effort);

  /// The parts of all positions, whose passes count once, and what is once per
  /// step its share of a micro-batch; with the micro-batches that a plan may
  /// have in flight.
  std::vector<PositionPart> getParts(const ScheduleShape &shape,
                                     const std::vector<int64_t> &counts) const;
  /// Of each unit, with the prices of memory of the positions; or of its bytes
  /// alone.
  std::vector<Weights> getUnitWeights(const std::vector<PositionPart> &parts,
                                      const std::vector<double> &prices,
                                      bool isBytesAlone = false) const;
  std::vector<ChainStates> chooseStates(const std::vector<PositionPart> &parts,
                                        const std::vector<double> &prices);
  std::optional<Draft> draft(const ScheduleShape &shape,
                             const std::vector<int64_t> &counts,
                             const std::vector<double> &budgets);
  double estimate(const ScheduleShape &shape, const Draft &draft) const;
  void improve(const ScheduleShape &shape, const std::vector<double> &budgets,
               Draft &draft);
  JudgedPlan judge(const ScheduleShape &shape, const Draft &draft) const;

  std::unique_ptr<SpaceModel> model;
  std::vector<BlockOracle *> distinct;
  UnitChain chain;
  AskedOracles oracles;
  MemoryDual dual;
  StageMixer mixer;
  double memoryLimitBytes, freeBytes;
  double leastMessageSeconds = 0;
  Meeting meeting;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SPACESTATE_H
