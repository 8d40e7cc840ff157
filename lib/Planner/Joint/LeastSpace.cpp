//===- LeastSpace.cpp - A space before its oracles are made ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "LeastSpace.h"

#include "lib/Planner/Units/VectorNetwork.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

const SpaceSource::LeastUnit::Mode *
LeastOracle::findBest(const Weights &weights, ModeSet wanted) const {
  const SpaceSource::LeastUnit::Mode *best = nullptr;
  for (const SpaceSource::LeastUnit::Mode &mode : modes)
    if ((wanted >> mode.number & 1) != 0 &&
        (!best || weights.get(mode.cost) < weights.get(best->cost)))
      best = &mode;
  return best;
}

BoundaryMatrix LeastOracle::minimise(const Weights &weights, ModeSet wanted) {
  const SpaceSource::LeastUnit::Mode *best = findBest(weights, wanted);
  BoundaryMatrix matrix;
  matrix.costs = {best ? weights.get(best->cost) : BoundaryMatrix::impossible};
  return matrix;
}

std::optional<BlockPlan> LeastOracle::getPlan(const Weights &weights,
                                              ModeSet wanted, int /*in*/,
                                              int /*out*/) {
  const SpaceSource::LeastUnit::Mode *best = findBest(weights, wanted);
  if (!best)
    return std::nullopt;
  BlockPlan plan;
  plan.mode = best->number;
  plan.cost = best->cost;
  return plan;
}

/// Component by component.
static CostVector getLeast(const SpaceSource::LeastUnit &unit) {
  Components least = toComponents(unit.modes.front().cost);
  for (const SpaceSource::LeastUnit::Mode &mode : unit.modes)
    for (auto [one, other] : llvm::zip_equal(least, toComponents(mode.cost)))
      one = std::min(one, other);
  return toCost(least);
}

LeastSpace::LeastSpace(const SpaceSource::LeastModel &least)
    : fixedBytes(least.fixedBytes) {
  auto isEqual = [](const auto &one, const auto &other) {
    return one.number == other.number && one.cost == other.cost;
  };
  std::vector<const SpaceSource::LeastUnit *> distinct;
  for (const SpaceSource::LeastUnit &unit : least.units) {
    auto known = llvm::find_if(distinct, [&](const auto *other) {
      return std::equal(unit.modes.begin(), unit.modes.end(),
                        other->modes.begin(), other->modes.end(), isEqual);
    });
    auto number = static_cast<size_t>(known - distinct.begin());
    if (known == distinct.end()) {
      distinct.push_back(&unit);
      oracles.push_back(std::make_unique<LeastOracle>(unit.modes));
    }
    units.push_back({oracles[number].get(), unit.count, unit.isEnd});
    CostVector cost = getLeast(unit);
    for (int64_t time = 0; time < unit.count; ++time)
      sum += cost;
  }
}

JudgedPlan LeastSpace::judge(const std::vector<BlockPlan> & /*plans*/,
                             const StageChoice & /*stages*/,
                             double /*limitBytes*/) {
  PARPLAN_UNREACHABLE("nothing is planned before there are oracles");
}
