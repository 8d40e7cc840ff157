//===- FusedMemoryTest.cpp - What kernels hand on takes no memory ---------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/InnerBytes.h"
#include "parplan/Planner/Kernels.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t rows = 64, columns = 32, narrowBytes = rows * columns * 4;

PlanningProblem fuse(const ProblemBuilder &builder) {
  PlanningProblem problem = builder.problem;
  markFusion(problem);
  return problem;
}

std::vector<bool> getFused(const ProblemBuilder &builder) {
  std::vector<bool> fused;
  for (const PlanningOp &op : fuse(builder).ops)
    fused.push_back(op.fusedReads > 0);
  return fused;
}

PlanningAnswer solveOn(const PlanningProblem &problem, int64_t devices) {
  PlanRequest request;
  request.deviceCount = devices;
  request.memoryLimitBytes = int64_t(1) << 40;
  PlanResult result = solve(problem, request, SimpleCosts());
  EXPECT_TRUE(result.answer);
  return *result.answer;
}

/// A product, twice as wide elements of it, another product, and the sum of
/// both: what is widened is in registers of the sum.
struct WidenedSum {
  ProblemBuilder builder;
  int input, product, wide, other, sum;

  WidenedSum() {
    input = builder.addInput({rows, columns});
    product =
        builder.addProduct(input, builder.addParameter({columns, columns}));
    wide = builder.addElementwise(product);
    builder.problem.values[wide].elementBytes = 8;
    other = builder.addProduct(input, builder.addParameter({columns, columns}));
    sum = builder.addElementwise({wide, other});
    builder.markOutput(sum);
  }
};

/// The bytes at the peak besides inputs and parameters.
int64_t getActivations(const PlanningProblem &problem,
                       const PlanningAnswer &answer) {
  int64_t fixed = 0;
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind != ValueKind::activation)
      fixed += getLocalBytes(value, answer.mesh, answer.rest[index]);
  return getPeakBytes(problem, answer) - fixed;
}

} // namespace

TEST(Fusion, TakesInWhatOneElementwiseOpReads) {
  WidenedSum widened;
  EXPECT_EQ(getFused(widened.builder),
            (std::vector<bool>{false, true, false, false}));
}

TEST(Fusion, LeavesWhatOthersReadOrIsReturned) {
  WidenedSum read;
  read.builder.addProduct(read.wide,
                          read.builder.addParameter({columns, columns}));
  EXPECT_FALSE(getFused(read.builder)[1]);
  WidenedSum returned;
  returned.builder.markOutput(returned.wide);
  EXPECT_FALSE(getFused(returned.builder)[1]);
}

TEST(Fusion, LeavesWhatWritesSeveralElementsTogether) {
  WidenedSum rotated;
  rotated.builder.problem.ops[1].rule.factors.back().kind = FactorKind::blocked;
  EXPECT_FALSE(getFused(rotated.builder)[1]);
}

TEST(Fusion, LeavesWhatMicroBatchesAddUp) {
  ProblemBuilder builder;
  builder.problem.microBatches = 2;
  int input = builder.addInput({rows, columns});
  int scaled = builder.addElementwise(input);
  builder.problem.ops.back().perMicroBatch = true;
  builder.markOutput(builder.addAccumulate(scaled));
  EXPECT_EQ(getFused(builder), (std::vector<bool>{false, false}));
}

TEST(Fusion, SpreadsInsideOfAllReadersWhatIsComputedBefore) {
  ProblemBuilder builder;
  int input = builder.addInput({rows, columns});
  int column = builder.addInput({rows, 1});
  auto spread = [&](int narrow) {
    int wide = builder.addSpread(narrow, input);
    builder.markOutput(builder.addElementwise({wide, input}));
    builder.markOutput(builder.addElementwise({wide, input}));
  };
  spread(column);
  spread(builder.addElementwise(column));
  EXPECT_EQ(getFused(builder), (std::vector<bool>{true, false, false,
                                                  // Into the spread, which
                                                  // then computes it.
                                                  true, false, false, false}));
}

TEST(Fusion, IsOfOneValueThatIsNotReturned) {
  WidenedSum widened;
  PlanningProblem problem = fuse(widened.builder);
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  problem.ops[3].fusedReads = 1;
  EXPECT_NE(verifyProblem(problem)->find("its result is returned"),
            std::string::npos);
  problem.ops[3].fusedReads = -1;
  EXPECT_NE(verifyProblem(problem)->find("it makes no single value"),
            std::string::npos);
}

TEST(FusedMemory, IsThatOfOperandsUntilTheKernelRuns) {
  WidenedSum widened;
  PlanningAnswer answer = solveOn(widened.builder.problem, 1);
  // With the other product, and then the sum, which is not widened.
  EXPECT_EQ(getActivations(widened.builder.problem, answer),
            (2 + 1 + 1) * narrowBytes);
  EXPECT_EQ(getActivations(fuse(widened.builder), answer),
            (1 + 1 + 1) * narrowBytes);
}

TEST(FusedMemory, IsTakenByWhatIsMovedBeforeItIsRead) {
  WidenedSum widened;
  PlanningProblem fused = fuse(widened.builder);
  PlanningAnswer split = solveOn(fused, 2);
  Sharding rows = split.rest[widened.sum];
  ASSERT_NE(rows, Sharding::getReplicated(2));
  ASSERT_EQ(split.rest[widened.wide], rows);
  EXPECT_EQ(getActivations(fused, split), 3 * narrowBytes / 2);
  // Made in blocks, whole at rest: it is gathered, and lies there.
  PlanningAnswer gathered = split;
  gathered.rest[widened.wide] = Sharding::getReplicated(2);
  EXPECT_EQ(getActivations(fused, gathered),
            getActivations(widened.builder.problem, gathered));
}

