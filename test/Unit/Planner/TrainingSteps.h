//===- TrainingSteps.h - Steps of a layer that is trained -------*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_TRAININGSTEPS_H
#define PARPLAN_TEST_UNIT_PLANNER_TRAININGSTEPS_H

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

namespace parplan {
namespace test {

inline constexpr int64_t noLimit = int64_t(1) << 40;

inline PlanRequest makeRequest(int64_t data, int64_t tensor,
                               std::optional<int> zeroStage = std::nullopt) {
  PlanRequest request;
  request.deviceCount = data * tensor;
  request.dataSize = data;
  request.tensorSize = tensor;
  request.memoryLimitBytes = noLimit;
  request.zeroStage = zeroStage;
  return request;
}

/// One layer from an input and the gradient of its result, with an update.
inline PlanningProblem makeTrainedLayer(int64_t microBatches,
                                        bool isAccumulated = true,
                                        int64_t size = 16) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int x = builder.addInput({8, size});
  int weight = builder.addParameter({size, size});
  auto layer = builder.addLayer(x, weight);
  auto [ofInput, ofWeight] = layer.addBackward(builder.addInput({8, size}));
  builder.addUpdate(weight,
                    isAccumulated ? builder.addAccumulate(ofWeight) : ofWeight);
  return std::move(builder.problem);
}

inline PlanResult solveChecked(const PlanningProblem &problem,
                               const PlanRequest &request) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  PlanResult result = solve(problem, request, SimpleCosts());
  EXPECT_TRUE(result.answer);
  if (!result.answer)
    return result;
  for (const std::string &violation : verifyAnswer(problem, *result.answer))
    ADD_FAILURE() << violation;
  EXPECT_NEAR(result.objectiveSeconds, result.evaluation.stepTimeSeconds,
              1e-9 * result.objectiveSeconds);
  return result;
}

} // namespace test
} // namespace parplan

#endif // PARPLAN_TEST_UNIT_PLANNER_TRAININGSTEPS_H
