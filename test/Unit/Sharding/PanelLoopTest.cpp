//===- PanelLoopTest.cpp - Loops over panels (S21) ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestRules.h"

#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;

namespace {

/// `mk,kn->mn` with loops over all of its factors.
ShardingRule getPanelRule() {
  ShardingRule rule = getMatmulRule(6, 5, 4);
  rule.panelFactors = {0, 1, 2};
  return rule;
}

FactorAssignment getPanels(const ShardingRule &rule, AxisList m, AxisList n,
                           AxisList k, llvm::StringRef factor, AxisList axes) {
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  assignment.axes[*rule.findFactor("m")] = std::move(m);
  assignment.axes[*rule.findFactor("n")] = std::move(n);
  assignment.axes[*rule.findFactor("k")] = std::move(k);
  assignment.panels = {*rule.findFactor(factor), std::move(axes)};
  return assignment;
}

TEST(Panels, OfTheContractionLieSplitInBothOperands) {
  Mesh mesh = makeMesh("x=2 y=3");
  ShardingRule rule = getPanelRule();
  FactorAssignment summa = getPanels(rule, {0}, {1}, {}, "k", {0, 1});
  EXPECT_EQ(verifyAssignment(rule, summa, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, summa, 0), mesh), "[{x}, {y}]");
  EXPECT_EQ(toString(getUseSharding(rule, summa, 1), mesh), "[{x}, {y}]");
  EXPECT_EQ(toString(getMadeSharding(rule, summa, 0), mesh), "[{x}, {y}]");
}

TEST(Panels, OfAResultAreCompleteWhereTheyAreOwned) {
  Mesh mesh = makeMesh("x=2 y=3");
  ShardingRule rule = getPanelRule();
  FactorAssignment summa = getPanels(rule, {0}, {}, {1}, "n", {0, 1});
  EXPECT_EQ(verifyAssignment(rule, summa, mesh), std::nullopt);
  EXPECT_EQ(toString(getUseSharding(rule, summa, 0), mesh), "[{x}, {y}]");
  EXPECT_EQ(toString(getUseSharding(rule, summa, 1), mesh), "[{y}, {x}]");
  EXPECT_EQ(toString(getMadeSharding(rule, summa, 0), mesh), "[{x}, {y}]");
}

TEST(Panels, MoveOverTheirAxesAlone) {
  Mesh mesh = makeMesh("d=2 x=2 y=3");
  ShardingRule rule = getPanelRule();
  // Rows are also split over d, over which the weight is replicated.
  FactorAssignment summa = getPanels(rule, {0, 1}, {2}, {}, "k", {1, 2});
  EXPECT_EQ(toString(getUseSharding(rule, summa, 0), mesh), "[{d,x}, {y}]");
  EXPECT_EQ(toString(getUseSharding(rule, summa, 1), mesh), "[{x}, {y}]");
  // A contraction over d stays pending.
  FactorAssignment pending = getPanels(rule, {}, {2}, {0, 1}, "m", {1, 2});
  EXPECT_EQ(toString(getMadeSharding(rule, pending, 0), mesh),
            "[{x}, {y}] partial=sum{d}");
}

TEST(Panels, NeedAFactorThatTheOpCanLoopOver) {
  Mesh mesh = makeMesh("x=2 y=3");
  ShardingRule rule = getPanelRule();
  auto getFault = [&](const FactorAssignment &assignment) {
    return verifyAssignment(rule, assignment, mesh).value_or("");
  };
  EXPECT_EQ(getFault(getPanels(rule, {0}, {}, {1}, "k", {0})),
            "S21: factor 'k' is cut in panels and carries axes");
  EXPECT_EQ(getFault(getPanels(rule, {0}, {1}, {}, "k", {})),
            "S21: panels of factor 'k' without axes");
  EXPECT_EQ(getFault(getPanels(rule, {0}, {}, {}, "k", {0, 1})),
            "S21: panels move over axis 'y', which is on no other factor");
  FactorAssignment pending = getPanels(rule, {0}, {}, {}, "k", {0});
  pending.pending = {1};
  EXPECT_EQ(getFault(pending),
            "S21: an op with panels reads complete, whole blocks");
  FactorAssignment stray = FactorAssignment::getReplicated(rule);
  stray.panels.axes = {0};
  EXPECT_EQ(getFault(stray), "S21: axes of panels without their factor");
  rule.panelFactors = {};
  EXPECT_EQ(getFault(getPanels(rule, {0}, {1}, {}, "k", {0, 1})),
            "S21: the op has no loop over panels of factor 'k'");
}

TEST(Panels, ListEachAxisOnce) {
  Mesh mesh = makeMesh("x=2 y=3");
  ShardingRule rule = getPanelRule();
  EXPECT_EQ(verifyAssignment(
                rule, getPanels(rule, {0}, {1}, {}, "k", {0, 1, 0}), mesh),
            "S1: panels move twice over axis 'x'");
}

TEST(Panels, MoveATensor) {
  Mesh mesh = makeMesh("x=2 y=3 one=1");
  ShardingRule rule;
  rule.factors = {{"b", 6}, {"m", 6}, {"k", 5}, {"n", 4}};
  rule.factors[2].kind = FactorKind::reduceSum;
  rule.operands = {{{0}, {1}, {2}}, {{0}, {2}, {3}}};
  rule.results = {{{0}, {1}, {3}}};
  rule.panelFactors = {2};
  FactorAssignment loop = FactorAssignment::getReplicated(rule);
  // Both operands have the batch: each rank has all that it reads of k.
  loop.axes[0] = {0};
  loop.panels = {2, {0}};
  EXPECT_EQ(verifyAssignment(rule, loop, mesh),
            "S21: no tensor moves in panels of factor 'k'");
  loop.axes[1] = {1};
  EXPECT_EQ(verifyAssignment(rule, loop, mesh),
            "S21: no tensor moves in panels of factor 'k'");
  // Rows are only the left operand's, so the right one moves; also over an
  // axis of one rank.
  loop.panels.axes = {0, 1};
  EXPECT_EQ(verifyAssignment(rule, loop, mesh), std::nullopt);
  loop.axes[1] = {2};
  loop.panels.axes = {2};
  EXPECT_EQ(verifyAssignment(rule, loop, mesh), std::nullopt);
}

TEST(Panels, AreOfDimensionsWithOneFactor) {
  ShardingRule rule = getReshapeRule({4, 6}, {24});
  rule.panelFactors = {1};
  EXPECT_EQ(verifyRule(rule, {{4, 6}}, {{24}}),
            "factor 'f1' has panels and shares a dimension");
}

} // namespace
