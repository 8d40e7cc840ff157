//===- VisitSumsTest.cpp - Gradients that are reduced once per visit ------===//

#include "TestProblems.h"

#include "lib/Planner/Evaluation/StepTime.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Planner/VisitSums.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;

/// Four equal products with a backward pass and updates, for four
/// micro-batches.
PlanningProblem makeStep() {
  ProblemBuilder builder;
  builder.problem.microBatches = 4;
  int value = builder.addInput({8, 16});
  std::vector<int> weights;
  std::vector<ProblemBuilder::Layer> layers;
  for (int layer = 0; layer < 4; ++layer) {
    weights.push_back(builder.addParameter({16, 16}));
    layers.push_back(builder.addLayer(value, weights.back()));
    builder.problem.ops.back().block = layer;
    value = layers.back().result;
  }
  int gradient = builder.addInput({8, 16});
  for (int layer = 4; layer-- > 0;) {
    auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
    gradient = ofInput;
    weights.push_back(builder.addAccumulate(ofWeight));
  }
  for (int layer = 0; layer < 4; ++layer)
    builder.addUpdate(weights[layer], weights[7 - layer]);
  return std::move(builder.problem);
}

PlanRequest makeRequest(ScheduleKind kind, int64_t chunks) {
  PlanRequest request;
  request.deviceCount = 4;
  request.pipelineSize = 2;
  request.dataSize = 2;
  request.tensorSize = 1;
  request.zeroStage = 2;
  request.schedule = {kind, chunks};
  request.memoryLimitBytes = noLimit;
  return request;
}

/// The same plan with a reduction for every micro-batch.
PlanningAnswer reducePerMicroBatch(const PlanningProblem &problem,
                                   const PlanCosts &costs,
                                   PlanningAnswer answer) {
  answer.perVisit.clear();
  setPipelineTimes(problem, costs, answer);
  return answer;
}

TEST(VisitSums, TakeFewerReductionsAndTheMemoryOfAChunk) {
  PlanningProblem problem = makeStep();
  SimpleCosts costs;
  PlanResult result =
      solve(problem, makeRequest(ScheduleKind::interleaved, 2), costs);
  ASSERT_TRUE(result.answer);
  const PlanningAnswer &answer = *result.answer;
  EXPECT_TRUE(verifyAnswer(problem, answer).empty());
  EXPECT_EQ(llvm::count(answer.perVisit, true), 4);
  // Two groups of two micro-batches.
  std::vector<int64_t> counts = getVisitCounts(problem, answer);
  EXPECT_EQ(llvm::count(counts, 2), 4);
  PlanEvaluation visits = evaluatePlan(problem, answer, costs);
  PlanEvaluation each =
      evaluatePlan(problem, reducePerMicroBatch(problem, costs, answer), costs);
  EXPECT_LT(visits.stepTimeSeconds, each.stepTimeSeconds);
  EXPECT_LT(visits.dataCommunicationSeconds, each.dataCommunicationSeconds);
  EXPECT_GT(visits.peakBytes, each.peakBytes);
}

TEST(VisitSums, AreNoneWhereTheirMemoryDoesNotFit) {
  PlanningProblem problem = makeStep();
  SimpleCosts costs;
  PlanRequest request = makeRequest(ScheduleKind::interleaved, 2);
  PlanResult free = solve(problem, request, costs);
  ASSERT_TRUE(free.answer);
  request.memoryLimitBytes =
      getPeakBytes(problem, reducePerMicroBatch(problem, costs, *free.answer));
  PlanResult tight = solve(problem, request, costs);
  ASSERT_TRUE(tight.answer);
  EXPECT_EQ(llvm::count(tight.answer->perVisit, true), 0);
  EXPECT_LE(getPeakBytes(problem, *tight.answer), request.memoryLimitBytes);
}

TEST(VisitSums, AreOfInterleavedSchedulesAlone) {
  PlanningProblem problem = makeStep();
  SimpleCosts costs;
  PlanResult result = solve(
      problem, makeRequest(ScheduleKind::oneForwardOneBackward, 1), costs);
  ASSERT_TRUE(result.answer);
  PlanningAnswer answer = *result.answer;
  EXPECT_TRUE(findVisitSums(problem, answer).empty());
  EXPECT_TRUE(answer.perVisit.empty());
  answer.perVisit.assign(problem.ops.size(), false);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    answer.perVisit[index] = op.accumulates;
  std::vector<std::string> problems = verifyAnswer(problem, answer);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_NE(problems[0].find("(P15)"), std::string::npos);
}

/// What a plan of 1F1B with a ZeRO stage has more at its peak where the program
/// reduces gradients in buckets.
int64_t getBytesOfBuckets(PlanningProblem problem, int zeroStage) {
  SimpleCosts costs;
  PlanRequest request = makeRequest(ScheduleKind::oneForwardOneBackward, 1);
  request.zeroStage = zeroStage;
  PlanResult result = solve(problem, request, costs);
  EXPECT_TRUE(result.answer);
  if (!result.answer)
    return -1;
  int64_t single = evaluatePlan(problem, *result.answer, costs).peakBytes;
  for (const PlanningOp &op : problem.ops)
    if (op.role == OpRole::weightGradient)
      for (int value : op.results)
        problem.values[value].bucketBytes = 4 * 16 * 16 * 4;
  return evaluatePlan(problem, *result.answer, costs).peakBytes - single;
}

TEST(PassSums, HaveABucketInEachPassAndTheOneBeforeIt) {
  // Of two products at each position: its own two in place of one, and two of
  // the pass before. The peak without them is at another op, perhaps.
  constexpr int64_t gradientBytes = 16 * 16 * 4;
  int64_t bytes = getBytesOfBuckets(makeStep(), /*zeroStage=*/2);
  EXPECT_GT(bytes, 2 * gradientBytes);
  EXPECT_LE(bytes, 3 * gradientBytes);
}

TEST(PassSums, HaveNoBucketsWhereThereIsOnePass) {
  PlanningProblem problem = makeStep();
  problem.microBatches = 1;
  EXPECT_EQ(getBytesOfBuckets(std::move(problem), /*zeroStage=*/2), 0);
}

TEST(PassSums, HaveNoBucketsWherePassesReduceNothing) {
  EXPECT_EQ(getBytesOfBuckets(makeStep(), /*zeroStage=*/1), 0);
}

TEST(VisitSums, AreThereWhenTheNextPassBegins) {
  PlanningProblem problem = makeStep();
  SimpleCosts costs;
  PlanResult result =
      solve(problem, makeRequest(ScheduleKind::interleaved, 2), costs);
  ASSERT_TRUE(result.answer);
  // Both chunks have one product: what a visit adds up, and what the visit
  // before did. The peak without them is at another op, perhaps.
  PlanEvaluation visits = evaluatePlan(problem, *result.answer, costs);
  PlanEvaluation each = evaluatePlan(
      problem, reducePerMicroBatch(problem, costs, *result.answer), costs);
  constexpr int64_t gradientBytes = 16 * 16 * 4;
  EXPECT_GT(visits.peakBytes - each.peakBytes, gradientBytes);
  EXPECT_LE(visits.peakBytes - each.peakBytes, 2 * gradientBytes);
}

} // namespace
