//===- ReshardOracle.h - Reshards by exhaustive search ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SHARDING_RESHARDORACLE_H
#define PARPLAN_TEST_UNIT_SHARDING_RESHARDORACLE_H

#include "parplan/Sharding/Sharding.h"

namespace parplan::test {

struct OracleCost {
  bool found = false;
  int64_t ringElementsAllRanks = 0;
  int64_t calls = 0;

  auto operator<=>(const OracleCost &other) const = default;
};

/// The least ring elements, then calls, by Dijkstra's algorithm over all
/// shardings that the moves of docs/spec.md reach: no bound, no reduction of
/// the mesh, every order of axes. Written from the table, not from the search.
OracleCost findLeastCost(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                         const Sharding &from, const Sharding &to);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SHARDING_RESHARDORACLE_H
