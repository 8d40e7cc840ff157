//===- KernelsTest.cpp - What kernels and stacks make of prices -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Kernels.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

using Moved = llvm::SmallVector<int8_t, 4>;

constexpr int64_t rows = 64, columns = 32;

/// a + b, its square root (costly), and a third op over both.
struct Chain {
  ProblemBuilder builder;
  int left, right, sum, root;

  Chain() {
    left = builder.addInput({rows, columns});
    right = builder.addInput({rows, columns});
    sum = builder.addElementwise({left, right});
    root = builder.addElementwise({sum});
  }
  PlanningProblem mark(ElementwiseKernels kernels) {
    PlanningProblem problem = builder.problem;
    markKernels(problem, kernels);
    return problem;
  }
};

/// Halves the element of a value, as a cast of its maker does.
void narrow(PlanningProblem &problem, int value) {
  problem.values[value].elementBytes = 2;
}

} // namespace

TEST(Kernels, separateKernelsMoveEverything) {
  Chain chain;
  for (const PlanningOp &op : chain.mark(ElementwiseKernels::separate).ops) {
    EXPECT_TRUE(op.movedBytes.empty());
    EXPECT_FALSE(op.isInReader);
  }
}

TEST(Kernels, whatHasOneReaderIsComputedInsideOfIt) {
  Chain chain;
  chain.builder.markOutput(chain.root);
  PlanningProblem problem = chain.mark(ElementwiseKernels::chains);
  EXPECT_EQ(problem.ops[0].movedBytes, (Moved{4, 4, 0}));
  EXPECT_TRUE(problem.ops[0].isInReader);
  EXPECT_EQ(problem.ops[1].movedBytes, (Moved{0, 4}));
  EXPECT_FALSE(problem.ops[1].isInReader);
}

TEST(Kernels, whatHasTwoReadersOrIsReturnedIsWritten) {
  Chain chain;
  chain.builder.addElementwise({chain.sum, chain.root});
  PlanningProblem problem = chain.mark(ElementwiseKernels::chains);
  EXPECT_EQ(problem.ops[0].movedBytes, (Moved{4, 4, 4}));
  EXPECT_FALSE(problem.ops[0].isInReader);
  // The root has one reader still.
  EXPECT_TRUE(problem.ops[1].isInReader);

  Chain returned;
  returned.builder.markOutput(returned.sum);
  EXPECT_FALSE(returned.mark(ElementwiseKernels::chains).ops[0].isInReader);
}

TEST(Kernels, productsTakeNothingIn) {
  Chain chain;
  int weight = chain.builder.addParameter({columns, columns});
  chain.builder.addProduct(chain.root, weight);
  PlanningProblem problem = chain.mark(ElementwiseKernels::chains);
  EXPECT_EQ(problem.ops[1].movedBytes, (Moved{0, 4}));
  EXPECT_TRUE(problem.ops[2].movedBytes.empty());
}

TEST(Kernels, groupsAreOperatorsAndTheirGradients) {
  // Three ops of one operator, read again by its gradient.
  ProblemBuilder builder;
  int input = builder.addInput({rows, columns});
  auto add = [&](llvm::ArrayRef<int> operands, OpRole role) {
    int result = builder.addElementwise(operands);
    builder.setRole(role, /*group=*/7);
    builder.problem.ops.back().perMicroBatch = true;
    return result;
  };
  int first = add({input}, OpRole::forward);
  int second = add({first, input}, OpRole::forward);
  int third = add({first, second}, OpRole::forward);
  builder.markOutput(third);
  int gradient = add({third, first}, OpRole::inputGradient);
  builder.markOutput(gradient);
  PlanningProblem problem = builder.problem;
  markKernels(problem, ElementwiseKernels::groups);
  // The input is read once, what the gradient reads is written.
  EXPECT_EQ(problem.ops[0].movedBytes, (Moved{4, 4}));
  EXPECT_EQ(problem.ops[1].movedBytes, (Moved{0, 0, 0}));
  EXPECT_EQ(problem.ops[2].movedBytes, (Moved{0, 0, 4}));
  EXPECT_EQ(problem.ops[3].movedBytes, (Moved{4, 4, 4}));
  EXPECT_FALSE(problem.ops[0].isInReader);
  EXPECT_TRUE(problem.ops[1].isInReader);
  EXPECT_FALSE(problem.ops[3].isInReader);
}

TEST(Kernels, castsOfGroupsAreFree) {
  Chain chain;
  // The root is a cast of the sum, and both are read.
  narrow(chain.builder.problem, chain.root);
  int weight = chain.builder.addParameter({columns, columns});
  chain.builder.addProduct(chain.root, weight);
  for (PlanningOp &op : chain.builder.problem.ops)
    op.perMicroBatch = true;
  PlanningProblem problem = chain.mark(ElementwiseKernels::groups);
  EXPECT_EQ(problem.ops[0].movedBytes, (Moved{4, 4, 2}));
  EXPECT_EQ(problem.ops[1].movedBytes, (Moved{0, 0}));
  EXPECT_TRUE(problem.ops[1].isInReader);
}

