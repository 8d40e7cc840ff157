//===- PlanDrafts.h - Plans from sums over units ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANDRAFTS_H
#define PARPLAN_LIB_PLANNER_PLANDRAFTS_H

#include "DraftBudgets.h"
#include "DraftEstimator.h"
#include "MemoryDual.h"

#include "parplan/Planner/SearchModel.h"

namespace parplan {

/// Finds plans of a space: drafts them by what units cost, and has the best
/// ones judged. What drafts leave out is learnt from that.
class PlanDrafts {
public:
  /// All of them stay.
  PlanDrafts(SpaceModel &model, const UnitChain &chain, AskedOracles &oracles,
             MemoryDual &dual, Meeting meeting)
      : model(model), chain(chain), oracles(oracles), dual(dual),
        mixer(chain, oracles, dual), estimator(model, chain, meeting) {}

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
  /// the cuts have them, what a plan that fits leaves free stays free, and
  /// drafts have to be better by what plans took longer than theirs.
  std::optional<Found> find(const ScheduleShape &shape, const Cuts &cuts,
                            double knownSeconds, bool isQuick);

private:
  /// All of the memory, before the first backward pass.
  DraftLimits getLimits(const ScheduleShape &shape) const;

  /// Of a schedule that splits the backward pass. The fastest first; none: all
  /// takes too long.
  std::vector<Draft> draftSplit(const ScheduleShape &shape, const Cuts &cuts,
                                double knownSeconds);
  /// What a judged plan says of its draft.
  DraftBudgets::Plan describe(const ScheduleShape &shape, const Draft &draft,
                              const JudgedPlan &plan) const;
  /// Begins with the stages and states of `best`, if any. What passes need is
  /// an estimate, and plans of units are not made for it: where drafts seem to
  /// lose by leaving room for that, what they leave out is learnt instead.
  std::optional<Found> findFrom(const ScheduleShape &shape, const Cuts &cuts,
                                DraftLimits limits, std::optional<Draft> best,
                                double knownSeconds, bool isQuick);
  std::optional<Found> learn(const ScheduleShape &shape, const Cuts &cuts,
                             DraftLimits limits, std::optional<Draft> best,
                             double knownSeconds, bool isQuick);
  /// The parts of all positions, whose passes count once, and what is once per
  /// step its share of a micro-batch.
  std::vector<PositionPart> getParts(const ScheduleShape &shape,
                                     const std::vector<int64_t> &counts,
                                     const DraftLimits &limits) const;
  /// Of each unit, with the prices of memory of the positions; or of its bytes
  /// alone.
  std::vector<Weights> getUnitWeights(const std::vector<PositionPart> &parts,
                                      const std::vector<double> &prices,
                                      bool isBytesAlone = false) const;
  std::optional<Draft> draft(const ScheduleShape &shape,
                             const std::vector<int64_t> &counts,
                             const DraftLimits &limits);
  /// With the stages and states of another one.
  std::optional<Draft> draftAgain(const ScheduleShape &shape,
                                  const Draft &draft,
                                  const DraftLimits &limits);
  /// Of a byte, per position; nullopt: nothing fits.
  std::optional<std::vector<double>>
  getPrices(const std::vector<PositionPart> &parts,
            const std::vector<double> &budgets);
  std::optional<StageMix> findMix(const PositionPart &part,
                                  const ChainStates &states,
                                  const DraftLimits &limits,
                                  size_t position) const;
  /// A draft that has stages and states; false: nothing is found that fits.
  bool complete(const ScheduleShape &shape, const DraftLimits &limits,
                const std::vector<double> &prices, Draft &draft);
  /// The fastest from any of the cuts.
  std::optional<Draft> draft(const ScheduleShape &shape, const Cuts &cuts,
                             const DraftLimits &limits);
  void improve(const ScheduleShape &shape, const DraftLimits &limits,
               Draft &draft);
  JudgedPlan judge(const ScheduleShape &shape, const Draft &draft) const;

  SpaceModel &model;
  const UnitChain &chain;
  AskedOracles &oracles;
  MemoryDual &dual;
  StageMixer mixer;
  DraftEstimator estimator;
  double memoryLimitBytes = 0, freeBytes = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PLANDRAFTS_H
