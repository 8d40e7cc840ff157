//===- PlanDrafts.h - Plans from sums over units ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANDRAFTS_H
#define PARPLAN_LIB_PLANNER_PLANDRAFTS_H

#include "DraftEstimator.h"
#include "MemoryDual.h"

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
        mixer(chain, oracles), estimator(model, chain, meeting) {}

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
  /// the cuts have them, and the first plan that fits will do.
  std::optional<Found> find(ScheduleShape shape, const Cuts &cuts,
                            double knownSeconds, bool isQuick);

private:
  /// What a draft has to keep, per position: the bytes for what units have at
  /// one moment, or at the mean of several.
  struct Limits {
    std::vector<double> budgets;
    std::vector<Moment> moments;
    /// Per position the most that estimates of plans left out. Empty: none is
    /// known.
    std::vector<double> leftOut = {};
  };
  /// All of the memory, before the first backward pass.
  Limits getLimits(const ScheduleShape &shape) const;

  /// How much may wait for weight gradients, with when positions seem to have
  /// most bytes then, and a plan.
  struct Waiting {
    int64_t halves = 0;
    Limits limits;
    Draft draft;
  };
  /// Of each position at one moment.
  std::vector<double> getBytes(const ScheduleShape &shape, const Draft &draft,
                               const std::vector<Moment> &moments) const;
  /// The fastest first; nothing that cannot fit. None: all takes too long.
  std::vector<Waiting> draftWaiting(ScheduleShape shape, const Cuts &cuts,
                                    double knownSeconds);
  /// What a plan says of its draft: it exceeds the memory, some position could
  /// be faster with more of it, and those that could have next to none left.
  struct Lesson {
    bool isOver = false, isLimited = false, isClose = true;
  };
  /// Sums are estimates. What they left out at most is left free until a plan
  /// fits; then positions that have more to spare get it back. `judged`: how
  /// many plans there were with this one.
  Lesson learn(const ScheduleShape &shape, const Draft &draft,
               const JudgedPlan &plan, int64_t judged, Limits &limits) const;
  /// With as much waiting for weight gradients as the shape says. Begins with
  /// the stages and states of `best`, if any. `lateness`: by how much plans
  /// that were judged were slower than their drafts, at least.
  std::optional<Found> findOfShape(const ScheduleShape &shape, const Cuts &cuts,
                                   Limits limits, std::optional<Draft> best,
                                   double knownSeconds, bool isQuick,
                                   std::optional<double> &lateness);
  /// The parts of all positions, whose passes count once, and what is once per
  /// step its share of a micro-batch.
  std::vector<PositionPart> getParts(const ScheduleShape &shape,
                                     const std::vector<int64_t> &counts,
                                     const std::vector<Moment> &moments) const;
  /// Of each unit, with the prices of memory of the positions; or of its bytes
  /// alone.
  std::vector<Weights> getUnitWeights(const std::vector<PositionPart> &parts,
                                      const std::vector<double> &prices,
                                      bool isBytesAlone = false) const;
  std::optional<Draft> draft(const ScheduleShape &shape,
                             const std::vector<int64_t> &counts,
                             const Limits &limits);
  /// With the stages and states of another one.
  std::optional<Draft> draftAgain(const ScheduleShape &shape,
                                  const Draft &draft, const Limits &limits);
  /// Of a byte, per position; nullopt: nothing fits.
  std::optional<std::vector<double>>
  getPrices(const std::vector<PositionPart> &parts,
            const std::vector<double> &budgets);
  /// A draft that has stages and states; false: nothing is found that fits.
  bool complete(const ScheduleShape &shape, const Limits &limits,
                const std::vector<double> &prices, Draft &draft);
  /// The fastest from any of the cuts.
  std::optional<Draft> draft(const ScheduleShape &shape, const Cuts &cuts,
                             const Limits &limits);
  void improve(const ScheduleShape &shape, const Limits &limits, Draft &draft);
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
