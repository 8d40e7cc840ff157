//===- Incumbent.cpp - The best plan so far -------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Incumbent.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

double Incumbent::getBest() const {
  return result.plan ? result.plan->evaluation.stepTimeSeconds : never;
}

bool Incumbent::isOver(double seconds) const {
  if (options.stop && options.stop->load())
    return true;
  std::chrono::duration<double> used = Clock::now() - start;
  return used.count() >
         (result.plan ? seconds : std::max(seconds, options.patienceSeconds));
}

void Incumbent::keepBetter(JudgedPlan plan,
                           const Configuration &configuration) {
  if (plan.evaluation.stepTimeSeconds >= getBest())
    return;
  result.plan = std::move(plan);
  result.configuration = configuration;
  if (!llvm::is_contained(trail, configuration))
    trail.push_back(configuration);
}

double Incumbent::getWorkBound(const Configuration &configuration) {
  SpaceStates::Least &least = states.getLeast(configuration, /*isOwn=*/false);
  if (!least.state || !least.state->fits(configuration.shape))
    return never;
  Weights weights;
  auto batches = static_cast<double>(configuration.microBatches);
  weights.forward = weights.inputGradient = weights.weightGradient = batches;
  return weights.get(least.sum) /
         static_cast<double>(configuration.shape.positions);
}

double Incumbent::getRelaxedBound(const Configuration &configuration,
                                  bool isOfKnown) {
  SpaceState *state = states.getRelaxed(configuration, isOfKnown);
  return state ? state->getBlockBound(configuration.shape, getCutoff()) : 0;
}

double Incumbent::getEarlyBound(const Configuration &configuration) {
  double bound = getWorkBound(configuration);
  for (bool isOfKnown : {true, false})
    if (bound < getCutoff())
      bound = std::max(bound, getRelaxedBound(configuration, isOfKnown));
  return bound;
}

double Incumbent::getBlockBound(const Configuration &configuration) {
  SpaceState *state = states.get(configuration);
  return state ? state->getBlockBound(configuration.shape, getCutoff()) : never;
}
