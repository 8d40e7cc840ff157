//===- Climb.h - A good plan early ------------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CLIMB_H
#define PARPLAN_LIB_PLANNER_CLIMB_H

#include "ConfigurationBounds.h"
#include "Incumbent.h"

#include <optional>
#include <set>

namespace parplan {

/// Some plan early, and from there to better ones: without a plan no bound is
/// ever too high, and to have bounds of all that is open takes longest.
class Climb {
public:
  /// All of them stay. `trail`: what had the best plans of searches with more
  /// memory.
  Climb(SpaceSource &source, SpaceStates &states, Incumbent &incumbent,
        const std::vector<Configuration> &trail,
        const SpaceSearchOptions &options)
      : source(source), states(states), bounds(states), incumbent(incumbent),
        trail(trail), options(options) {}

  /// From the seeds to what is better near them: other schedules on their
  /// meshes, then, near the best, other numbers of micro-batches, and other
  /// meshes; and at last other cuts.
  void run();

  /// What a plan takes that was looked for with other cuts than equal ones,
  /// too; infinity: none fits. Nullopt: it was not.
  std::optional<double> getPlanned(const Configuration &configuration) const;

private:
  /// With the seconds of a bound or a plan.
  using Timed = std::vector<std::pair<double, Configuration>>;
  static void sortBySeconds(Timed &configurations);

  /// The rest of the time is for bounds.
  bool isClimbOver() const;
  /// Of those that seem as good the ones with the lowest bounds first.
  std::vector<SpaceSource::Seed> getSeeds();
  /// The same space with up to twice as many micro-batches, or half as many, as
  /// long as that share of the time is not over.
  void tryOtherCounts(SpaceSource::Place place, double share);
  /// Of equal cuts alone; seeds stay open. On one position other numbers of
  /// micro-batches follow at once.
  void startWithSeeds();
  /// The places with the lowest bounds first, and of a place the schedules:
  /// their plans close others.
  void trySchedules(llvm::ArrayRef<SpaceSource::Place> places);
  void tryPlace(Timed configurations);
  /// Other cuts, of what is near the best with equal ones.
  void planNearBest();
  /// True if there is a plan that fits.
  bool planSeed(const Configuration &configuration, bool isQuick);
  /// The same of what is possible, and fast enough without its memory.
  bool planWithin(const Configuration &configuration, bool isQuick);

  SpaceSource &source;
  SpaceStates &states;
  ConfigurationBounds bounds;
  Incumbent &incumbent;
  const std::vector<Configuration> &trail;
  const SpaceSearchOptions &options;
  /// Places whose schedules have been tried.
  std::set<std::pair<int, int64_t>> tried;
  /// Where seeds have plans.
  std::vector<SpaceSource::Place> seeds;
  /// Plans that fit and began from equal cuts.
  Timed climbed;
  /// Where others were looked for, too; infinity: no plan fits.
  Timed planned;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CLIMB_H
