//===- ShardingRuleTest.cpp - What follows from a factor assignment -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestRules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;

namespace {

struct LayoutCase {
  const char *factors, *lhs, *rhs, *made;
};

TEST(ShardingRule, S7MatmulLayoutsFollowFromTheFactors) {
  Mesh mesh = makeMesh("x=2 y=2 z=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  const LayoutCase cases[] = {
      {"", "[{}, {}]", "[{}, {}]", "[{}, {}]"},
      {"m:x", "[{x}, {}]", "[{}, {}]", "[{x}, {}]"},
      {"n:x", "[{}, {}]", "[{}, {x}]", "[{}, {x}]"},
      {"k:x", "[{}, {x}]", "[{x}, {}]", "[{}, {}] partial=sum{x}"},
      {"m:x n:y", "[{x}, {}]", "[{}, {y}]", "[{x}, {y}]"},
      {"m:x k:y n:z", "[{x}, {y}]", "[{y}, {z}]", "[{x}, {z}] partial=sum{y}"},
      {"k:z,x", "[{}, {z,x}]", "[{z,x}, {}]", "[{}, {}] partial=sum{x,z}"}};
  for (const LayoutCase &entry : cases) {
    FactorAssignment assignment = assign(rule, mesh, entry.factors);
    EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
    EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh), entry.lhs);
    EXPECT_EQ(toString(getUseSharding(rule, assignment, 1), mesh), entry.rhs);
    EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh), entry.made);
  }
}

TEST(ShardingRule, S7LocalWorkIsTheCeilingOfEveryFactor) {
  Mesh mesh = makeMesh("x=2 y=3");
  ShardingRule rule = getMatmulRule(5, 7, 4);
  EXPECT_THAT(getLocalFactorSizes(rule, assign(rule, mesh, "m:x,y"), mesh),
              ElementsAre(1, 7, 4));
}

TEST(ShardingRule, S8OneOperandOfAProductIsReadPending) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  FactorAssignment assignment = assign(rule, mesh, "k:y", "x");
  assignment.pendingOperand = 1;
  EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh), "[{}, {y}]");
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 1), mesh),
            "[{y}, {}] partial=sum{x}");
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[{}, {}] partial=sum{x,y}");
}

TEST(ShardingRule, S9AllTermsOfASumAreReadPending) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getBiasRule(8, 8);
  FactorAssignment assignment = assign(rule, mesh, "d:y", "x");
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 1), mesh),
            "[{y}] partial=sum{x}");
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[{}, {y}] partial=sum{x}");
}

TEST(ShardingRule, S6FlatOpsRunOnStoredPieces) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getUpdateRule(8, 8);
  FactorAssignment assignment = assign(rule, mesh, "b:y");
  assignment.storage = {0};
  EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
  for (int operand : {0, 1, 2})
    EXPECT_EQ(toString(getUseSharding(rule, assignment, operand), mesh),
              "[{}, {y}] stored={x}");
  for (int result : {0, 1})
    EXPECT_EQ(toString(getMadeSharding(rule, assignment, result), mesh),
              "[{}, {y}] stored={x}");
  // Scalars have neither axes nor storage.
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 3), mesh), "[]");
  // Whole blocks: the storage divides the work.
  EXPECT_THAT(getLocalFactorSizes(rule, assignment, mesh), ElementsAre(8, 4));
}

TEST(ShardingRule, S20ScalarsArePendingOverDimensionsAndStorage) {
  Mesh mesh = makeMesh("x=2 y=2 z=2");
  ShardingRule rule = getTotalRule(8, 8);
  FactorAssignment assignment = assign(rule, mesh, "b:z");
  assignment.storage = {1, 0};
  EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh),
            "[{}, {z}] stored={y,x}");
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[] partial=sum{x,y,z}");
}

TEST(ShardingRule, StoredSumsMayBePendingOverOtherAxes) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getUpdateRule(8, 8);
  rule.linearity = Linearity::jointly;
  FactorAssignment assignment = assign(rule, mesh, "", "y");
  assignment.storage = {0};
  EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 1), mesh),
            "[{}, {}] partial=sum{y} stored={x}");
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[{}, {}] partial=sum{y} stored={x}");
}

TEST(ShardingRule, MaximumIsPendingAsMaximum) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getMaximumRule();
  EXPECT_EQ(
      toString(getMadeSharding(rule, assign(rule, mesh, "m:y k:x"), 0), mesh),
      "[{y}] partial=max{x}");
}

TEST(ShardingRule, CompoundDimensionHasTheAxesOfItsFactorsInOrder) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getGroupedRule(2, 4);
  FactorAssignment assignment = assign(rule, mesh, "g:x r:y");
  EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh), "[{}, {x,y}]");
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[{}, {x}] partial=sum{y}");
}

TEST(ShardingRule, CoupledFactorsWithAxesNeedDecomposition) {
  Mesh mesh = makeMesh("x=2");
  ShardingRule rule = getBiasRule(8, 8);
  rule.factors[1].kind = FactorKind::coupled;
  EXPECT_FALSE(needsDecomposition(rule, assign(rule, mesh, "b:x")));
  EXPECT_TRUE(needsDecomposition(rule, assign(rule, mesh, "d:x")));
}

} // namespace
