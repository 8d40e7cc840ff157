//===- Climb.cpp - A good plan early --------------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Climb.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace parplan;

/// Of the time, for all of the climb, and for its seeds once there is a plan.
static constexpr double climbShare = 0.6, seedShare = 0.25;

void Climb::sortBySeconds(Timed &configurations) {
  llvm::stable_sort(configurations, llvm::less_first());
}

bool Climb::isClimbOver() const {
  return incumbent.isOver(climbShare * options.timeBudgetSeconds);
}

void Climb::run() {
  startWithSeeds();
  trySchedules(seeds);
  double before = never;
  while (incumbent.getBest() < before) {
    before = incumbent.getBest();
    Configuration best = incumbent.getConfiguration();
    trySchedules({{best.space, best.microBatches}});
    tryOtherCounts({best.space, best.microBatches}, climbShare);
    if (incumbent.getBest() == before)
      trySchedules(source.getNeighbours({best.space, best.microBatches}));
  }
  planNearBest();
}

std::vector<SpaceSource::Seed> Climb::getSeeds() {
  constexpr double nearby = 0.01;
  std::vector<SpaceSource::Seed> all =
      source.getSeeds(options.memoryLimitBytes);
  std::vector<std::pair<double, SpaceSource::Seed>> near;
  for (const SpaceSource::Seed &seed : all)
    if (seed.distance <= all.front().distance + nearby && !isClimbOver())
      near.emplace_back(
          bounds.getEarly({seed.space, seed.shape.microBatches, seed.shape},
                          incumbent.getCutoff()),
          seed);
  llvm::stable_sort(near, llvm::less_first());
  for (auto [seed, bounded] : llvm::zip(all, near))
    seed = bounded.second;
  return all;
}

void Climb::startWithSeeds() {
  constexpr int mostPlans = 2;
  int plans = 0;
  // All is known of these but for their plans in this much memory.
  for (const Configuration &configuration : std::vector(trail))
    planSeed(configuration, /*isQuick=*/true);
  std::vector<SpaceSource::Seed> all = getSeeds();
  for (auto [number, seed] : llvm::enumerate(all)) {
    // Without a plan there is nothing to climb from.
    double share = plans == 0 ? climbShare : seedShare;
    if (incumbent.isOver(share * options.timeBudgetSeconds) ||
        plans == mostPlans)
      break;
    for (const SpaceSource::Seed &next :
         llvm::ArrayRef(all).drop_front(number + 1))
      if (!states.prepare({next.space, next.shape.microBatches, next.shape},
                          SpaceSource::Next::perhapsRelaxed))
        break;
    if (!planSeed({seed.space, seed.shape.microBatches, seed.shape},
                  /*isQuick=*/true))
      continue;
    seeds.push_back({seed.space, seed.shape.microBatches});
    ++plans;
    // There are no schedules to try, and the model of another space takes
    // longer to make.
    if (seed.shape.positions == 1) {
      tried.insert({seed.space, seed.shape.microBatches});
      tryOtherCounts(seeds.back(), seedShare);
    }
  }
}

void Climb::tryOtherCounts(SpaceSource::Place place, double share) {
  for (int64_t count : source.getCounts()) {
    if (incumbent.isOver(share * options.timeBudgetSeconds))
      return;
    if (count <= 2 * place.microBatches && place.microBatches <= 2 * count)
      trySchedules({{place.space, count}});
  }
}

void Climb::trySchedules(llvm::ArrayRef<SpaceSource::Place> places) {
  std::vector<std::pair<double, Timed>> all;
  for (auto [space, count] : places) {
    if (!tried.insert({space, count}).second)
      continue;
    Timed ofPlace;
    for (ScheduleShape shape : source.getShapes(space)) {
      if (isClimbOver())
        return;
      shape.microBatches = count;
      Configuration configuration = {space, count, shape};
      double bound = getRefusal(shape) ? never
                                       : bounds.getEarly(configuration,
                                                         incumbent.getCutoff());
      if (bound < incumbent.getCutoff())
        ofPlace.emplace_back(bound, configuration);
    }
    sortBySeconds(ofPlace);
    if (!ofPlace.empty())
      all.emplace_back(ofPlace.front().first, std::move(ofPlace));
  }
  llvm::stable_sort(all, llvm::less_first());
  for (size_t place = 0; place < all.size(); ++place) {
    for (size_t next = place + 1; next < all.size(); ++next)
      if (all[next].first < incumbent.getCutoff() &&
          !states.prepare(all[next].second.front().second,
                          SpaceSource::Next::model))
        break;
    tryPlace(std::move(all[place].second));
  }
}

void Climb::tryPlace(Timed configurations) {
  for (auto &[bound, configuration] : configurations) {
    if (isClimbOver())
      return;
    if (bound < incumbent.getCutoff())
      bound = std::max(bound,
                       bounds.getBlocks(configuration, incumbent.getCutoff()));
  }
  sortBySeconds(configurations);
  // Bounds without memory let all weight gradients wait.
  std::stable_partition(configurations.begin(), configurations.end(),
                        [](const auto &entry) {
                          return !splitsBackward(entry.second.shape.kind);
                        });
  for (const auto &[bound, configuration] : configurations)
    if (bound < incumbent.getCutoff() && !isClimbOver())
      planWithin(configuration, /*isQuick=*/true);
}

void Climb::planNearBest() {
  constexpr size_t mostPlans = 4;
  constexpr double nearby = 1.02;
  Timed near = std::exchange(climbed, {});
  sortBySeconds(near);
  near.resize(std::min(near.size(), mostPlans));
  double best = incumbent.getBest();
  for (const auto &[seconds, configuration] : near)
    if (configuration.shape.positions > 1 && seconds <= nearby * best &&
        !incumbent.isOver())
      planSeed(configuration, /*isQuick=*/false);
}

std::optional<double>
Climb::getPlanned(const Configuration &configuration) const {
  for (const auto &[seconds, known] : planned)
    if (known == configuration)
      return seconds;
  return std::nullopt;
}

bool Climb::planSeed(const Configuration &configuration, bool isQuick) {
  // What takes too long is sooner known than a plan is found.
  return bounds.getEarly(configuration, incumbent.getCutoff()) <
             incumbent.getCutoff() &&
         bounds.getBlocks(configuration, incumbent.getCutoff()) <
             incumbent.getCutoff() &&
         planWithin(configuration, isQuick);
}

bool Climb::planWithin(const Configuration &configuration, bool isQuick) {
  SpaceState *state = states.get(configuration);
  double cutoff = incumbent.getCutoff();
  auto isTooLong = [&](bool countsWaiting) {
    return state->getMemoryBound(configuration.shape, cutoff, countsWaiting) >=
           cutoff;
  };
  // What may wait takes far longer to say, and closes nothing without a plan.
  bool asksWaiting = splitsBackward(configuration.shape.kind) && cutoff < never;
  if (isTooLong(/*countsWaiting=*/false) ||
      (asksWaiting && isTooLong(/*countsWaiting=*/true)))
    return false;
  auto found =
      state->findPlan(configuration.shape, incumbent.getBest(), isQuick);
  double seconds = never;
  if (found && !found->plan.refusal && found->plan.excessBytes <= 0)
    seconds = found->plan.evaluation.stepTimeSeconds;
  if (!isQuick)
    planned.emplace_back(seconds, configuration);
  if (!found)
    return false;
  incumbent.countPlans(found->judged);
  if (seconds == never)
    return false;
  if (isQuick)
    climbed.emplace_back(seconds, configuration);
  incumbent.keepBetter(std::move(found->plan), configuration);
  return true;
}