TEST(FusedMemory, IsNotTakenByWhatKernelsTakeABlockOf) {
  WidenedSum widened;
  PlanningProblem fused = fuse(widened.builder);
  PlanningAnswer answer = solveOn(fused, 2);
  // Whole on every device until a block of it is read.
  for (AxisList &axes : answer.assignments[1].axes)
    axes.clear();
  answer.rest[widened.wide] = Sharding::getReplicated(2);
  int64_t block = narrowBytes / 2;
  // A block of the product and all of it, and blocks of the other one and of
  // the sum; else all that is widened, and blocks of three.
  EXPECT_EQ(getActivations(fused, answer), (1 + 2 + 1 + 1) * block);
  EXPECT_EQ(getActivations(widened.builder.problem, answer),
            (4 + 2 + 1 + 1) * block);
}

TEST(FusedMemory, IsTheSameByPassesAndInProgramOrder) {
  for (int64_t microBatches : {1, 3}) {
    ProblemBuilder builder;
    builder.problem.microBatches = microBatches;
    int weight = builder.addParameter({columns, columns});
    ProblemBuilder::Layer product =
        builder.addLayer(builder.addInput({rows, columns}), weight);
    ProblemBuilder::Layer scaled =
        builder.addElementwiseLayer(product.result, /*isLinear=*/true);
    ProblemBuilder::Layer active =
        builder.addElementwiseLayer(scaled.result, /*isLinear=*/false);
    int gradient = active.addBackward(builder.addInput({rows, columns})).first;
    // Where what is fused is the largest.
    builder.problem.values[gradient].elementBytes = 64;
    gradient = scaled.addBackward(gradient).first;
    builder.addUpdate(
        weight, builder.addAccumulate(product.addBackward(gradient).second));
    PlanningProblem problem = fuse(builder);
    ASSERT_TRUE(llvm::any_of(
        problem.ops, [](const PlanningOp &op) { return op.fusedReads > 0; }));
    PlanningAnswer answer = solveOn(problem, 1), byPasses = answer;
    byPasses.recomputed.assign(problem.ops.size(), false);
    EXPECT_EQ(getPeakBytes(problem, byPasses), getPeakBytes(problem, answer));
    EXPECT_LT(getPeakBytes(problem, answer),
              getPeakBytes(builder.problem, answer));
  }
}

TEST(FusedMemory, IsTakenByWhatIsReadAgain) {
  // Two scalings, of which the second one's result is kept.
  ProblemBuilder builder;
  std::vector<int> weights;
  for (int weight = 0; weight < 2; ++weight)
    weights.push_back(builder.addParameter({columns, columns}));
  ProblemBuilder::Layer up =
      builder.addLayer(builder.addInput({rows, columns}), weights[0]);
  ProblemBuilder::Layer first =
      builder.addElementwiseLayer(up.result, /*isLinear=*/true);
  builder.problem.values[first.result].elementBytes = 8;
  ProblemBuilder::Layer second =
      builder.addElementwiseLayer(first.result, /*isLinear=*/true);
  ProblemBuilder::Layer down = builder.addLayer(second.result, weights[1]);
  auto [ofSecond, ofDown] = down.addBackward(builder.addInput({rows, columns}));
  int gradient = second.addBackward(ofSecond).first;
  auto [ofInput, ofUp] = up.addBackward(first.addBackward(gradient).first);
  builder.addUpdate(weights[0], builder.addAccumulate(ofUp));
  builder.addUpdate(weights[1], builder.addAccumulate(ofDown));
  PlanningProblem problem = fuse(builder);
  ASSERT_TRUE(problem.ops[1].fusedReads == 1);
  ASSERT_FALSE(problem.ops[2].fusedReads > 0);
  PlanningAnswer answer = solveOn(problem, 1);
  auto getPeak = [&](std::vector<size_t> again) {
    answer.recomputed.assign(problem.ops.size(), false);
    for (size_t op : again)
      answer.recomputed[op] = true;
    return getPeakBytes(problem, answer);
  };
  // The second one alone needs the wide values of the first once more, both
  // need what the product made.
  EXPECT_EQ(getPeak({2}), getPeak({1, 2}) + narrowBytes);
}

TEST(InnerBytes, AreOfOpsThatReadSomething) {
  ProblemBuilder builder;
  builder.addNorm(builder.addInput({rows, columns}), /*reductions=*/2);
  PlanningOp &norm = builder.problem.ops[0];
  norm.operands.clear();
  norm.rule.operands.clear();
  EXPECT_NE(verifyProblem(builder.problem)->find("reads or makes nothing"),
            std::string::npos);
}

TEST(InnerBytes, AreThoseOfOneOperandWhereCoupledFactorsAreSplit) {
  ProblemBuilder builder;
  builder.addNorm(builder.addInput({rows, columns}), /*reductions=*/2);
  Mesh mesh({MeshAxis{"x", 2, AxisRole::tensor}});
  FactorAssignment assignment;
  assignment.axes.resize(2);
  PlanningOp &norm = builder.problem.ops[0];
  auto getBytes = [&] {
    return getInnerBytes(builder.problem, norm, assignment, mesh);
  };
  EXPECT_EQ(getBytes(), 0);
  assignment.axes[0] = {0};
  EXPECT_EQ(getBytes(), 0);
  assignment.axes[0].clear();
  assignment.axes[1] = {0};
  EXPECT_EQ(getBytes(), narrowBytes / 2);
}
