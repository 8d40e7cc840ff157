//===- ConfigurationBounds.cpp - What steps take at least -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ConfigurationBounds.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Never.h"

#include <algorithm>

using namespace parplan;

std::optional<SpaceSource::Next> parplan::getLongWork(BoundLevel level) {
  using Next = SpaceSource::Next;
  switch (level) {
  case BoundLevel::none:
    return std::nullopt;
  case BoundLevel::scaled:
    return Next::perhapsRelaxed;
  case BoundLevel::known:
    return Next::relaxed;
  case BoundLevel::relaxed:
    return Next::least;
  case BoundLevel::ops:
    return Next::variables;
  case BoundLevel::variables:
  case BoundLevel::blocks:
  case BoundLevel::memory:
  case BoundLevel::path:
  case BoundLevel::plan:
    return Next::model;
  }
  PARPLAN_UNREACHABLE("no level");
}

double ConfigurationBounds::getNextBound(const Configuration &configuration,
                                         BoundLevel level, double cutoff) {
  switch (level) {
  case BoundLevel::none:
    return getLeast(configuration, /*isOwn=*/false, cutoff);
  case BoundLevel::scaled:
    return getRelaxed(configuration, /*isOfKnown=*/true, cutoff);
  case BoundLevel::known:
    return getRelaxed(configuration, /*isOfKnown=*/false, cutoff);
  case BoundLevel::relaxed:
    return getLeast(configuration, /*isOwn=*/true, cutoff);
  case BoundLevel::ops:
    return getOfVariables(configuration, cutoff);
  case BoundLevel::variables:
  case BoundLevel::blocks:
  case BoundLevel::memory:
  case BoundLevel::path:
  case BoundLevel::plan:
    break;
  }
  PARPLAN_UNREACHABLE("a level of states");
}

double ConfigurationBounds::getNextBoundOfState(SpaceState &state,
                                                const ScheduleShape &shape,
                                                BoundLevel level,
                                                double cutoff) {
  switch (level) {
  case BoundLevel::variables:
    return state.getBlockBound(shape, cutoff);
  case BoundLevel::blocks:
    return state.getMemoryBound(shape, cutoff);
  case BoundLevel::memory:
    return state.getPathBound(shape, cutoff);
  case BoundLevel::none:
  case BoundLevel::scaled:
  case BoundLevel::known:
  case BoundLevel::relaxed:
  case BoundLevel::ops:
  case BoundLevel::path:
  case BoundLevel::plan:
    break;
  }
  PARPLAN_UNREACHABLE("a level without states");
}

double ConfigurationBounds::getWork(const Configuration &configuration) {
  SpaceStates::Least &least = states.getLeast(configuration, /*isOwn=*/false);
  if (!least.state || !least.state->fits(configuration.shape))
    return never;
  Weights weights;
  auto batches = static_cast<double>(configuration.microBatches);
  weights.forward = weights.inputGradient = weights.weightGradient = batches;
  return weights.get(least.sum) /
         static_cast<double>(configuration.shape.positions);
}

double ConfigurationBounds::getLeast(const Configuration &configuration,
                                     bool isOwn, double cutoff,
                                     bool countsWaiting) {
  SpaceStates::Least &least = states.getLeast(configuration, isOwn);
  if (!least.state)
    return never;
  return least.state->getMemoryBound(configuration.shape, cutoff,
                                     countsWaiting);
}

double ConfigurationBounds::getRelaxed(const Configuration &configuration,
                                       bool isOfKnown, double cutoff) {
  SpaceState *state = states.getRelaxed(configuration, isOfKnown);
  return state ? state->getBlockBound(configuration.shape, cutoff) : 0;
}

double ConfigurationBounds::getOfVariables(const Configuration &configuration,
                                           double cutoff) {
  SpaceState *state = states.getOfVariables(configuration);
  if (!state)
    return 0;
  double bound = state->getBlockBound(configuration.shape, cutoff);
  return bound >= cutoff
             ? bound
             : std::max(bound,
                        state->getMemoryBound(configuration.shape, cutoff,
                                              /*countsWaiting=*/false));
}

double ConfigurationBounds::getEarly(const Configuration &configuration,
                                     double cutoff) {
  double bound = getWork(configuration);
  for (bool isOfKnown : {true, false})
    if (bound < cutoff)
      bound = std::max(bound, getRelaxed(configuration, isOfKnown, cutoff));
  return bound;
}

double ConfigurationBounds::getBlocks(const Configuration &configuration,
                                      double cutoff) {
  // Without a plan nothing is closed, and no bound within the memory ends soon.
  double bound = 0;
  if (cutoff < never)
    bound = getLeast(configuration, /*isOwn=*/true, cutoff,
                     /*countsWaiting=*/false);
  if (bound >= cutoff)
    return bound;
  SpaceState *state = states.get(configuration);
  return state ? std::max(bound,
                          state->getBlockBound(configuration.shape, cutoff))
               : never;
}
