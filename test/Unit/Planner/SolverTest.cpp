//===- SolverTest.cpp - The exact solver against every combination --------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;

PlanRequest makeRequest(int64_t devices, int64_t limit = noLimit) {
  PlanRequest request;
  request.deviceCount = devices;
  request.memoryLimitBytes = limit;
  return request;
}

Algorithm getAlgorithmOf(const PlanningProblem &problem,
                         const PlanningAnswer &answer, int op) {
  return getAlgorithm(problem.ops[op], answer.assignments[op], answer.mesh);
}

/// A random graph of products and sums over square values.
PlanningProblem makeRandomProblem(std::mt19937 &random) {
  auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  int64_t size = std::vector<int64_t>{4, 5, 8}[pick(3)];
  ProblemBuilder builder;
  std::vector<int> activations = {builder.addInput({size, size})};
  int ops = 1 + pick(3);
  for (int i = 0; i < ops; ++i) {
    int lhs = activations[pick(static_cast<int>(activations.size()))];
    if (activations.size() > 1 && pick(2) == 0)
      activations.push_back(builder.addSum(
          lhs, activations[pick(static_cast<int>(activations.size()))]));
    else
      activations.push_back(
          builder.addProduct(lhs, builder.addParameter({size, size})));
  }
  builder.markOutput(activations.back());
  return std::move(builder.problem);
}

/// Stops the search as soon as a change of a layout has a price.
class StoppingCosts : public SimpleCosts {
public:
  mutable std::atomic<bool> stop = false;
  mutable int calls = 0;
  double getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                              llvm::ArrayRef<int> axes,
                              int64_t bytes) const override {
    stop = true;
    ++calls;
    return SimpleCosts::getCollectiveSeconds(kind, mesh, axes, bytes);
  }
};

TEST(Solver, LeavesTheMeshAtHandWhenItIsStopped) {
  PlanningProblem mlp = makeMlp(/*batch=*/64, /*width=*/16, /*hidden=*/16);
  StoppingCosts costs;
  PlanRequest request = makeRequest(4);
  request.tensorSize = 4;
  PlanResult whole = solve(mlp, request, costs);
  ASSERT_TRUE(whole.answer);
  EXPECT_FALSE(whole.isCutShort);
  int calls = std::exchange(costs.calls, 0);

  costs.stop = false;
  request.control.stop = &costs.stop;
  PlanResult result = solve(mlp, request, costs);
  EXPECT_FALSE(result.answer);
  EXPECT_TRUE(result.isCutShort);
  EXPECT_EQ(result.certificate.explored, 0);
  EXPECT_LT(costs.calls, calls);
}

TEST(Solver, TakesDataParallelismWhenWeightsNeedNoReduction) {
  PlanningProblem mlp = makeMlp(/*batch=*/64, /*width=*/16, /*hidden=*/16);
  PlanResult result = solve(mlp, makeRequest(4), SimpleCosts());
  ASSERT_TRUE(result.answer);
  ASSERT_EQ(result.answer->mesh.getAxisCount(), 1);
  EXPECT_EQ(result.answer->mesh.getAxis(0).role, AxisRole::data);
  EXPECT_TRUE(result.certificate.exact);
  EXPECT_EQ(result.certificate.getGap(), 0);
}

TEST(Solver, TellsOfItsPlanBeforeItHasLookedAtTheLastMesh) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "one processor has nothing to spare";
  PlanningProblem mlp = makeMlp(/*batch=*/64, /*width=*/16, /*hidden=*/16);
  PlanRequest request = makeRequest(4);
  int meshes = 0, meshesThen = 0;
  std::vector<PlanningAnswer> told;
  request.control.listener = [&](const SearchProgress &) { ++meshes; };
  request.control.likely = [&](const PlanningAnswer &answer) {
    told.push_back(answer);
    meshesThen = meshes;
  };
  PlanResult result = solve(mlp, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  // Data parallelism stands first.
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front(), *result.answer);
  EXPECT_LT(meshesThen, meshes);
}

TEST(Solver, TurnsColumnThenRowWhenTensorParallelismIsForced) {
  PlanningProblem mlp = makeMlp(/*batch=*/8, /*width=*/64, /*hidden=*/256);
  PlanRequest request = makeRequest(2);
  request.tensorSize = 2;
  PlanResult result = solve(mlp, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(mlp, *result.answer, 0), Algorithm::column);
  EXPECT_EQ(getAlgorithmOf(mlp, *result.answer, 1), Algorithm::row);
}

TEST(Solver, ObeysAnAlgorithmForcedByName) {
  PlanningProblem mlp = makeMlp(/*batch=*/8, /*width=*/64, /*hidden=*/256);
  PlanRequest request = makeRequest(2);
  request.tensorSize = 2;
  request.forcedAlgorithms = {{"up", Algorithm::row}};
  PlanResult result = solve(mlp, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(mlp, *result.answer, 0), Algorithm::row);
}

TEST(Solver, LetsTheBiasOfAProductFollowAForcedAlgorithm) {
  PlanningProblem gemm = makeMlp(/*batch=*/8, /*width=*/64, /*hidden=*/64);
  for (PlanningOp &op : gemm.ops) {
    op.node = "gemm";
    op.type = "Gemm";
  }
  ProblemBuilder builder{gemm};
  int last = gemm.ops.back().results[0];
  builder.problem.values[last].isOutput = false;
  int sum = builder.addSum(last, builder.addParameter({8, 64}));
  builder.markOutput(sum);
  builder.problem.ops.back().node = "gemm";
  builder.problem.ops.back().type = "Gemm";
  PlanRequest request = makeRequest(2);
  request.tensorSize = 2;
  request.forcedAlgorithms = {{"gemm", Algorithm::row}};
  PlanResult result = solve(builder.problem, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(builder.problem, *result.answer, 0), Algorithm::row);
  EXPECT_EQ(getAlgorithmOf(builder.problem, *result.answer, 1), Algorithm::row);
}

