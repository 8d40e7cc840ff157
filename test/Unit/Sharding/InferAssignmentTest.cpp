//===- InferAssignmentTest.cpp - Assignments that read operands as they lie
//===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestRules.h"

#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;

namespace {

struct InferenceCase {
  const char *lhs, *rhs, *made;
};

TEST(InferAssignment, ReadsOperandsAsTheyLie) {
  Mesh mesh = makeMesh("x=2 y=2 z=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  const InferenceCase cases[] = {
      {"[{}, {}]", "[{}, {}]", "[{}, {}]"},
      {"[{x}, {}]", "[{}, {y}]", "[{x}, {y}]"},
      {"[{x}, {y}]", "[{y}, {z}]", "[{x}, {z}] partial=sum{y}"},
      // The first operand wins where they disagree.
      {"[{x}, {y}]", "[{z}, {x}]", "[{x}, {}] partial=sum{y}"},
      {"[{}, {}]", "[{z}, {x}]", "[{}, {x}] partial=sum{z}"},
      // S8: a pending operand stays pending, but not on a factor's axes.
      {"[{x}, {}] partial=sum{y}", "[{}, {}]", "[{x}, {}] partial=sum{y}"},
      {"[{}, {}] partial=sum{y}", "[{}, {y}]", "[{}, {y}]"},
      {"[{}, {}] partial=sum{x}", "[{}, {}] partial=sum{y}",
       "[{}, {}] partial=sum{x}"},
      {"[{}, {}] partial=max{x}", "[{}, {}]", "[{}, {}]"},
  };
  for (const InferenceCase &entry : cases) {
    FactorAssignment assignment = inferAssignment(
        rule, {makeSharding(entry.lhs, mesh), makeSharding(entry.rhs, mesh)},
        mesh);
    EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
    EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh), entry.made)
        << entry.lhs << " " << entry.rhs;
  }
}

TEST(InferAssignment, S9SumsArePendingOverTheUnion) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getBiasRule(8, 8);
  FactorAssignment assignment =
      inferAssignment(rule,
                      {makeSharding("[{}, {}] partial=sum{y}", mesh),
                       makeSharding("[{}] partial=sum{x}", mesh)},
                      mesh);
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh),
            "[{}, {}] partial=sum{x,y}");
}

TEST(InferAssignment, CompoundDimensionsHandTheirAxesOn) {
  Mesh mesh = makeMesh("x=2 y=2 z=3");
  struct {
    int64_t g, r;
    const char *operand, *use;
  } cases[] = {
      {4, 4, "[{}, {x,y}]", "[{}, {x,y}]"},
      {2, 4, "[{}, {x,y}]", "[{}, {x,y}]"},
      {2, 4, "[{}, {x,z}]", "[{}, {x}]"},
      {3, 4, "[{}, {x}]", "[{}, {}]"},
      {1, 4, "[{}, {y,x}]", "[{}, {y,x}]"},
  };
  for (const auto &entry : cases) {
    ShardingRule rule = getGroupedRule(entry.g, entry.r);
    FactorAssignment assignment =
        inferAssignment(rule, makeSharding(entry.operand, mesh), mesh);
    EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh), entry.use)
        << entry.g << "*" << entry.r;
  }
}

TEST(InferAssignment, S6FlatOpsTakeTheFirstStorage) {
  Mesh mesh = makeMesh("x=2 y=2 z=2");
  ShardingRule rule = getUpdateRule(8, 8);
  const struct {
    const char *parameter, *gradient, *use;
  } cases[] = {
      {"[{}, {}] stored={x}", "[{}, {}]", "[{}, {}] stored={x}"},
      {"[{}, {y}]", "[{}, {}] stored={x}", "[{}, {y}] stored={x}"},
      {"[{}, {}] stored={x}", "[{}, {}] stored={y}", "[{}, {}] stored={x}"},
      // What is split already is not stored too.
      {"[{x}, {}]", "[{}, {}] stored={y,x}", "[{x}, {}] stored={y}"},
      {"[{}, {}] stored={x}", "[{x}, {}]", "[{}, {}] stored={x}"},
  };
  for (const auto &entry : cases) {
    Sharding whole = makeSharding("[{}, {}]", mesh);
    FactorAssignment assignment = inferAssignment(
        rule,
        {makeSharding(entry.parameter, mesh),
         makeSharding(entry.gradient, mesh), whole, makeSharding("[]", mesh)},
        mesh);
    EXPECT_EQ(verifyAssignment(rule, assignment, mesh), std::nullopt);
    EXPECT_EQ(toString(getUseSharding(rule, assignment, 0), mesh), entry.use)
        << entry.parameter << " " << entry.gradient;
  }
  // Others read whole blocks.
  ShardingRule bias = getBiasRule(8, 8);
  FactorAssignment assignment = inferAssignment(
      bias,
      {makeSharding("[{}, {}] stored={x}", mesh), makeSharding("[{}]", mesh)},
      mesh);
  EXPECT_TRUE(assignment.storage.empty());
}

TEST(InferAssignment, BlockedFactorsStayWhole) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getBiasRule(8, 8);
  rule.factors[1].kind = FactorKind::blocked;
  FactorAssignment assignment = inferAssignment(
      rule, {makeSharding("[{x}, {y}]", mesh), makeSharding("[{y}]", mesh)},
      mesh);
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh), "[{x}, {}]");
}

TEST(InferAssignment, IsAlwaysLegal) {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    Mesh mesh = makeRandomMesh(random, 3);
    RandomShardingOptions options{/*partial=*/true, /*max=*/true};
    ShardingRule matmul = getMatmulRule(6, 5, 4);
    ShardingRule grouped =
        getGroupedRule(pick(random, 1, 6), pick(random, 1, 6));
    llvm::SmallVector<Sharding> operands = {
        makeRandomSharding(random, mesh, 2, options),
        makeRandomSharding(random, mesh, 2, options)};
    EXPECT_EQ(
        verifyAssignment(matmul, inferAssignment(matmul, operands, mesh), mesh),
        std::nullopt);
    EXPECT_EQ(verifyAssignment(
                  grouped, inferAssignment(grouped, operands[0], mesh), mesh),
              std::nullopt);
    ShardingRule total = getTotalRule(6, 5);
    total.linearity = Linearity::jointly;
    EXPECT_EQ(verifyAssignment(total, inferAssignment(total, operands[0], mesh),
                               mesh),
              std::nullopt);
  }
}

} // namespace
