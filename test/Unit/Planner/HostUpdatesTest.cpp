//===- HostUpdatesTest.cpp - Updates that run on the host -----------------===//

#include "Residual.h"
#include "TrainingSteps.h"

#include "lib/Planner/Evaluation/Offload.h"

#include "parplan/Planner/FindPlan.h"

using namespace parplan;
using namespace parplan::test;

namespace {

/// A host computes by its memory alone.
class HostCosts : public SimpleCosts {
public:
  explicit HostCosts(double secondsPerByte) : secondsPerByte(secondsPerByte) {}

  double getTransferSeconds(MemoryTier, MemoryTier, int64_t) const override {
    return 0;
  }
  double getHostOpSeconds(const OpCost &cost) const override {
    return secondsPerByte *
           static_cast<double>(cost.bytesRead + cost.bytesWritten);
  }

private:
  double secondsPerByte;
};

/// The first `count` updates of a plan.
PlanningAnswer move(const PlanningProblem &problem, PlanningAnswer answer,
                    int count = 1) {
  answer.tiers.assign(problem.values.size(), MemoryTier::device);
  for (const PlanningOp &op : problem.ops)
    if (updatesParameter(problem, op) && count-- > 0)
      moveUpdate(problem, op, MemoryTier::host, answer.tiers);
  answer.inPieces = findUpdatedPieces(problem, answer);
  EXPECT_EQ(verifyAnswer(problem, answer), std::vector<std::string>());
  return answer;
}

constexpr int64_t weightBytes = 16 * 16 * 4;

/// Two layers, each with a weight and two states of it. `isNarrow`: passes read
/// a copy of half the bytes.
PlanningProblem makeLayers(bool isNarrow) {
  ProblemBuilder builder;
  int value = builder.addInput({64, 16});
  std::vector<int> weights;
  std::vector<ProblemBuilder::Layer> layers;
  for (int number = 0; number < 2; ++number) {
    weights.push_back(builder.addParameter({16, 16}));
    int read = weights.back();
    if (isNarrow) {
      read = builder.addElementwise({read});
      builder.problem.ops.back().perMicroBatch = false;
      builder.problem.values[read].elementBytes = 2;
    }
    layers.push_back(builder.addLayer(value, read));
    value = layers.back().result;
  }
  int gradient = builder.addInput({64, 16});
  for (size_t number = layers.size(); number-- > 0;) {
    auto [ofInput, ofWeight] = layers[number].addBackward(gradient);
    gradient = ofInput;
    builder.addUpdate(weights[number], ofWeight, /*stateCount=*/2);
  }
  return std::move(builder.problem);
}

/// What leaves the device with the second update.
int64_t getMovedBytes(bool isNarrow) {
  PlanningProblem problem = makeLayers(isNarrow);
  PlanningAnswer answer = *solveChecked(problem, makeRequest(1, 1)).answer;
  return getPeakBytes(problem, move(problem, answer, 1)) -
         getPeakBytes(problem, move(problem, answer, 2));
}

TEST(HostUpdates, TakeStatesFromTheDevice) {
  EXPECT_EQ(getMovedBytes(/*isNarrow=*/false), 2 * weightBytes);
}

TEST(HostUpdates, TakeParametersOfWhichPassesReadCopies) {
  EXPECT_EQ(getMovedBytes(/*isNarrow=*/true), 3 * weightBytes);
}

TEST(HostUpdates, LeaveWhatDevicesExchangeForThem) {
  PlanningProblem problem = makeTrainedLayer(/*microBatches=*/1);
  HostCosts costs(/*secondsPerByte=*/0);
  for (int stage : {1, 2, 3}) {
    SCOPED_TRACE("ZeRO-" + std::to_string(stage));
    PlanningAnswer answer =
        *solveChecked(problem, makeRequest(2, 1, stage)).answer;
    PlanningAnswer away = move(problem, answer);
    double before =
        evaluatePlan(problem, answer, costs).dataCommunicationSeconds;
    EXPECT_GT(before, 0);
    EXPECT_DOUBLE_EQ(
        evaluatePlan(problem, away, costs).dataCommunicationSeconds, before);
  }
}

StepProblems getSteps() {
  return {{1, 2}, [](int64_t count) {
            return std::optional(
                Residual({.microBatches = count, .samples = 8 / count})
                    .makeTraining());
          }};
}

/// `limitBytes` of two devices, which keep everything.
PlanResult find(int64_t limitBytes, const PlanCosts &costs,
                bool updatesMayMove = true) {
  PlanRequest request;
  request.deviceCount = 2;
  request.recompute = RecomputeKind::none;
  request.memoryLimitBytes = limitBytes;
  request.hostLimitBytes = noLimit;
  request.updatesMayMove = updatesMayMove;
  return findPlan(getSteps(), request, costs).result;
}

int countMoved(const PlanResult &result) {
  PlanningProblem problem = *getSteps().get(result.microBatches)->get();
  int count = 0;
  for (size_t op = 0; op < problem.ops.size(); ++op)
    count += isOnHost(problem, *result.answer, static_cast<int>(op));
  return count;
}

TEST(HostUpdates, AreOnTheDeviceWhereAllFits) {
  HostCosts costs(/*secondsPerByte=*/1);
  PlanResult onDevice = find(noLimit, costs, /*updatesMayMove=*/false),
             found = find(noLimit, costs);
  ASSERT_TRUE(found.answer);
  EXPECT_TRUE(found.answer->tiers.empty());
  EXPECT_EQ(found.evaluation.stepTimeSeconds,
            onDevice.evaluation.stepTimeSeconds);
}

TEST(HostUpdates, AreAsManyAsMemoryAsksFor) {
  HostCosts costs(/*secondsPerByte=*/1e-3);
  int64_t limit = 0;
  // The least that plans need with all of it on the device.
  for (int64_t step = int64_t(1) << 16; step > 0; step /= 2)
    if (!find(limit + step, costs, /*updatesMayMove=*/false).answer)
      limit += step;
  std::vector<int> moved;
  double seconds = 0;
  for (int64_t percent : {100, 90, 80}) {
    SCOPED_TRACE(std::to_string(percent) + " %");
    PlanResult found = find(limit * percent / 100, costs);
    ASSERT_TRUE(found.answer);
    EXPECT_LE(found.evaluation.peakBytes, limit * percent / 100);
    EXPECT_GE(found.evaluation.stepTimeSeconds, seconds);
    seconds = found.evaluation.stepTimeSeconds;
    EXPECT_LE(found.certificate.lowerBoundSeconds, seconds);
    moved.push_back(countMoved(found));
  }
  EXPECT_GT(moved.front(), 0);
  EXPECT_LT(moved.front(), moved.back());
}

} // namespace
