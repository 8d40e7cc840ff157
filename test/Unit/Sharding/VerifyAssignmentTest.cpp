//===- VerifyAssignmentTest.cpp - Which factor assignments are legal ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestRules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;
using testing::HasSubstr;

namespace {

std::string getFault(const ShardingRule &rule, FactorAssignment assignment,
                     const Mesh &mesh) {
  return verifyAssignment(rule, assignment, mesh).value_or("legal");
}

TEST(VerifyAssignment, S2OneListPerFactorAndAxesOfTheMesh) {
  Mesh mesh = makeMesh("x=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  EXPECT_EQ(getFault(rule, {}, mesh), "S2: 0 axis lists for 3 factors");
  FactorAssignment assignment = assign(rule, mesh, "");
  assignment.axes[1] = {4};
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S2: the mesh of 1 axes has no axis 4");
  assignment = assign(rule, mesh, "");
  assignment.pending = {-1};
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S2: the mesh of 1 axes has no axis -1");
}

TEST(VerifyAssignment, S7AxisIsOnOneFactor) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "m:x k:x"), mesh),
            "S7: axis 'x' is on the factors 'm' and 'k'");
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "m:x,x"), mesh),
            "S1: axis 'x' is twice on factor 'm'");
  rule.factors[2].kind = FactorKind::blocked;
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "n:y"), mesh),
            "S7: factor 'n' is blocked and carries axis 'y'");
}

TEST(VerifyAssignment, S8PendingValuesAreForLinearOps) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getMatmulRule(8, 8, 8);
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "m:x", "x"), mesh),
            "S8: axis 'x' is pending and on factor 'm'");
  FactorAssignment assignment = assign(rule, mesh, "", "x");
  assignment.pending.push_back(0);
  EXPECT_EQ(getFault(rule, assignment, mesh), "S1: axis 'x' is pending twice");
  assignment = assign(rule, mesh, "", "x");
  assignment.pendingOperand = 2;
  EXPECT_EQ(getFault(rule, assignment, mesh), "S8: pending operand 2 of 2");
  rule.linearity = Linearity::none;
  EXPECT_THAT(getFault(rule, assign(rule, mesh, "", "x"), mesh),
              HasSubstr("S8: the op is not linear"));
}

TEST(VerifyAssignment, S6OnlyFlatOpsAreStored) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getUpdateRule(8, 8);
  FactorAssignment assignment = assign(rule, mesh, "a:y");
  assignment.storage = {0, 1};
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S1: axis 'y' is stored and on factor 'a'");
  assignment.storage = {0, 0};
  EXPECT_EQ(getFault(rule, assignment, mesh), "S1: axis 'x' is stored twice");
  assignment.storage = {2};
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S2: the mesh of 2 axes has no axis 2");
  assignment.storage = {0};
  assignment.pending = {0};
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S1: axis 'x' is stored and pending");
  assignment.pending.clear();
  rule.flat = false;
  EXPECT_EQ(getFault(rule, assignment, mesh),
            "S6: the op reads whole blocks, not stored pieces");
}

TEST(VerifyAssignment, S8ResultHasOneKindOfPendingReduction) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getMaximumRule();
  rule.factors.push_back({"j", 4, FactorKind::reduceSum});
  rule.operands[0].push_back({2});
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "k:x j:y"), mesh),
            "S8: result 0 would be pending as sum and max");
  EXPECT_EQ(getFault(rule, assign(rule, mesh, "k:x m:y"), mesh), "legal");
}

TEST(VerifyAssignment, S10CompoundDimensionsStayContiguous) {
  Mesh mesh = makeMesh("x=2 y=3 z=2");
  struct {
    int64_t g, r;
    const char *factors, *fault;
  } cases[] = {
      {2, 4, "g:x", "legal"},
      {2, 4, "g:x r:z", "legal"},
      {2, 4, "r:z", "is not split fully"},
      {4, 4, "g:x r:z", "factor 'g' before it"},
      {4, 4, "g:y", "axes of width 3 do not divide factor 'g' of size 4"},
      {1, 4, "r:x,z", "legal"},
      {2, 4, "g:x r:y", "axes of width 3 do not divide factor 'r'"},
      {4, 2, "g:x,z r:y", "axes of width 3 do not divide factor 'r'"},
      {5, 7, "s:x", "legal"},
  };
  for (const auto &entry : cases) {
    ShardingRule rule = getGroupedRule(entry.g, entry.r);
    EXPECT_THAT(getFault(rule, assign(rule, mesh, entry.factors), mesh),
                HasSubstr(entry.fault))
        << entry.g << "*" << entry.r << " " << entry.factors;
  }
}

TEST(VerifyRule, SizesAreProductsOfFactors) {
  ShardingRule rule = getGroupedRule(2, 4);
  auto getRuleFault = [&](llvm::SmallVector<int64_t> operand,
                          llvm::SmallVector<int64_t> result) {
    return verifyRule(rule, {operand}, {result}).value_or("legal");
  };
  EXPECT_EQ(getRuleFault({6, 8}, {6, 2}), "legal");
  EXPECT_EQ(getRuleFault({6, 9}, {6, 2}),
            "dimension 1 of operand 0 has size 9, its factors 8");
  EXPECT_EQ(getRuleFault({6}, {6, 2}),
            "operand 0 has 1 dimensions, its rule 2");
  rule.results[0][1] = {};
  EXPECT_EQ(getRuleFault({6, 8}, {6, 1}), "legal");
  rule.results[0][1] = {0};
  EXPECT_EQ(getRuleFault({6, 8}, {6, 6}),
            "result 0 is indexed twice by factor 's'");
  rule.results[0][1] = {3};
  EXPECT_EQ(getRuleFault({6, 8}, {6, 6}),
            "result 0 is indexed by factor 3 of 3");
  EXPECT_EQ(verifyRule(rule, {}, {}), "the rule has 1 operands, the op 0");
  rule.factors[2].name = "g";
  EXPECT_EQ(getRuleFault({6, 8}, {6, 2}), "two factors are named 'g'");
  rule.factors[2] = {"r", -1};
  EXPECT_EQ(getRuleFault({6, 8}, {6, 2}), "factor 'r' has size -1");
}

} // namespace
