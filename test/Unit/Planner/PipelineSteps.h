//===- PipelineSteps.h - Chains of products in stages -----------*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_PIPELINESTEPS_H
#define PARPLAN_TEST_UNIT_PLANNER_PIPELINESTEPS_H

#include "TestProblems.h"

#include "lib/Planner/Completion/Staging.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

namespace parplan {
namespace test {

inline constexpr int64_t noLimit = int64_t(1) << 40;

/// Messages cost nothing.
class FreeMessages : public SimpleCosts {
public:
  using SimpleCosts::getCollectiveSeconds;
  double getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                              llvm::ArrayRef<int> axes,
                              int64_t bytes) const override {
    return kind == CollectiveKind::send
               ? 0
               : SimpleCosts::getCollectiveSeconds(kind, mesh, axes, bytes);
  }
};

/// Products after each other from the first width to the last, with a backward
/// pass and updates. `meets`: updates wait for the sum of all squares.
inline PlanningProblem makeChain(llvm::ArrayRef<int64_t> widths,
                                 int64_t microBatches, bool meets = true) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int value = builder.addInput({8, widths.front()});
  std::vector<int> weights;
  std::vector<ProblemBuilder::Layer> layers;
  for (size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    weights.push_back(builder.addParameter({widths[layer], widths[layer + 1]}));
    layers.push_back(builder.addLayer(value, weights.back()));
    builder.problem.ops.back().block = static_cast<int64_t>(layer) / 2;
    value = layers.back().result;
  }
  int gradient = builder.addInput({8, widths.back()});
  std::vector<int> sums(layers.size());
  for (size_t layer = layers.size(); layer-- > 0;) {
    auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
    gradient = ofInput;
    sums[layer] = builder.addAccumulate(ofWeight);
  }
  std::vector<int> squares;
  for (size_t layer = 0; layer < layers.size() && meets; ++layer)
    squares.push_back(builder.addSquareSum(sums[layer], -1));
  if (meets) {
    builder.addElementwise(squares);
    builder.setRole(OpRole::optimizer);
    builder.problem.ops.back().perMicroBatch = false;
  }
  for (size_t layer = 0; layer < layers.size(); ++layer)
    builder.addUpdate(weights[layer], sums[layer]);
  return std::move(builder.problem);
}

inline PlanRequest makeRequest(int64_t positions, ScheduleKind kind,
                               int64_t chunks = 1) {
  PlanRequest request;
  request.deviceCount = request.pipelineSize.emplace(positions);
  request.memoryLimitBytes = noLimit;
  request.schedule = {kind, chunks};
  return request;
}

inline PlanResult solveChecked(const PlanningProblem &problem,
                               const PlanRequest &request,
                               const PlanCosts &costs) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  PlanResult result = solve(problem, request, costs);
  for (const std::string &refusal : result.refusals)
    ADD_FAILURE() << refusal;
  EXPECT_TRUE(result.answer);
  if (!result.answer)
    return result;
  for (const std::string &violation : verifyAnswer(problem, *result.answer))
    ADD_FAILURE() << violation;
  EXPECT_LE(result.certificate.lowerBoundSeconds,
            result.certificate.upperBoundSeconds);
  EXPECT_FALSE(result.certificate.exact);
  EXPECT_NEAR(result.objectiveSeconds,
              getLayoutSeconds(problem, *result.answer, costs),
              1e-9 * result.objectiveSeconds);
  return result;
}

/// `answer` cut otherwise.
inline PlanningAnswer cutAt(const PlanningProblem &problem,
                            PlanningAnswer answer,
                            llvm::ArrayRef<int> firstUnits,
                            const PlanCosts &costs) {
  StageUnits units = getStageUnits(problem, answer, costs);
  std::vector<int> stageOfUnit;
  for (int unit = 0; unit < units.getCount(); ++unit)
    stageOfUnit.push_back(static_cast<int>(
        llvm::count_if(firstUnits, [&](int first) { return first <= unit; }) -
        1));
  answer.stages = spreadStages(problem, units, stageOfUnit);
  setPipelineTimes(problem, costs, answer);
  return answer;
}

} // namespace test
} // namespace parplan

#endif // PARPLAN_TEST_UNIT_PLANNER_PIPELINESTEPS_H
