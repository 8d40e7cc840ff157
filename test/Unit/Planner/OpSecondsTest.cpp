//===- OpSecondsTest.cpp - What each operator of a plan takes -------------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/OpSeconds.h"
#include "parplan/Planner/Servers.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Two layers that are trained, in so many micro-batches. Blocks of their own
/// can be stages.
PlanningProblem makeStep(int64_t microBatches) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  std::vector<int> weights;
  std::vector<ProblemBuilder::Layer> layers;
  int value = builder.addInput({8, 16});
  for (int64_t block = 0; block < 2; ++block) {
    weights.push_back(builder.addParameter({16, 16}));
    layers.push_back(builder.addLayer(value, weights.back()));
    builder.problem.ops.back().block = block;
    value = layers.back().result;
  }
  int gradient = builder.addInput({8, 16});
  std::vector<int> sums(2);
  for (size_t layer = 2; layer-- > 0;) {
    auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
    gradient = ofInput;
    sums[layer] = microBatches > 1 ? builder.addAccumulate(ofWeight) : ofWeight;
  }
  for (size_t layer = 0; layer < 2; ++layer)
    builder.addUpdate(weights[layer], sums[layer]);
  return std::move(builder.problem);
}

PlanResult plan(const PlanningProblem &problem, PlanRequest request) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  request.memoryLimitBytes = int64_t(1) << 40;
  PlanResult result = solve(problem, request, SimpleCosts());
  EXPECT_TRUE(result.answer);
  return result;
}

double getSum(const PlanningProblem &problem, const PlanResult &result) {
  double sum = 0;
  for (const OpSeconds &op :
       getOpSeconds(problem, *result.answer, SimpleCosts()))
    sum += op.getTotal();
  return sum;
}

TEST(OpSeconds, AddUpToTheStep) {
  for (int64_t microBatches : {1, 2})
    for (int64_t devices : {1, 2, 4})
      for (RecomputeKind recompute :
           {RecomputeKind::none, RecomputeKind::full}) {
        PlanningProblem problem = makeStep(microBatches);
        PlanRequest request;
        request.deviceCount = devices;
        request.recompute = recompute;
        PlanResult result = plan(problem, request);
        EXPECT_NEAR(getSum(problem, result), result.evaluation.stepTimeSeconds,
                    1e-9);
      }
}

TEST(OpSeconds, SayWhatTheyAreFor) {
  PlanningProblem problem = makeStep(1);
  PlanRequest request;
  request.deviceCount = request.dataSize.emplace(4);
  request.zeroStage = 0;
  PlanResult result = plan(problem, request);
  double compute = 0, data = 0, optimizer = 0;
  for (const OpSeconds &op :
       getOpSeconds(problem, *result.answer, SimpleCosts())) {
    compute += op.compute;
    data += op.dataCommunication;
    optimizer += op.optimizer;
  }
  EXPECT_NEAR(compute, result.evaluation.computeSeconds, 1e-9);
  EXPECT_NEAR(data, result.evaluation.dataCommunicationSeconds, 1e-9);
  EXPECT_NEAR(optimizer, result.evaluation.optimizerSeconds, 1e-9);
  EXPECT_GT(data, 0);
}

TEST(OpSeconds, AreTheWorkOfAllPositions) {
  PlanningProblem problem = makeStep(4);
  PlanRequest alone, pipeline;
  pipeline.deviceCount = pipeline.pipelineSize.emplace(2);
  pipeline.schedule = {ScheduleKind::oneForwardOneBackward, 1};
  EXPECT_NEAR(getSum(problem, plan(problem, alone)),
              getSum(problem, plan(problem, pipeline)), 1e-9);
}

TEST(OpSeconds, OfServersAreTheUpdatesThatOneMakes) {
  PlanningProblem problem = makeStep(1);
  PlanRequest request;
  request.servers = ServerChoice{2, std::nullopt, 4};
  request.deviceCount = 4;
  request.tensorSize = request.expertSize = request.pipelineSize = 1;
  request.zeroStage = 0;
  PlanResult result = plan(problem, request);
  ServerSeconds servers =
      getServerSeconds(problem, *request.servers, SimpleCosts());
  EXPECT_NEAR(getSum(problem, result),
              result.evaluation.stepTimeSeconds - 2 * 4 * servers.message,
              1e-9);
}

} // namespace
