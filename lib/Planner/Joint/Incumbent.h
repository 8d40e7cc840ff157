//===- Incumbent.h - The best plan so far -----------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_INCUMBENT_H
#define PARPLAN_LIB_PLANNER_INCUMBENT_H

#include "parplan/Planner/SpaceSearch.h"

#include <chrono>

namespace parplan {

/// The best plan of a search, how good others must be beside it, and how much
/// time is left.
class Incumbent {
public:
  /// All of them stay; `result` has the plan, `trail` gets the configurations
  /// that had the best one.
  Incumbent(SpaceSearchResult &result, std::vector<Configuration> &trail,
            const SpaceSearchOptions &options)
      : result(result), trail(trail), options(options), start(Clock::now()) {}

  /// Infinity: there is no plan.
  double getBest() const;
  const Configuration &getConfiguration() const { return result.configuration; }
  /// What takes so long is not looked at.
  double getCutoff() const { return getBest() * (1 - options.gap); }

  bool isOver() const { return isOver(options.timeBudgetSeconds); }
  /// As if there were so much time.
  bool isOver(double seconds) const;

  void countPlans(int64_t judged) { result.plans += judged; }
  /// True if it is the best now.
  bool keepBetter(JudgedPlan plan, const Configuration &configuration);

private:
  using Clock = std::chrono::steady_clock;

  SpaceSearchResult &result;
  std::vector<Configuration> &trail;
  const SpaceSearchOptions &options;
  Clock::time_point start;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_INCUMBENT_H
