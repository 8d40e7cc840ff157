//===- TestMeshes.h - Meshes and shardings for tests ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SHARDING_TESTMESHES_H
#define PARPLAN_TEST_UNIT_SHARDING_TESTMESHES_H

#include "parplan/Sharding/Sharding.h"

#include <random>

namespace parplan::test {

/// `x=2 y=3` as a mesh.
Mesh makeMesh(llvm::StringRef text);

/// The sharding of a text that must parse and obey S1 and S2.
Sharding makeSharding(llvm::StringRef text, const Mesh &mesh);

/// Axes by name, separated by commas.
AxisList makeAxes(llvm::StringRef text, const Mesh &mesh);

using Random = std::mt19937;
int64_t pick(Random &random, int64_t first, int64_t last);

struct RandomShardingOptions {
  bool partial = false;
  bool max = false;
  bool storage = false;
};

/// Every axis at a random place and position.
Sharding makeRandomSharding(Random &random, const Mesh &mesh, size_t rank,
                            RandomShardingOptions options);

/// x, y, ... up to `maxAxes` axes of sizes 2 and 3.
Mesh makeRandomMesh(Random &random, int maxAxes);

/// The same with each axis n cut in two, 2n and 2n + 1.
Sharding cutAxes(Sharding sharding);

/// All shardings with every axis on a dimension or nowhere, in every order.
std::vector<Sharding> getCompleteShardings(const Mesh &mesh, size_t rank);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SHARDING_TESTMESHES_H
