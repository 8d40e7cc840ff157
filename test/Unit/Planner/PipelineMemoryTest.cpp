//===- PipelineMemoryTest.cpp - What positions of a pipeline hold ---------===//

#include "PipelineSteps.h"

using namespace parplan;
using namespace parplan::test;

namespace {

/// The same with the gradient of each weight before that of the input.
PlanningProblem readGradientsOfWeightsFirst(PlanningProblem problem) {
  for (size_t op = 0; op + 1 < problem.ops.size(); ++op)
    if (problem.ops[op].role == OpRole::inputGradient &&
        problem.ops[op + 1].role == OpRole::weightGradient)
      std::swap(problem.ops[op], problem.ops[op + 1]);
  return problem;
}

TEST(PipelineMemory, HoldsWhatArrivesStagesBeforeItIsRead) {
  // What the first stage makes, which is large, is read by the last one, too.
  const int64_t widths[] = {8, 64, 8, 8, 64};
  auto getPeaks = [&](bool skips, bool handsOn = false) {
    ProblemBuilder builder;
    builder.problem.microBatches = 8;
    int value = builder.addInput({8, 8}), first = -1;
    std::vector<int> weights;
    std::vector<ProblemBuilder::Layer> layers;
    for (int layer = 0; layer < 4; ++layer) {
      weights.push_back(
          builder.addParameter({widths[layer], widths[layer + 1]}));
      layers.push_back(builder.addLayer(value, weights.back()));
      value = layers.back().result;
      if (layer == 0)
        first = value;
    }
    builder.addElementwise({value, skips ? first : value});
    builder.setRole(OpRole::forward);
    builder.problem.ops.back().perMicroBatch = true;
    int gradient = builder.addInput({8, 64});
    std::vector<int> sums(4);
    for (int layer = 4; layer-- > 0;) {
      auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
      gradient = ofInput;
      sums[layer] = builder.addAccumulate(ofWeight);
    }
    for (int layer = 0; layer < 4; ++layer)
      builder.addUpdate(weights[layer], sums[layer]);
    PlanResult result = solveChecked(
        builder.problem, makeRequest(4, ScheduleKind::oneForwardOneBackward),
        FreeMessages());
    PlanningAnswer answer =
        cutAt(builder.problem, *result.answer, {0, 1, 2, 3}, FreeMessages());
    answer.relayed.assign(builder.problem.ops.size(), false);
    answer.relayed[0] = handsOn;
    return evaluatePlan(builder.problem, answer, FreeMessages())
        .positionPeakBytes;
  };
  std::vector<int64_t> chain = getPeaks(false), skip = getPeaks(true),
                       handed = getPeaks(true, /*handsOn=*/true);
  int64_t block = 8 * 64 * 4;
  EXPECT_EQ(skip[1], chain[1]);
  // When the last stage begins its first backward pass, the first one has made
  // three more.
  EXPECT_EQ(skip[3], chain[3] + 3 * block);
  // From the stage before, the next one comes with what that makes itself.
  EXPECT_EQ(handed[3], chain[3] + block);
}

TEST(PipelineMemory, HoldsWhatTheScheduleHasInFlight) {
  PlanningProblem problem =
      makeChain({8, 8, 8, 8, 8, 8, 8, 8, 8}, /*microBatches=*/8);
  auto getPeaks = [&](ScheduleKind kind) {
    PlanResult result =
        solveChecked(problem, makeRequest(4, kind), FreeMessages());
    PlanningAnswer answer =
        cutAt(problem, *result.answer, {0, 2, 4, 6}, FreeMessages());
    return evaluatePlan(problem, answer, FreeMessages()).positionPeakBytes;
  };
  std::vector<int64_t> gpipe = getPeaks(ScheduleKind::gpipe);
  std::vector<int64_t> steady = getPeaks(ScheduleKind::oneForwardOneBackward);
  ASSERT_EQ(gpipe.size(), 4u);
  // A stage keeps the inputs of its two products; the first one is loaded.
  int64_t block = 8 * 8 * 4;
  for (int64_t position = 0; position < 4; ++position) {
    int64_t saved = position == 0 ? block : 2 * block;
    // 1F1B receives the next input while it is in a backward pass.
    int64_t waiting = position > 0 ? block : 0;
    EXPECT_EQ(gpipe[position] - steady[position] + waiting,
              (8 - std::min<int64_t>(8, 4 - position)) * saved)
        << position;
  }
}

TEST(PipelineMemory, KeepsWhatGradientsOfWeightsReadInAnyOrderOfTheProgram) {
  PlanningProblem inputsFirst = makeChain({8, 8, 8, 8, 8}, /*microBatches=*/8);
  PlanningProblem weightsFirst = readGradientsOfWeightsFirst(inputsFirst);
  auto getPeaks = [](const PlanningProblem &problem) {
    PlanResult result = solveChecked(
        problem, makeRequest(4, ScheduleKind::zbH1), FreeMessages());
    PlanningAnswer answer =
        cutAt(problem, *result.answer, {0, 1, 2, 3}, FreeMessages());
    return evaluatePlan(problem, answer, FreeMessages()).positionPeakBytes;
  };
  // Passes of one kind run together, whatever is between them in the program.
  EXPECT_EQ(getPeaks(weightsFirst), getPeaks(inputsFirst));
}

TEST(PipelineMemory, ReceivesGradientsOfActivationsWhoeverReadsThemFirst) {
  PlanningProblem inputsFirst = makeChain({8, 8, 8, 8, 8}, /*microBatches=*/8);
  PlanningProblem weightsFirst = readGradientsOfWeightsFirst(inputsFirst);
  SimpleCosts costs;
  auto getSeconds = [&](const PlanningProblem &problem) {
    PlanResult result = solveChecked(
        problem, makeRequest(4, ScheduleKind::oneForwardOneBackward), costs);
    PlanningAnswer answer = cutAt(problem, *result.answer, {0, 1, 2, 3}, costs);
    return evaluatePlan(problem, answer, costs).stepTimeSeconds;
  };
  // Each is a message of a micro-batch; that of a tied weight is one of a step.
  EXPECT_DOUBLE_EQ(getSeconds(weightsFirst), getSeconds(inputsFirst));
}

TEST(PipelineMemory, LetsLessWaitForWeightGradientsWhereMemoryDecides) {
  PlanningProblem problem =
      makeChain({8, 8, 8, 8, 8, 8, 8, 8, 8}, /*microBatches=*/8);
  PlanRequest request = makeRequest(4, ScheduleKind::zbH1);
  PlanResult free = solveChecked(problem, request, FreeMessages());
  EXPECT_FALSE(free.answer->pipeline->room.isLimited());
  request.memoryLimitBytes = free.evaluation.peakBytes - 1;
  PlanResult tight = solve(problem, request, FreeMessages());
  ASSERT_TRUE(tight.answer);
  EXPECT_TRUE(tight.answer->pipeline->room.isLimited());
  EXPECT_LE(tight.evaluation.peakBytes, request.memoryLimitBytes);
}

TEST(PipelineMemory, MovesCutsWhereMemoryDecides) {
  PlanningProblem problem = makeChain({8, 8, 8, 8, 64, 64}, 4);
  PlanRequest request = makeRequest(2, ScheduleKind::oneForwardOneBackward);
  PlanResult free = solveChecked(problem, request, FreeMessages());
  request.memoryLimitBytes = free.evaluation.peakBytes - 1;
  PlanResult tight = solve(problem, request, FreeMessages());
  if (tight.answer) {
    EXPECT_LE(tight.evaluation.peakBytes, request.memoryLimitBytes);
    EXPECT_GE(tight.evaluation.stepTimeSeconds,
              free.evaluation.stepTimeSeconds * (1 - 1e-9));
  } else {
    EXPECT_LT(tight.smallestBytes, noLimit);
  }
}

} // namespace