TEST(Solver, RefusesAForcedAlgorithmThatTheMeshDoesNotAllow) {
  PlanningProblem mlp = makeMlp(8, 64, 256);
  PlanRequest request = makeRequest(2);
  request.dataSize = 2;
  request.forcedAlgorithms = {{"up", Algorithm::row}};
  PlanResult result = solve(mlp, request, SimpleCosts());
  EXPECT_FALSE(result.answer);
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_EQ(result.refusals[0],
            "node 'up' (MatMul) cannot be 'row' here (dp0=2); it can be "
            "'replicate'");
}

TEST(Solver, RefusesAnAlgorithmForcedOnNodesThatDoNotExist) {
  PlanningProblem mlp = makeMlp(8, 64, 256);
  PlanRequest request = makeRequest(1);
  request.forcedAlgorithms = {{"absent*", Algorithm::replicate}};
  PlanResult result = solve(mlp, request, SimpleCosts());
  EXPECT_FALSE(result.answer);
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_EQ(result.refusals[0], "no node is called 'absent*'");
}

TEST(Solver, SplitsWeightsWhenTheyDoNotFitOtherwise) {
  PlanningProblem mlp = makeMlp(/*batch=*/64, /*width=*/64, /*hidden=*/256);
  int64_t weights = 2 * 64 * 256 * 4;
  PlanResult result = solve(mlp, makeRequest(4, weights), SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_LE(result.evaluation.peakBytes, weights);
  EXPECT_LT(result.evaluation.parameterBytes, weights);
}

TEST(Solver, FindsAPlanThatFitsAmongManyThatDoNot) {
  // Equal layers give more plans of almost equal time than can be visited.
  ProblemBuilder builder;
  int value = builder.addInput({32, 32});
  for (int layer = 0; layer < 24; ++layer) {
    int hidden = builder.addProduct(value, builder.addParameter({32, 64}));
    int next = builder.addProduct(hidden, builder.addParameter({64, 32}));
    value = builder.addSum(value, next);
  }
  builder.markOutput(value);
  const PlanningProblem &problem = builder.problem;
  PlanResult fastest = solve(problem, makeRequest(2), SimpleCosts());
  ASSERT_TRUE(fastest.answer);
  int64_t parameters = 24 * 2 * 32 * 64 * 4;
  ASSERT_EQ(fastest.evaluation.parameterBytes, parameters);

  int64_t limit = parameters * 3 / 4;
  PlanResult smaller = solve(problem, makeRequest(2, limit), SimpleCosts());
  ASSERT_TRUE(smaller.answer);
  EXPECT_LE(smaller.evaluation.peakBytes, limit);
  EXPECT_GT(smaller.evaluation.stepTimeSeconds,
            fastest.evaluation.stepTimeSeconds);
  EXPECT_LE(smaller.certificate.lowerBoundSeconds,
            smaller.certificate.upperBoundSeconds);
  EXPECT_GE(smaller.certificate.lowerBoundSeconds,
            fastest.certificate.lowerBoundSeconds);
}

TEST(Solver, NamesTheLeastBytesWhenNothingFits) {
  PlanningProblem mlp = makeMlp(8, 64, 256);
  PlanResult result = solve(mlp, makeRequest(2, 1000), SimpleCosts());
  EXPECT_FALSE(result.answer);
  // Both parameters and the input, over both ranks.
  EXPECT_EQ(result.leastBytes, (2 * 64 * 256 + 8 * 64) * 4 / 2);
}

TEST(Solver, EqualsExhaustionOnRandomGraphsWithoutALimit) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    PlanningProblem problem = makeRandomProblem(random);
    PlanRequest request = makeRequest(2);
    PlanResult solved = solve(problem, request, SimpleCosts());
    PlanResult best = solveByExhaustion(problem, request, SimpleCosts());
    ASSERT_TRUE(solved.answer && best.answer);
    EXPECT_TRUE(verifyAnswer(problem, *solved.answer).empty());
    EXPECT_NEAR(solved.evaluation.stepTimeSeconds,
                best.evaluation.stepTimeSeconds, 1e-9)
        << "trial " << trial;
    EXPECT_TRUE(solved.certificate.exact);
  }
}

TEST(Solver, EqualsExhaustionOnRandomGraphsUnderTightMemory) {
  std::mt19937 random(2);
  int refused = 0;
  for (int trial = 0; trial < 25; ++trial) {
    PlanningProblem problem = makeRandomProblem(random);
    PlanResult loose =
        solveByExhaustion(problem, makeRequest(2), SimpleCosts());
    // Between the least memory of any plan and that of the fastest.
    int64_t least = loose.leastBytes, most = loose.evaluation.peakBytes;
    int64_t limit =
        least - 64 +
        static_cast<int64_t>(random() % 4) * ((most - least) / 3 + 1);
    PlanRequest request = makeRequest(2, limit);
    PlanResult solved = solve(problem, request, SimpleCosts());
    PlanResult best = solveByExhaustion(problem, request, SimpleCosts());
    ASSERT_EQ(solved.answer.has_value(), best.answer.has_value())
        << "trial " << trial;
    refused += !best.answer;
    if (!best.answer)
      continue;
    EXPECT_LE(solved.evaluation.peakBytes, limit);
    EXPECT_NEAR(solved.evaluation.stepTimeSeconds,
                best.evaluation.stepTimeSeconds, 1e-9)
        << "trial " << trial;
  }
  EXPECT_GT(refused, 0);
}

} // namespace
