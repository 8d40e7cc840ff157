//===- ShardingRuleTest.cpp - What follows from a factor assignment -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "parplan/Sharding/ShardingRule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// mk,kn->mn
ShardingRule getMatmulRule(int64_t m, int64_t k, int64_t n) {
  ShardingRule rule;
  rule.factors = {{"m", m, FactorKind::parallel},
                  {"k", k, FactorKind::reduceSum},
                  {"n", n, FactorKind::parallel}};
  rule.operands = {{{0}, {1}}, {{1}, {2}}};
  rule.results = {{{0}, {2}}};
  rule.linearity = Linearity::separately;
  return rule;
}

/// A sum of x[b,d] and bias[d].
ShardingRule getBiasRule(int64_t b, int64_t d) {
  ShardingRule rule;
  rule.factors = {{"b", b}, {"d", d}};
  rule.operands = {{{0}, {1}}, {{1}}};
  rule.results = {{{0}, {1}}};
  rule.linearity = Linearity::jointly;
  return rule;
}

/// Query heads h = g*r of x[s,h] to y[s,g].
ShardingRule getGroupedRule(int64_t g, int64_t r) {
  ShardingRule rule;
  rule.factors = {{"s", 6}, {"g", g}, {"r", r, FactorKind::reduceSum}};
  rule.operands = {{{0}, {1, 2}}};
  rule.results = {{{0}, {1}}};
  rule.linearity = Linearity::jointly;
  return rule;
}

/// An update p', s' of p[a,b], g[a,b] and s[a,b] by a scalar.
ShardingRule getUpdateRule(int64_t a, int64_t b) {
  ShardingRule rule;
  rule.factors = {{"a", a}, {"b", b}};
  rule.operands = {{{0}, {1}}, {{0}, {1}}, {{0}, {1}}, {}};
  rule.results = {{{0}, {1}}, {{0}, {1}}};
  rule.flat = true;
  return rule;
}

/// The sum over the elements of x[a,b].
ShardingRule getTotalRule(int64_t a, int64_t b) {
  ShardingRule rule;
  rule.factors = {{"a", a, FactorKind::reduceSum},
                  {"b", b, FactorKind::reduceSum}};
  rule.operands = {{{0}, {1}}};
  rule.results = {{}};
  rule.flat = true;
  return rule;
}

ShardingRule getMaximumRule() {
  ShardingRule rule;
  rule.factors = {{"m", 8}, {"k", 8, FactorKind::reduceMax}};
  rule.operands = {{{0}, {1}}};
  rule.results = {{{0}}};
  return rule;
}

/// `m:x k:y,z` with the axes of every factor.
FactorAssignment assign(const ShardingRule &rule, const Mesh &mesh,
                        llvm::StringRef text, llvm::StringRef pending = "") {
  auto assignment = FactorAssignment::getReplicated(rule);
  while (!text.empty()) {
    auto [word, rest] = text.split(' ');
    auto [factor, axes] = word.split(':');
    llvm::SmallVector<llvm::StringRef> names;
    axes.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (llvm::StringRef name : names)
      assignment.axes[*rule.findFactor(factor)].push_back(*mesh.findAxis(name));
    text = rest;
  }
  if (!pending.empty())
    assignment.pending = makeAxes(pending, mesh);
  return assignment;
}

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

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Panels (S21)
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

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
