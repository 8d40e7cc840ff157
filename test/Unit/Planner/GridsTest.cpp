//===- GridsTest.cpp - Tensor parallelism of more than one dimension ------===//

#include "TestProblems.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Panels.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <set>

using namespace parplan;
using namespace parplan::test;

namespace {

PlanRequest makeRequest(int64_t devices, ForcedGrid grid) {
  PlanRequest request;
  request.deviceCount = devices;
  request.memoryLimitBytes = int64_t(1) << 40;
  request.grid = std::move(grid);
  return request;
}

const ForcedGrid grid2x2 = {GridKind::grid2d, {2, 2}};
const ForcedGrid grid2x2x2 = {GridKind::grid3d, {2, 2, 2}};

/// A product of a sequence: [b, s, k] times [k, n].
PlanningProblem makeProduct(int64_t batch, int64_t sequence, int64_t inner,
                            int64_t columns) {
  ProblemBuilder builder;
  int x = builder.addTokens({batch, sequence, inner});
  int weight = builder.addParameter({inner, columns});
  builder.markOutput(builder.addContraction(x, "bsk", weight, "kn", "bsn"));
  return std::move(builder.problem);
}

TEST(Grids, CutUpToThreeAxesInAllWays) {
  EXPECT_TRUE(getGrids(makeMesh(4, 2)).empty());
  auto four = getGrids(makeMesh(1, 4));
  ASSERT_EQ(four.size(), 1u);
  EXPECT_EQ(four[0], (Grid{GridKind::grid2d, {{0}, {1}}}));
  auto eight = getGrids(makeMesh(2, 8));
  ASSERT_EQ(eight.size(), 4u);
  EXPECT_EQ(eight[0], (Grid{GridKind::grid2d, {{1}, {2, 3}}}));
  EXPECT_EQ(eight[1], (Grid{GridKind::grid2d, {{1, 2}, {3}}}));
  EXPECT_EQ(eight[2], (Grid{GridKind::grid2_5d, {{1}, {2}, {3}}}));
  EXPECT_EQ(eight[3], (Grid{GridKind::grid3d, {{1}, {2}, {3}}}));
}

TEST(Grids, CutMoreAxesEvenly) {
  auto grids = getGrids(makeMesh(1, 64));
  ASSERT_EQ(grids.size(), 3u);
  EXPECT_EQ(grids[0], (Grid{GridKind::grid2d, {{0, 1, 2}, {3, 4, 5}}}));
  EXPECT_EQ(grids[1], (Grid{GridKind::grid2_5d, {{0, 1}, {2, 3}, {4, 5}}}));
  EXPECT_EQ(grids[2], (Grid{GridKind::grid3d, {{0, 1}, {2, 3}, {4, 5}}}));
}

TEST(Grids, AreCutAsForced) {
  ForcedGrid forced{GridKind::grid2_5d, {2, 3, 4}};
  PlanRequest request = makeRequest(24, forced);
  auto meshes = getMeshes(makeProduct(8, 8, 8, 8), request);
  ASSERT_EQ(meshes.size(), 1u);
  // Depth, rows, columns; four in axes of two.
  ASSERT_EQ(meshes[0].getAxisCount(), 4);
  EXPECT_EQ(meshes[0].getAxis(0), (MeshAxis{"tp0", 2, AxisRole::tensor}));
  EXPECT_EQ(meshes[0].getAxis(3), (MeshAxis{"tp3", 3, AxisRole::tensor}));
  EXPECT_EQ(makeGrid(meshes[0], forced),
            (Grid{GridKind::grid2_5d, {{0, 1}, {2}, {3}}}));
}

std::set<std::string> getNames(const PlanningProblem &problem, int op,
                               const Mesh &mesh) {
  std::set<std::string> names;
  for (const FactorAssignment &assignment : getAssignments(
           problem.ops[op], mesh, getMeshAxes(problem, {mesh, getGrids(mesh)})))
    names.insert(
        stringifyAlgorithm(getAlgorithm(problem.ops[op], assignment, mesh))
            .str());
  return names;
}

TEST(Grids, OfferEveryAlgorithmToProducts) {
  PlanningProblem problem = makeProduct(8, 8, 8, 8);
  EXPECT_EQ(getNames(problem, 0, makeMesh(1, 4)),
            (std::set<std::string>{"replicate", "row", "column", "local",
                                   "gather2d", "summa2d"}));
  EXPECT_EQ(getNames(problem, 0, makeMesh(1, 8)),
            (std::set<std::string>{"replicate", "row", "column", "local",
                                   "gather2d", "summa2d", "2.5d", "3d"}));
}

TEST(Grids, PutRowsOnTheSequenceWhereTheBatchIsTooSmall) {
  PlanningProblem problem = makeProduct(/*batch=*/1, 8, 8, 8);
  Mesh mesh = makeMesh(1, 4);
  bool isFound = false;
  for (const FactorAssignment &assignment : getAssignments(
           problem.ops[0], mesh, getMeshAxes(problem, {mesh, getGrids(mesh)})))
    if (assignment.panels.exists()) {
      isFound = true;
      EXPECT_EQ(assignment.axes[problem.ops[0].sequenceFactor], AxisList{0});
    }
  EXPECT_TRUE(isFound);
}

TEST(Grids, LetGradientsRunTheLoopOfTheirProduct) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 8});
  int weight = builder.addParameter({8, 8});
  auto layer = builder.addLayer(x, weight);
  layer.addBackward(builder.addInput({8, 8}));
  const PlanningProblem &problem = builder.problem;
  Mesh mesh = makeMesh(2, 4);
  FactorAssignment summa = FactorAssignment::getReplicated(problem.ops[0].rule);
  summa.axes[0] = {0, 1}; // m: data, rows
  summa.axes[2] = {2};    // n: columns
  summa.panels = {1, {1, 2}};
  auto members = inferMembers(
      problem, getDecisions(problem).all[0], summa,
      /*pending=*/{}, getMeshAxes(problem, {mesh, getGrids(mesh)}), mesh);
  EXPECT_TRUE(members[1].panels.exists());
  EXPECT_TRUE(members[2].panels.exists());
  EXPECT_EQ(getMadeSharding(problem.ops[1].rule, members[1], 0),
            *parseSharding("[{dp0,tp0}, {tp1}]", mesh));
  EXPECT_EQ(getMadeSharding(problem.ops[2].rule, members[2], 0),
            *parseSharding("[{tp0}, {tp1}] partial=sum{dp0}", mesh));
}

