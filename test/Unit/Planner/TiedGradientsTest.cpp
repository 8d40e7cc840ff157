//===- TiedGradientsTest.cpp - Weights with several readers ---------------===//

#include "TestProblems.h"

#include "lib/Planner/Evaluation/Execution.h"
#include "lib/Planner/Evaluation/StageMemory.h"
#include "lib/Planner/Evaluation/StepTime.h"
#include "parplan/Planner/Evaluator.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Four products of which the first `tied` read the same weight.
struct Model {
  PlanningProblem problem;
  std::vector<ProblemBuilder::Layer> layers;
  int accumulate = -1;

  explicit Model(int tied) {
    ProblemBuilder builder;
    builder.problem.microBatches = 4;
    int value = builder.addInput({8, 8});
    std::vector<int> weights;
    for (int layer = 0; layer < 4; ++layer) {
      if (layer == 0 || layer >= tied)
        weights.push_back(builder.addParameter({8, 8}));
      layers.push_back(builder.addLayer(value, weights.back()));
      value = layers.back().result;
    }
    int gradient = builder.addInput({8, 8});
    std::vector<int> ofWeights(4);
    for (int layer = 4; layer-- > 0;) {
      auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
      gradient = ofInput;
      ofWeights[layer] = ofWeight;
    }
    std::vector<int> parts(ofWeights.begin(), ofWeights.begin() + tied);
    int sum = parts.front();
    if (tied > 1) {
      sum = builder.addElementwise(parts, Linearity::jointly);
      builder.setRole(OpRole::gradientSum);
    }
    std::vector<int> sums = {builder.addAccumulate(sum)};
    accumulate = static_cast<int>(builder.problem.ops.size()) - 1;
    for (int layer = tied; layer < 4; ++layer)
      sums.push_back(builder.addAccumulate(ofWeights[layer]));
    for (size_t weight = 0; weight < weights.size(); ++weight)
      builder.addUpdate(weights[weight], sums[weight]);
    problem = std::move(builder.problem);
  }

  std::vector<int> findParts() const {
    std::vector<int> producers(problem.values.size(), -1);
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
    return findSummedOps(problem, producers, accumulate);
  }

  /// The first three products on position 0, the last one on position 1.
  PlanningAnswer plan(const PlanCosts &costs) const {
    PlanningAnswer answer;
    answer.mesh = Mesh({{"pp0", 2, AxisRole::pipeline}});
    for (const PlanningOp &op : problem.ops) {
      answer.assignments.push_back(FactorAssignment::getReplicated(op.rule));
      answer.stages.push_back(0);
    }
    for (const PlanningValue &value : problem.values)
      answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      bool isOfLast = index == 3 || index == 4 || index == 5;
      answer.stages[index] = isOfLast ? 1 : 0;
    }
    // The sum of the last gradient, and its update, are with it.
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (op.accumulates && op.operands[0] == problem.ops[5].results[0])
        answer.stages[index] = 1;
    answer.stages.back() = 1;
    ScheduleShape shape{ScheduleKind::oneForwardOneBackward, 2, 4, 1};
    answer.pipeline = PipelineChoice{shape, StageTimes(2), {}, {}};
    setPipelineTimes(problem, costs, answer);
    return answer;
  }
};

TEST(TiedGradients, AreMadeOfOnePartPerReader) {
  EXPECT_EQ(Model(1).findParts().size(), 1u);
  EXPECT_EQ(Model(2).findParts().size(), 2u);
  EXPECT_EQ(Model(3).findParts().size(), 3u);
}

TEST(TiedGradients, TakeASumPerReaderOfTheStage) {
  SimpleCosts costs;
  // Three weights or one, three sums of gradients either way.
  Model untied(1), tied(3);
  PlanningAnswer ofUntied = untied.plan(costs), ofTied = tied.plan(costs);
  StageMemory free = getStageMemory(untied.problem, ofUntied);
  StageMemory shared = getStageMemory(tied.problem, ofTied);
  constexpr int64_t bytes = 8 * 8 * 4;
  EXPECT_GE(free.positions[0].gradientBytes, 3 * bytes);
  EXPECT_GE(shared.positions[0].gradientBytes, 3 * bytes);
  EXPECT_EQ(shared.positions[0].parameterBytes,
            free.positions[0].parameterBytes - 2 * bytes);
}

} // namespace
