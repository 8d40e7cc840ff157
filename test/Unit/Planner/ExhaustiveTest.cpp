//===- ExhaustiveTest.cpp - Grids, context, experts against every choice --===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Random numbers with small ranges.
class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int pick(int count) {
    return static_cast<int>(engine() % static_cast<unsigned>(count));
  }
  int64_t pickSize(llvm::ArrayRef<int64_t> sizes) {
    return sizes[pick(static_cast<int>(sizes.size()))];
  }

private:
  std::mt19937 engine;
};

/// A product of tokens, and before or behind it an op of another kind.
PlanningProblem makeProductProblem(Random &random) {
  int64_t batch = random.pickSize({1, 4, 6});
  int64_t inner = random.pickSize({4, 5, 8});
  int64_t columns = random.pickSize({4, 6, 7});
  ProblemBuilder builder;
  int value = builder.addTokens({batch, 4, inner});
  int kind = random.pick(4);
  if (kind == 0)
    value = builder.addNorm(value, /*reductions=*/2);
  value = builder.addContraction(
      value, "bsk", builder.addParameter({inner, columns}), "kn", "bsn");
  if (kind == 1)
    value = builder.addElementwise(value);
  if (kind == 2)
    value = builder.addNorm(value, /*reductions=*/1);
  builder.markOutput(value);
  return std::move(builder.problem);
}

/// A layer with its gradients and its update.
PlanningProblem makeStep(Random &random) {
  ProblemBuilder builder;
  int64_t size = random.pickSize({4, 6});
  int x = builder.addInput({4, size});
  int weight = builder.addParameter({size, 4});
  auto layer = builder.addLayer(x, weight);
  int gradient = layer.addBackward(builder.addInput({4, 4})).second;
  builder.addUpdate(weight, gradient, /*stateCount=*/0);
  return std::move(builder.problem);
}

PlanningProblem makeAttentionProblem(Random &random) {
  ProblemBuilder builder;
  int64_t keyHeads = random.pickSize({1, 2}), group = random.pickSize({1, 2});
  int64_t batch = random.pickSize({1, 2, 4}),
          sequence = random.pickSize({4, 5});
  int x = builder.addTokens({batch, sequence, keyHeads * group * 2});
  int key = builder.addTokens({batch, sequence, keyHeads * 2});
  int value =
      builder.addAttention(builder.addElementwise(x), key, key, keyHeads);
  builder.markOutput(value);
  return std::move(builder.problem);
}

PlanningProblem makeMixture(Random &random) {
  ProblemBuilder builder;
  int64_t experts = random.pickSize({2, 3});
  int value = builder.addDispatch(builder.addInput({4, 4}), experts);
  value = builder.addContraction(
      value, "etd", builder.addParameter({experts, 4, 4}), "edf", "etf");
  builder.problem.ops.back().expertFactor = 0;
  builder.markOutput(value);
  return std::move(builder.problem);
}

/// The number of combinations, or more than `limit`.
int64_t countCombinations(const PlanningProblem &problem,
                          const PlanRequest &request, int64_t limit) {
  int64_t sum = 0;
  for (const PlanSpace &space : getSpaces(problem, request)) {
    std::optional<std::string> refusal;
    auto assignments = getAllowedAssignments(problem, request, space, refusal);
    auto rests = getRestCandidates(problem, request, space, assignments);
    int64_t count = 1;
    for (auto [op, choices] : llvm::zip_equal(problem.ops, assignments))
      if (op.isLeader && count <= limit)
        count *= static_cast<int64_t>(choices.size());
    for (auto [value, choices] : llvm::zip_equal(problem.values, rests))
      if (value.updates < 0 && count <= limit)
        count *= static_cast<int64_t>(choices.size());
    sum += count;
  }
  return sum;
}

