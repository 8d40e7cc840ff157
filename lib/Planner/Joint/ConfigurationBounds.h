//===- ConfigurationBounds.h - What steps take at least ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H
#define PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H

#include "SpaceStates.h"

#include <optional>

namespace parplan {

/// What is known of a configuration; see the levels in SpaceSearch.h. Those
/// from `variables` on are raised by the state of a space, which no other
/// thread has then.
enum class BoundLevel {
  none,
  scaled,
  known,
  relaxed,
  ops,
  variables,
  blocks,
  memory,
  path,
  plan
};

inline BoundLevel getNext(BoundLevel level) {
  return static_cast<BoundLevel>(static_cast<int>(level) + 1);
}

/// True if a state raises what is at this level.
inline bool isOfState(BoundLevel level) {
  return level >= BoundLevel::variables && level < BoundLevel::path;
}

/// True if what is at this level is raised, or planned, with no more than its
/// state.
inline bool needsState(BoundLevel level) {
  return isOfState(level) || level == BoundLevel::path;
}

/// What takes long about raising a configuration from this level. Nullopt: the
/// search does not wait for it.
std::optional<SpaceSource::Next> getLongWork(BoundLevel level);

/// Bounds of the step of a configuration, the cheapest first. Infinity: the
/// space or the schedule is impossible, or the bound is above `cutoff`.
class ConfigurationBounds {
public:
  /// The states stay.
  explicit ConfigurationBounds(SpaceStates &states) : states(states) {}

  /// The busiest position works as long as the mean.
  double getWork(const Configuration &configuration);
  /// Without networks of its own.
  double getEarly(const Configuration &configuration, double cutoff);
  /// With a cutoff what ops take within the memory; where that is less, what
  /// networks of blocks take whatever memory there is.
  double getBlocks(const Configuration &configuration, double cutoff);

  /// What the level after `level`, which is not of a state, says; 0: nothing.
  double getNextBound(const Configuration &configuration, BoundLevel level,
                      double cutoff);
  /// The same of a level of states, perhaps beside other states.
  static double getNextBoundOfState(SpaceState &state,
                                    const ScheduleShape &shape,
                                    BoundLevel level, double cutoff);

private:
  /// What all devices need together, or, of its own, ops on the mesh.
  /// `countsWaiting` as in `raiseCut`.
  double getLeast(const Configuration &configuration, bool isOwn, double cutoff,
                  bool countsWaiting = true);
  double getRelaxed(const Configuration &configuration, bool isOfKnown,
                    double cutoff);
  /// Of ops with their parameters, gradients and updates.
  double getOfVariables(const Configuration &configuration, double cutoff);

  SpaceStates &states;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H
