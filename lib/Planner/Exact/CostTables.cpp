//===- CostTables.cpp - Equal tables of costs are one ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/CostTables.h"

#include <bit>
#include <cstdint>

using namespace parplan;

static size_t hashCosts(const std::vector<double> &costs) {
  uint64_t hash = costs.size();
  for (double cost : costs) {
    // Zero has two forms.
    hash ^= std::bit_cast<uint64_t>(cost == 0 ? 0.0 : cost);
    hash *= 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

CostTable CostTables::find(size_t hash,
                           const std::vector<double> &costs) const {
  auto [first, last] = tables.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (*it->second == costs)
      return it->second.get();
  return base ? base->find(hash, costs) : nullptr;
}

CostTable CostTables::get(std::vector<double> costs) {
  size_t hash = hashCosts(costs);
  if (CostTable known = find(hash, costs))
    return known;
  auto added = tables.emplace(
      hash, std::make_unique<const std::vector<double>>(std::move(costs)));
  return added->second.get();
}