/// Compares without a limit on memory, and with some between the least memory
/// of any plan and that of the fastest.
void compare(const PlanningProblem &problem, PlanRequest request,
             const std::string &what, int &compared) {
  ASSERT_EQ(verifyProblem(problem), std::nullopt) << what;
  constexpr int64_t mostCombinations = 6000;
  if (countCombinations(problem, request, mostCombinations) > mostCombinations)
    return;
  request.memoryLimitBytes = int64_t(1) << 40;
  PlanResult loose = solveByExhaustion(problem, request, SimpleCosts());
  std::vector<int64_t> limits = {request.memoryLimitBytes};
  if (loose.answer) {
    ++compared;
    int64_t least = loose.leastBytes, most = loose.evaluation.peakBytes;
    limits.push_back(least);
    if (most > least + 64)
      limits.push_back((least + most) / 2);
  }
  for (int64_t limit : limits) {
    request.memoryLimitBytes = limit;
    PlanResult solved = solve(problem, request, SimpleCosts());
    PlanResult best = limit == limits.front()
                          ? loose
                          : solveByExhaustion(problem, request, SimpleCosts());
    ASSERT_EQ(solved.answer.has_value(), best.answer.has_value()) << what;
    if (!best.answer)
      continue;
    EXPECT_TRUE(verifyAnswer(problem, *solved.answer).empty()) << what;
    EXPECT_LE(solved.evaluation.peakBytes, limit) << what;
    EXPECT_NEAR(solved.objectiveSeconds, solved.evaluation.stepTimeSeconds,
                1e-9)
        << what;
    EXPECT_NEAR(solved.evaluation.stepTimeSeconds,
                best.evaluation.stepTimeSeconds, 1e-9)
        << what << " with " << limit << " bytes";
  }
}

PlanRequest makeRequest(int64_t devices) {
  PlanRequest request;
  request.deviceCount = devices;
  return request;
}

TEST(Exhaustive, EqualsTheSolverOnGrids) {
  Random random(11);
  int compared = 0;
  for (int trial = 0; trial < 32; ++trial) {
    bool isStep = trial % 4 == 3;
    PlanningProblem problem =
        isStep ? makeStep(random) : makeProductProblem(random);
    int kind = random.pick(3);
    PlanRequest request = makeRequest(kind == 0 ? 4 : 8);
    request.grid = kind == 0   ? ForcedGrid{GridKind::grid2d, {2, 2}}
                   : kind == 1 ? ForcedGrid{GridKind::grid2_5d, {2, 2, 2}}
                               : ForcedGrid{GridKind::grid3d, {2, 2, 2}};
    compare(problem, request, "trial " + std::to_string(trial), compared);
  }
  EXPECT_GT(compared, 10);
}

TEST(Exhaustive, EqualsTheSolverWhereKindsAreSearched) {
  Random random(12);
  int compared = 0;
  for (int trial = 0; trial < 24; ++trial) {
    PlanRequest request = makeRequest(4);
    request.dataSize = 1;
    compare(makeProductProblem(random), request,
            "trial " + std::to_string(trial), compared);
  }
  EXPECT_GT(compared, 0);
}

TEST(Exhaustive, EqualsTheSolverWithContextAxes) {
  Random random(13);
  int compared = 0;
  for (int trial = 0; trial < 24; ++trial) {
    PlanRequest request = makeRequest(random.pick(2) == 0 ? 2 : 4);
    request.contextSize = 2;
    compare(makeAttentionProblem(random), request,
            "trial " + std::to_string(trial), compared);
  }
  EXPECT_GT(compared, 10);
}

TEST(Exhaustive, EqualsTheSolverWithExpertAxes) {
  Random random(14);
  int compared = 0;
  for (int trial = 0; trial < 16; ++trial) {
    PlanRequest request = makeRequest(random.pick(2) == 0 ? 2 : 4);
    if (random.pick(2) == 0)
      request.expertSize = 2;
    compare(makeMixture(random), request, "trial " + std::to_string(trial),
            compared);
  }
  EXPECT_GT(compared, 8);
}

} // namespace
