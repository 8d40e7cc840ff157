//===- TestPaths.h - Paths of reshards as text ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SHARDING_TESTPATHS_H
#define PARPLAN_TEST_UNIT_SHARDING_TESTPATHS_H

#include "parplan/Sharding/Reshard.h"

namespace parplan::test {

/// Moves, then size and ring elements per rank of every call, as
/// `all_gather{x} dim 0 size 32 ring 16`.
std::string print(const ReshardPath &path, const Mesh &mesh);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SHARDING_TESTPATHS_H
