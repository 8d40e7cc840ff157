//===- ConfigurationBounds.h - What steps take at least ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H
#define PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H

#include "SpaceStates.h"

namespace parplan {

/// Bounds of the step of a configuration, the cheapest first. Infinity: the
/// space or the schedule is impossible, or the bound is above `cutoff`.
class ConfigurationBounds {
public:
  /// The states stay.
  explicit ConfigurationBounds(SpaceStates &states) : states(states) {}

  /// The busiest position works as long as the mean.
  double getWork(const Configuration &configuration);
  /// What all devices need together, or, of its own, ops on the mesh.
  double getLeast(const Configuration &configuration, bool isOwn,
                  double cutoff);
  /// 0: nothing is known.
  double getRelaxed(const Configuration &configuration, bool isOfKnown,
                    double cutoff);
  /// Of ops with their parameters, gradients and updates. 0: nothing is known.
  double getOfVariables(const Configuration &configuration, double cutoff);
  /// Without networks of its own.
  double getEarly(const Configuration &configuration, double cutoff);
  /// Whatever memory there is.
  double getBlocks(const Configuration &configuration, double cutoff);

private:
  SpaceStates &states;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CONFIGURATIONBOUNDS_H
