//===- BlockOracle.cpp - What a search asks of a block --------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/BlockOracle.h"

#include <algorithm>

using namespace parplan;

BlockOracle::Least BlockOracle::getLeast(const Weights &weights,
                                         ModeSet modes) {
  BoundaryMatrix matrix = minimise(weights, modes);
  auto entry = std::min_element(matrix.costs.begin(), matrix.costs.end());
  Least least;
  least.value = *entry;
  auto index = static_cast<int>(entry - matrix.costs.begin());
  if (auto plan = getPlan(weights, modes, index / matrix.outCount,
                          index % matrix.outCount))
    least.cost = plan->cost;
  return least;
}