TEST(Panels, AreCutAtTheBlocksOfBothOperands) {
  PlanningProblem problem = makeProduct(4, 1, /*inner=*/10, 6);
  Mesh mesh({{"x", 2, AxisRole::tensor}, {"y", 3, AxisRole::tensor}});
  const PlanningOp &op = problem.ops[0];
  FactorAssignment summa = FactorAssignment::getReplicated(op.rule);
  int m = *op.rule.findFactor("b"), n = *op.rule.findFactor("n");
  summa.axes[m] = {0};
  summa.axes[n] = {1};
  summa.panels = {*op.rule.findFactor("k"), {0, 1}};
  EXPECT_EQ(getPanelSizes(op, summa, mesh),
            (llvm::SmallVector<int64_t, 8>{4, 1, 3, 2}));
  // X [2 of 4, k] along y, W [k, 2 of 6] along x, four bytes an element.
  auto calls = getPanelCalls(problem, op, summa, mesh);
  int64_t lhs = 0, rhs = 0, count = 0;
  for (const PanelCall &call : calls) {
    EXPECT_EQ(call.kind, CollectiveKind::broadcast);
    (call.axes == AxisList{1} ? lhs : rhs) += call.bytes * call.count;
    count += call.count;
  }
  EXPECT_EQ(lhs, 2 * 10 * 4);
  EXPECT_EQ(rhs, 2 * 10 * 4);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(getPanelBytes(problem, op, summa, mesh), 2 * 64 + 2 * 64);
}

// What a rank owns in one piece it has in no slot: of two ranks one slot is
// enough, but for the columns of X that have to be packed.
TEST(Panels, TakeOneSlotBetweenTwoRanksThatOwnOneEach) {
  Mesh mesh({{"x", 2, AxisRole::tensor}, {"y", 2, AxisRole::tensor}});
  auto getBytes = [&](int64_t inner) {
    PlanningProblem problem = makeProduct(4, 1, inner, 16);
    const PlanningOp &op = problem.ops[0];
    FactorAssignment summa = FactorAssignment::getReplicated(op.rule);
    summa.axes[*op.rule.findFactor("b")] = {0};
    summa.axes[*op.rule.findFactor("n")] = {1};
    summa.panels = {*op.rule.findFactor("k"), {0, 1}};
    return getPanelBytes(problem, op, summa, mesh);
  };
  // X [2 of 4, k / 2] and W [k / 2, 8 of 16], four bytes an element.
  EXPECT_EQ(getBytes(8), 64 + 4 * 8 * 4);
  EXPECT_EQ(getBytes(9), 2 * 64 + 192);
}

TEST(Panels, AreReducedToTheirOwnersWhereTheResultMoves) {
  PlanningProblem problem = makeProduct(4, 1, 8, 6);
  Mesh mesh = makeMesh(1, 4);
  const PlanningOp &op = problem.ops[0];
  FactorAssignment stationary = FactorAssignment::getReplicated(op.rule);
  stationary.axes[*op.rule.findFactor("b")] = {0};
  stationary.axes[*op.rule.findFactor("k")] = {1};
  stationary.panels = {*op.rule.findFactor("n"), {0, 1}};
  int64_t broadcast = 0, reduced = 0;
  for (const PanelCall &call : getPanelCalls(problem, op, stationary, mesh))
    (call.kind == CollectiveKind::reduce ? reduced : broadcast) +=
        call.bytes * call.count;
  EXPECT_EQ(broadcast, 4 * 6 * 4);
  EXPECT_EQ(reduced, 2 * 6 * 4);
}

