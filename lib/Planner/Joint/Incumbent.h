//===- Incumbent.h - The best plan so far -----------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_INCUMBENT_H
#define PARPLAN_LIB_PLANNER_INCUMBENT_H

#include "SpaceStates.h"

#include "parplan/Planner/SpaceSearch.h"

#include <chrono>

namespace parplan {

/// The best plan of a search, what a configuration must promise to be looked at
/// beside it, and how much time is left.
class Incumbent {
public:
  /// All of them stay; `trail` gets the configurations that had the best plan.
  Incumbent(SpaceStates &states, std::vector<Configuration> &trail,
            const SpaceSearchOptions &options)
      : states(states), trail(trail), options(options), start(Clock::now()) {}

  /// Infinity: there is no plan.
  double getBest() const;
  /// What takes so long is not looked at.
  double getCutoff() const { return getBest() * (1 - options.gap); }

  bool isOver() const { return isOver(options.timeBudgetSeconds); }
  /// As if there were so much time.
  bool isOver(double seconds) const;

  void keepBetter(JudgedPlan plan, const Configuration &configuration);

  /// Bounds of a step, the cheapest first. Infinity: the space or the schedule
  /// is impossible, or the bound is above the cutoff.
  /// The busiest position works as long as the mean.
  double getWorkBound(const Configuration &configuration);
  /// 0: nothing is known.
  double getRelaxedBound(const Configuration &configuration, bool isOfKnown);
  /// Without networks of its own.
  double getEarlyBound(const Configuration &configuration);
  /// Whatever memory there is.
  double getBlockBound(const Configuration &configuration);

  SpaceSearchResult result;

private:
  using Clock = std::chrono::steady_clock;

  SpaceStates &states;
  std::vector<Configuration> &trail;
  const SpaceSearchOptions &options;
  Clock::time_point start;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_INCUMBENT_H
