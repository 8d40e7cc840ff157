//===- SpaceStates.cpp - What is known of the spaces of a source ----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "SpaceStates.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

void SpaceStates::setMemoryLimit(double bytes, double spare) {
  memoryLimitBytes = bytes;
  spareBytes = spare;
  for (auto &[key, least] : leasts)
    if (least.state)
      least.state->setMemoryLimit(bytes, spare);
  for (auto *all : {&states, &ofVariables, &relaxed[false], &relaxed[true]})
    for (auto &[place, state] : *all)
      if (state)
        state->setMemoryLimit(bytes, spare);
}

std::unique_ptr<SpaceState>
SpaceStates::makeState(std::unique_ptr<SpaceModel> model,
                       const Configuration &configuration) {
  auto [space, count] =
      std::pair(configuration.space, configuration.microBatches);
  return std::make_unique<SpaceState>(
      std::move(model), memoryLimitBytes, spareBytes,
      source.getLeastMessageSeconds(space, count), source.getInfo(space));
}

SpaceState *SpaceStates::get(const Configuration &configuration) {
  auto [it, isNew] = states.try_emplace(
      std::pair(configuration.space, configuration.microBatches));
  if (isNew)
    if (auto model =
            source.make(configuration.space, configuration.microBatches))
      it->second = makeState(std::move(model), configuration);
  SpaceState *state = it->second.get();
  if (state)
    noteUse(state);
  return state;
}

/// Made, begun or of no use.
bool SpaceStates::isKnown(const Configuration &configuration,
                          SpaceSource::Next next) const {
  auto [space, count] =
      std::pair(configuration.space, configuration.microBatches);
  if (prepared.count({space, count, next}) > 0)
    return true;
  switch (next) {
  case SpaceSource::Next::perhapsRelaxed:
  case SpaceSource::Next::relaxed:
    return relaxed[false].count({space, count}) > 0;
  case SpaceSource::Next::least:
    return leasts.count({space, count, /*isOwn=*/true}) > 0;
  case SpaceSource::Next::variables:
    return ofVariables.count({space, count}) > 0 ||
           !saysOfVariables(configuration);
  case SpaceSource::Next::model:
    return states.count({space, count}) > 0;
  }
  PARPLAN_UNREACHABLE("nothing comes next");
}

bool SpaceStates::prepare(const Configuration &configuration,
                          SpaceSource::Next next) {
  if (isKnown(configuration, next))
    return true;
  if (!source.prepare(configuration.space, configuration.microBatches, next))
    return false;
  prepared.insert({configuration.space, configuration.microBatches, next});
  return true;
}

void SpaceStates::prepareLater(const Configuration &configuration,
                               SpaceSource::Next next) {
  if (!isKnown(configuration, next))
    source.prepareLater(configuration.space, configuration.microBatches, next);
}

SpaceState *SpaceStates::getRelaxed(const Configuration &configuration,
                                    bool isOfKnown) {
  auto [it, isNew] = relaxed[isOfKnown].try_emplace(
      std::pair(configuration.space, configuration.microBatches));
  if (isNew)
    if (auto model = source.makeRelaxed(configuration.space,
                                        configuration.microBatches, isOfKnown))
      it->second = makeState(std::move(model), configuration);
  return it->second.get();
}

/// Of what has a model there are better bounds.
bool SpaceStates::saysOfVariables(const Configuration &configuration) const {
  auto [space, count] =
      std::pair(configuration.space, configuration.microBatches);
  return states.count({space, count}) == 0 &&
         source.getUnspreadBytes(space, count) > memoryLimitBytes;
}

SpaceState *SpaceStates::getOfVariables(const Configuration &configuration) {
  if (!saysOfVariables(configuration))
    return nullptr;
  auto [it, isNew] = ofVariables.try_emplace(
      std::pair(configuration.space, configuration.microBatches));
  if (isNew)
    if (auto model = source.makeOfVariables(configuration.space,
                                            configuration.microBatches))
      it->second = makeState(std::move(model), configuration);
  return it->second.get();
}

/// States are many and large.
void SpaceStates::noteUse(SpaceState *state) {
  llvm::erase(recent, state);
  recent.push_back(state);
  if (recent.size() <= mostRecent)
    return;
  recent.front()->forget();
  recent.erase(recent.begin());
}

SpaceStates::Least &SpaceStates::getLeast(const Configuration &configuration,
                                          bool isOwn) {
  auto [it, isNew] = leasts.try_emplace(
      std::tuple(configuration.space, configuration.microBatches, isOwn));
  Least &least = it->second;
  if (!isNew)
    return least;
  SpaceSource::LeastModel model =
      isOwn ? source.getLeast(configuration.space, configuration.microBatches)
            : source.getLeastOfAll(configuration.space,
                                   configuration.microBatches);
  if (model.units.empty())
    return least;
  auto space = std::make_unique<LeastSpace>(model);
  least.sum = space->getSum();
  least.state = makeState(std::move(space), configuration);
  return least;
}

bool SpaceStates::isTooLongWithFewer(const Configuration &configuration,
                                     double cutoff) {
  auto begin = states.lower_bound({configuration.space, 0});
  auto end =
      states.lower_bound({configuration.space, configuration.microBatches});
  return std::any_of(begin, end, [&](const auto &entry) {
    ScheduleShape shape = configuration.shape;
    shape.microBatches = entry.first.second;
    if (!entry.second || configuration.microBatches % shape.microBatches != 0)
      return false;
    double share = source.getLeastShare(configuration.space, shape.microBatches,
                                        configuration.microBatches);
    // Of sums that may differ in their last digits.
    share *= 1 - 1e-9;
    return share > 0 &&
           entry.second->getWorkBound(shape, cutoff / share) >= cutoff / share;
  });
}

int64_t SpaceStates::getCallCount() const {
  int64_t count = 0;
  for (const auto *all :
       {&states, &ofVariables, &relaxed[false], &relaxed[true]})
    for (const auto &[place, state] : *all)
      if (state)
        count += state->getCallCount();
  return count;
}