TEST(Kernels, whatMovesNothingTakesNoTime) {
  DiagnosticEngine engine;
  CostModel model(*makeCluster(*findPreset("dgx-a100-80g"), 1, engine),
                  Precision::bf16);
  ClusterCosts costs(model);
  Chain chain;
  chain.builder.markOutput(chain.root);
  Mesh mesh;
  FactorAssignment whole;
  whole.axes.resize(2);
  auto getSeconds = [&](ElementwiseKernels kernels) {
    PlanningProblem problem = chain.mark(kernels);
    double seconds = 0;
    for (const PlanningOp &op : problem.ops)
      seconds += costs.getOpSeconds(problem, op, whole, mesh);
    return seconds;
  };
  double bytes = 4.0 * rows * columns / (0.724 * 2039e9);
  EXPECT_NEAR(getSeconds(ElementwiseKernels::separate), 5 * bytes + 2 * 2.5e-6,
              1e-12);
  EXPECT_NEAR(getSeconds(ElementwiseKernels::chains), 3 * bytes + 2.5e-6,
              1e-12);
}

TEST(Kernels, overlapLeavesTheInterference) {
  ProblemBuilder builder;
  int input = builder.addInput({rows, columns});
  int weight = builder.addParameter({columns, columns});
  ProblemBuilder::Layer layer = builder.addLayer(input, weight);
  auto [ofInput, ofWeight] = layer.addBackward(layer.result);
  int sum = builder.addAccumulate(ofWeight);
  builder.setRole(OpRole::gradientSum);
  PlanningProblem problem = builder.problem;
  Stack stack;
  markOverlap(problem, stack, 0.25);
  for (const PlanningValue &value : problem.values)
    EXPECT_EQ(value.exposedReduction + value.exposedGather, 2);

  stack.overlapsTensorGradients = true;
  markOverlap(problem, stack, 0.25);
  EXPECT_EQ(problem.values[ofInput].exposedReduction, 0.25);
  EXPECT_EQ(problem.values[ofInput].exposedGather, 1);
  EXPECT_EQ(problem.values[layer.result].exposedReduction, 1);
  EXPECT_EQ(problem.values[sum].exposedReduction, 1);

  stack.overlapsGradientReduction = true;
  markOverlap(problem, stack, 0.25);
  EXPECT_EQ(problem.values[ofWeight].exposedReduction, 0.25);
  EXPECT_EQ(problem.values[sum].exposedReduction, 0.25);
  EXPECT_EQ(problem.values[weight].exposedGather, 1);

  stack.overlapsParameterGathers = true;
  markOverlap(problem, stack, 0.25);
  EXPECT_EQ(problem.values[weight].exposedGather, 0.25);
  EXPECT_EQ(problem.values[input].exposedGather, 1);
}

TEST(Kernels, pathsCostWhatIsExposed) {
  SimpleCosts costs;
  Mesh mesh({MeshAxis{"x", 4, AxisRole::tensor}});
  PlanningValue value;
  value.shape = {rows, columns};
  Sharding whole = Sharding::getReplicated(2), pending = whole;
  pending.partial = {0};
  ReshardPath path = findReshardPath(mesh, value.shape, pending, whole);
  ASSERT_TRUE(path.found);
  double all = costs.getPathSeconds(path, mesh, value);
  value.exposedReduction = 0.25;
  EXPECT_NEAR(costs.getPathSeconds(path, mesh, value), all / 4, 1e-12);
  value.exposedReduction = 1;
  value.exposedGather = 0.25;
  EXPECT_EQ(costs.getPathSeconds(path, mesh, value), all);
}

namespace {

/// Every call takes a second, and one for each byte.
class CallCosts : public SimpleCosts {
public:
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t bytes) const override {
    return 1 + static_cast<double>(bytes);
  }
};

} // namespace

TEST(Kernels, aValueHasItsShareOfTheCallsOfItsBucket) {
  CallCosts costs;
  PlanningValue value;
  value.shape = {25};
  value.bucketBytes = 1000;
  auto getSeconds = [&](AxisRole role) {
    Mesh mesh({MeshAxis{"x", 5, role}});
    Sharding whole = Sharding::getReplicated(1), pending = whole;
    pending.partial = {0};
    return costs.getPathSeconds(
        findReshardPath(mesh, value.shape, pending, whole), mesh, value);
  };
  // A tenth of one call.
  EXPECT_NEAR(getSeconds(AxisRole::data), 1001 / 10.0, 1e-9);
  EXPECT_NEAR(getSeconds(AxisRole::tensor), 101, 1e-9);
}

TEST(Kernels, aModelWithoutOpsHasNoBuckets) {
  PlanningProblem problem;
  applyStack(problem, ClusterDescription());
  EXPECT_TRUE(problem.values.empty());
}

TEST(Kernels, gradientsAreInOneBucketAndWeightsInThatOfTheirBlock) {
  ProblemBuilder builder;
  int input = builder.addInput({rows, columns});
  std::vector<int> weights, gradients;
  for (int64_t block : {0, 1}) {
    weights.push_back(builder.addParameter({columns, columns}));
    size_t first = builder.problem.ops.size();
    ProblemBuilder::Layer layer = builder.addLayer(input, weights.back());
    gradients.push_back(layer.addBackward(layer.result).second);
    builder.addUpdate(weights.back(), gradients.back(), /*stateCount=*/0);
    for (; first < builder.problem.ops.size(); ++first)
      builder.problem.ops[first].block = block;
  }
  PlanningProblem problem = builder.problem;
  applyStack(problem, ClusterDescription());
  int64_t bytes = problem.values[weights[0]].getWholeBytes();
  for (int gradient : gradients)
    EXPECT_EQ(problem.values[gradient].bucketBytes, 2 * bytes);
  for (int weight : weights)
    EXPECT_EQ(problem.values[weight].bucketBytes, bytes);
  EXPECT_EQ(problem.values[input].bucketBytes, 0);
}
