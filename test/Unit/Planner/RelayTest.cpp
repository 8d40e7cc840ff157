//===- RelayTest.cpp - Values that stages hand on -------------------------===//

#include "TestProblems.h"

#include "lib/Planner/Evaluation/StepTime.h"
#include "lib/Planner/Evaluation/Traffic.h"
#include "parplan/Planner/Evaluator.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t valueBytes = 8 * 8 * 4;

/// Four products after each other; what a second op of the first stage makes is
/// added to the results of those in `readers`.
struct Model {
  PlanningProblem problem;
  /// The op that makes what is added, and the stages of all ops.
  int maker = 1;
  std::vector<int> stages;

  explicit Model(llvm::ArrayRef<int> readers, int64_t microBatches) {
    ProblemBuilder builder;
    builder.problem.microBatches = microBatches;
    int value = builder.addInput({8, 8}), first = -1;
    auto placeOps = [&](int stage) {
      stages.resize(builder.problem.ops.size(), stage);
    };
    for (int stage = 0; stage < 4; ++stage) {
      value = builder.addLayer(value, builder.addParameter({8, 8})).result;
      if (stage == 0)
        first = builder.addElementwise({value});
      if (llvm::is_contained(readers, stage))
        value = builder.addElementwise({value, first});
      placeOps(stage);
    }
    // Results of all micro-batches make the last stage the largest.
    for (int output = 0; output < 3; ++output)
      builder.markOutput(builder.addElementwise({value}));
    placeOps(3);
    problem = std::move(builder.problem);
  }

  PlanningAnswer plan(const PlanCosts &costs) const {
    PlanningAnswer answer;
    answer.mesh = Mesh({{"pp0", 4, AxisRole::pipeline}});
    for (const PlanningOp &op : problem.ops)
      answer.assignments.push_back(FactorAssignment::getReplicated(op.rule));
    for (const PlanningValue &value : problem.values)
      answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
    answer.stages = stages;
    ScheduleShape shape{ScheduleKind::forwardOnly, 4, problem.microBatches, 1};
    answer.pipeline = PipelineChoice{shape, StageTimes(4), {}, {}};
    setPipelineTimes(problem, costs, answer);
    return answer;
  }
};

/// From, to and values of every edge.
std::vector<std::array<int64_t, 3>> listTraffic(const PlanningProblem &problem,
                                                const PlanningAnswer &answer) {
  std::map<std::pair<int, int>, int64_t> sums;
  OwnTables tables(problem, answer);
  for (const StageTraffic &traffic :
       getTraffic(tables.get(), getExecution(tables.get())))
    sums[{traffic.from, traffic.to}] += traffic.bytes / valueBytes;
  std::vector<std::array<int64_t, 3>> list;
  for (auto [edge, count] : sums)
    list.push_back({edge.first, edge.second, count});
  return list;
}

using Edges = std::vector<std::array<int64_t, 3>>;

TEST(Relay, WhatAllLaterStagesReadIsHandedOn) {
  Model model({1, 2, 3}, /*microBatches=*/4);
  SimpleCosts costs;
  PlanningAnswer answer = model.plan(costs);
  EXPECT_EQ(listTraffic(model.problem, answer),
            (Edges{{0, 1, 2}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {2, 3, 1}}));
  StepWork direct = getStepWork(model.problem, answer, costs);
  chooseWays(model.problem, answer);
  ASSERT_TRUE(answer.isRelayed(model.maker));
  EXPECT_EQ(llvm::count(answer.relayed, true), 1);
  EXPECT_TRUE(verifyAnswer(model.problem, answer).empty());
  EXPECT_EQ(listTraffic(model.problem, answer),
            (Edges{{0, 1, 2}, {1, 2, 2}, {2, 3, 2}}));
  // The first position is relieved, and the step is judged by that.
  StepWork relay = getStepWork(model.problem, answer, costs);
  EXPECT_LT(relay.messageSeconds[0], direct.messageSeconds[0]);
  EXPECT_GT(relay.messageSeconds[2], direct.messageSeconds[2]);
}

TEST(Relay, WhatOneStageFarAwayReadsGoesThereDirectly) {
  Model model({3}, /*microBatches=*/4);
  SimpleCosts costs;
  PlanningAnswer answer = model.plan(costs);
  chooseWays(model.problem, answer);
  EXPECT_TRUE(answer.relayed.empty());
  EXPECT_EQ(listTraffic(model.problem, answer),
            (Edges{{0, 1, 1}, {0, 3, 1}, {1, 2, 1}, {2, 3, 1}}));
}

TEST(Relay, PositionsInBetweenHoldWhatTheyHandOn) {
  Model model({3}, /*microBatches=*/8);
  SimpleCosts costs;
  PlanningAnswer answer = model.plan(costs);
  std::vector<int64_t> direct =
      getMemoryPeak(model.problem, answer).ofPositions;
  answer.relayed.assign(model.problem.ops.size(), false);
  answer.relayed[model.maker] = true;
  std::vector<int64_t> relay = getMemoryPeak(model.problem, answer).ofPositions;
  ASSERT_EQ(relay.size(), 4u);
  EXPECT_GE(relay[1], direct[1] + valueBytes);
  EXPECT_GE(relay[2], direct[2] + valueBytes);
  EXPECT_LT(relay[3], direct[3]);
}

TEST(Relay, WhereBuffersDoNotFitValuesAreHandedOn) {
  Model model({3}, /*microBatches=*/8);
  SimpleCosts costs;
  PlanningAnswer direct = model.plan(costs);
  int64_t bytes = getPeakBytes(model.problem, direct);
  PlanningAnswer answer = direct;
  relayUntilFits(model.problem, costs, answer, bytes);
  EXPECT_TRUE(answer.relayed.empty());
  relayUntilFits(model.problem, costs, answer, bytes - 1);
  EXPECT_TRUE(answer.isRelayed(model.maker));
  EXPECT_LT(getPeakBytes(model.problem, answer), bytes);
}

TEST(Relay, OnlyWhatAStageMakesInAPassIsHandedOn) {
  Model model({3}, /*microBatches=*/4);
  SimpleCosts costs;
  PlanningAnswer answer = model.plan(costs);
  answer.stages.clear();
  answer.pipeline.reset();
  answer.mesh = Mesh();
  answer.relayed.assign(model.problem.ops.size(), false);
  answer.relayed[model.maker] = true;
  std::vector<std::string> problems = verifyAnswer(model.problem, answer);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("(P14)"), std::string::npos);
}

} // namespace