PlanResult solveChecked(const PlanningProblem &problem,
                        const PlanRequest &request) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  PlanResult result = solve(problem, request, SimpleCosts());
  for (const std::string &refusal : result.refusals)
    ADD_FAILURE() << refusal;
  if (!result.answer)
    return result;
  for (const std::string &violation : verifyAnswer(problem, *result.answer))
    ADD_FAILURE() << violation;
  EXPECT_NEAR(result.objectiveSeconds, result.evaluation.stepTimeSeconds,
              1e-9 * result.objectiveSeconds);
  return result;
}

Algorithm getAlgorithmOf(const PlanningProblem &problem,
                         const PlanResult &result, int op) {
  return getAlgorithm(problem.ops[op], result.answer->assignments[op],
                      result.answer->mesh);
}

/// up, an elementwise op, a norm, down.
PlanningProblem makeBlock(int64_t batch, int64_t width, int64_t hidden) {
  ProblemBuilder builder;
  int x = builder.addTokens({batch, 4, width});
  int up = builder.addParameter({width, hidden});
  int down = builder.addParameter({hidden, width});
  int value = builder.addNorm(x, /*reductions=*/2);
  value = builder.addContraction(value, "bsk", up, "kn", "bsn");
  value = builder.addElementwise(value);
  value = builder.addContraction(value, "bsk", down, "kn", "bsn");
  value = builder.addElementwise({x, value}, Linearity::jointly);
  builder.markOutput(value);
  return std::move(builder.problem);
}

TEST(Grids, SpreadWeightsOverAllRanksWhenTheyAreForced) {
  PlanningProblem block = makeBlock(8, 16, 32);
  for (ForcedGrid grid :
       {grid2x2, grid2x2x2, ForcedGrid{GridKind::grid2_5d, {2, 2, 2}}}) {
    PlanResult result =
        solveChecked(block, makeRequest(grid.getRankCount(), grid));
    ASSERT_TRUE(result.answer);
    for (int op : {1, 3}) {
      Algorithm algorithm = getAlgorithmOf(block, result, op);
      EXPECT_TRUE(
          grid.kind == GridKind::grid2_5d ? algorithm == Algorithm::tensor2_5d
          : grid.kind == GridKind::grid3d ? algorithm == Algorithm::tensor3d
                                          : algorithm == Algorithm::summa2d)
          << stringifyAlgorithm(algorithm).str();
    }
    int64_t ranks = grid.kind == GridKind::grid2_5d ? 4 : grid.getRankCount();
    EXPECT_LE(result.evaluation.parameterBytes, 2 * 16 * 32 * 4 / ranks);
    // Norm and elementwise ops are spread as the products are.
    for (int op : {0, 2, 4})
      for (int64_t size :
           getMadeSharding(block.ops[op].rule, result.answer->assignments[op],
                           0)
               .getLocalShape(result.answer->mesh,
                              block.values[block.ops[op].results[0]].shape))
        EXPECT_LE(size, 16);
  }
}

TEST(Grids, ChangeTwoGroupsFromProductToProductInThreeDimensions) {
  ProblemBuilder builder;
  int x = builder.addTokens({8, 1, 16});
  int value = builder.addElementwise(x);
  for (int product = 0; product < 4; ++product)
    value = builder.addContraction(value, "bsk", builder.addParameter({16, 16}),
                                   "kn", "bsn");
  builder.markOutput(builder.addElementwise(value));
  const PlanningProblem &problem = builder.problem;
  PlanResult result = solveChecked(problem, makeRequest(8, grid2x2x2));
  ASSERT_TRUE(result.answer);
  const ShardingRule &rule = problem.ops[1].rule;
  int k = *rule.findFactor("k"), n = *rule.findFactor("n");
  for (int op = 1; op < 4; ++op) {
    const auto &axes = result.answer->assignments[op].axes;
    const auto &next = result.answer->assignments[op + 1].axes;
    EXPECT_EQ(axes[n], next[k]) << op;
    EXPECT_EQ(axes[k], next[n]) << op;
  }
}

TEST(Grids, MixInOneModelWhereNodesAreForced) {
  ProblemBuilder builder;
  int value = builder.addElementwise(builder.addTokens({8, 4, 16}));
  for (const char *node : {"one", "two", "three"}) {
    value = builder.addContraction(value, "bsk", builder.addParameter({16, 16}),
                                   "kn", "bsn");
    builder.problem.ops.back().node = node;
  }
  builder.markOutput(value);
  PlanRequest request = makeRequest(8, grid2x2);
  request.grid.reset();
  request.tensorSize.reset();
  request.dataSize = 1;
  request.forcedAlgorithms = {{"one", Algorithm::tensor3d},
                              {"two", Algorithm::summa2d},
                              {"three", Algorithm::column}};
  PlanResult result = solveChecked(builder.problem, request);
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(builder.problem, result, 1), Algorithm::tensor3d);
  EXPECT_EQ(getAlgorithmOf(builder.problem, result, 2), Algorithm::summa2d);
  EXPECT_EQ(getAlgorithmOf(builder.problem, result, 3), Algorithm::column);
}

} // namespace
