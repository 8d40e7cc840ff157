//===- TestRules.h - Sharding rules of the tests ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SHARDING_TESTRULES_H
#define PARPLAN_TEST_UNIT_SHARDING_TESTRULES_H

#include "TestMeshes.h"

#include "parplan/Sharding/ShardingRule.h"

namespace parplan::test {

/// mk,kn->mn
ShardingRule getMatmulRule(int64_t m, int64_t k, int64_t n);

/// A sum of x[b,d] and bias[d].
ShardingRule getBiasRule(int64_t b, int64_t d);

/// Query heads h = g*r of x[s,h] to y[s,g].
ShardingRule getGroupedRule(int64_t g, int64_t r);

/// An update p', s' of p[a,b], g[a,b] and s[a,b] by a scalar.
ShardingRule getUpdateRule(int64_t a, int64_t b);

/// The sum over the elements of x[a,b].
ShardingRule getTotalRule(int64_t a, int64_t b);

ShardingRule getMaximumRule();

/// `m:x k:y,z` with the axes of every factor.
FactorAssignment assign(const ShardingRule &rule, const Mesh &mesh,
                        llvm::StringRef text, llvm::StringRef pending = "");

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SHARDING_TESTRULES_H
