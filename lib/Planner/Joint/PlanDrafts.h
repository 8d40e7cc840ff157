//===- PlanDrafts.h - Plans from sums over units ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANDRAFTS_H
#define PARPLAN_LIB_PLANNER_PLANDRAFTS_H

#include "MemoryDual.h"
#include "StageMix.h"

#include "parplan/Planner/SearchModel.h"

#include <limits>

namespace parplan {

/// Finds plans of a space: drafts them by what units cost, and has the best
/// ones judged. What drafts leave out is learnt from that.
class PlanDrafts {
public:
  /// All of them stay.
  PlanDrafts(SpaceModel &model, const UnitChain &chain, AskedOracles &oracles,
             MemoryDual &dual, Meeting meeting)
      : model(model), chain(chain), oracles(oracles), dual(dual),
        mixer(chain, oracles), meeting(meeting) {}

  /// Of a rank.
  void setMemoryLimit(double bytes) {
    memoryLimitBytes = bytes;
    freeBytes = bytes - model.getFixedBytes();
  }

  /// Blocks per chunk of every position.
  using Cuts = std::vector<std::vector<int64_t>>;
  struct Found {
    JudgedPlan plan;
    int64_t judged = 0;
  };
  /// A plan of the schedule that fits, from one of the cuts, else the one that
  /// exceeds the memory least; nullopt: not even that, or nothing seems to take
  /// less time than what is known. Where the backward pass is split, with as
  /// much waiting for weight gradients as is best. Quickly: blocks stay where
  /// the cuts have them.
  std::optional<Found> find(ScheduleShape shape, const Cuts &cuts,
                            double knownSeconds, bool isQuick);

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

  /// The first of the numbers with which a plan that seems to fit does so, or
  /// nearly; else the one with which it exceeds the memory least; the count of
  /// them: nothing can fit, or all takes too long.
  size_t findNearlyFitting(ScheduleShape shape, const Cuts &cuts,
                           const std::vector<int64_t> &allHalves,
                           double knownSeconds, int64_t &judged);
  /// With as much waiting for weight gradients as the shape says.
  std::optional<Found> findOfShape(const ScheduleShape &shape, const Cuts &cuts,
                                   double knownSeconds, bool isQuick);
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
  /// The fastest from any of the cuts.
  std::optional<Draft> draft(const ScheduleShape &shape, const Cuts &cuts,
                             const std::vector<double> &budgets);
  double estimate(const ScheduleShape &shape, const Draft &draft) const;
  void improve(const ScheduleShape &shape, const std::vector<double> &budgets,
               Draft &draft);
  JudgedPlan judge(const ScheduleShape &shape, const Draft &draft) const;

  SpaceModel &model;
  const UnitChain &chain;
  AskedOracles &oracles;
  MemoryDual &dual;
  StageMixer mixer;
  Meeting meeting;
  double memoryLimitBytes = 0, freeBytes = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PLANDRAFTS_H
