//===- LastResortTest.cpp - Plans where nothing else fits -----------------===//

#include "TestProblems.h"

#include "lib/Planner/Completion/Completion.h"
#include "lib/Planner/Completion/OffloadLess.h"
#include "lib/Planner/Evaluation/StepTime.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <tuple>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;

/// Blocks of a product and an elementwise op, with a backward pass and updates.
PlanningProblem makeBlocks(int64_t blocks, int64_t microBatches, int64_t rows,
                           int64_t width) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int value = builder.addInput({rows, width});
  std::vector<int> weights;
  std::vector<ProblemBuilder::Layer> layers;
  for (int64_t number = 0; number < blocks; ++number) {
    weights.push_back(builder.addParameter({width, width}));
    layers.push_back(builder.addLayer(value, weights.back()));
    builder.problem.ops.back().block = number;
    layers.push_back(builder.addNormLayer(layers.back().result));
    builder.problem.ops.back().block = number;
    value = layers.back().result;
  }
  int gradient = builder.addInput({rows, width});
  std::vector<int> sums(weights.size());
  for (size_t block = weights.size(); block-- > 0;) {
    gradient = layers[2 * block + 1].addBackward(gradient).first;
    auto [ofInput, ofWeight] = layers[2 * block].addBackward(gradient);
    gradient = ofInput;
    sums[block] = builder.addAccumulate(ofWeight);
  }
  for (size_t block = 0; block < weights.size(); ++block)
    builder.addUpdate(weights[block], sums[block], /*stateCount=*/2);
  return std::move(builder.problem);
}

/// Transfers take time.
class TierCosts : public SimpleCosts {
public:
  explicit TierCosts(double secondsPerByte) : secondsPerByte(secondsPerByte) {}

  double getTransferSeconds(MemoryTier, MemoryTier,
                            int64_t bytes) const override {
    return static_cast<double>(bytes) * secondsPerByte;
  }
  double getHostOpSeconds(const OpCost &cost) const override {
    return cost.flops / 1000;
  }

private:
  double secondsPerByte;
};

PlanRequest makeRequest(int64_t devices) {
  PlanRequest request;
  request.deviceCount = devices;
  request.tensorSize = 1;
  request.zeroStage = devices > 1 ? std::optional<int>(0) : std::nullopt;
  request.memoryLimitBytes = request.hostLimitBytes = request.nvmeLimitBytes =
      noLimit;
  return request;
}

/// What fits of everything that the request leaves open, one by one.
std::vector<PlanResult> solveAll(const PlanningProblem &problem,
                                 const PlanRequest &request,
                                 const PlanCosts &costs) {
  constexpr MemoryTier device = MemoryTier::device, host = MemoryTier::host,
                       nvme = MemoryTier::nvme;
  std::vector<PlanResult> results;
  for (int64_t positions : {1, 2})
    for (RecomputeKind kind :
         {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
      for (OffloadChoice offload :
           {OffloadChoice(), OffloadChoice{host, device, false},
            OffloadChoice{device, device, true},
            OffloadChoice{host, host, false},
            OffloadChoice{nvme, nvme, false}}) {
        if (request.deviceCount % positions != 0)
          continue;
        PlanRequest forced = request;
        forced.pipelineSize = positions;
        forced.recompute = kind;
        forced.offload = offload;
        if (positions > 1)
          forced.dataSize.reset();
        PlanResult result = solve(problem, forced, costs);
        if (result.answer)
          results.push_back(std::move(result));
      }
  return results;
}

TEST(LastResort, IsNoSlowerThanAnyOfThemAndItsBoundHoldsForAll) {
  int foundCount = 0;
  // Many activations, or many parameters, whose transfers are cheap or not.
  for (auto [rows, width, secondsPerByte] :
       {std::tuple<int64_t, int64_t, double>{64, 8, 1e-6}, {16, 32, 1e-3}})
    for (int64_t devices : {1, 2}) {
      PlanningProblem problem = makeBlocks(4, 2, rows, width);
      TierCosts costs(secondsPerByte);
      PlanRequest request = makeRequest(devices);
      PlanResult free = choosePlanOf(problem, request, costs);
      ASSERT_TRUE(free.answer);
      request.memoryLimitBytes = free.evaluation.peakBytes * 6 / 10;
      std::vector<PlanResult> all = solveAll(problem, request, costs);
      PlanResult found = choosePlanOf(problem, request, costs);
      ASSERT_TRUE(found.answer || all.empty());
      if (!found.answer)
        continue;
      ++foundCount;
      EXPECT_TRUE(verifyAnswer(problem, *found.answer).empty());
      EXPECT_LE(found.evaluation.peakBytes, request.memoryLimitBytes);
      EXPECT_FALSE(found.certificate.exact);
      EXPECT_EQ(found.certificate.upperBoundSeconds,
                found.evaluation.stepTimeSeconds);
      for (const PlanResult &other : all) {
        // Not every combination is looked at.
        if (other.answer->recomputed.empty() || other.answer->tiers.empty()) {
          EXPECT_LE(found.evaluation.stepTimeSeconds,
                    other.evaluation.stepTimeSeconds * (1 + 1e-9));
        }
        EXPECT_LE(found.certificate.lowerBoundSeconds,
                  other.evaluation.stepTimeSeconds * (1 + 1e-9));
      }
    }
  EXPECT_EQ(foundCount, 4);
}

TEST(LastResort, DependsOnWhatTransfersTake) {
  // Parameters and states are almost all of it.
  PlanningProblem problem = makeBlocks(8, 4, 16, 32);
  PlanRequest request = makeRequest(1);
  PlanResult free = choosePlanOf(problem, request, TierCosts(0));
  request.memoryLimitBytes = free.evaluation.peakBytes * 6 / 10;
  PlanResult found = choosePlanOf(problem, request, TierCosts(1e-9));
  ASSERT_TRUE(found.answer);
  EXPECT_FALSE(found.answer->tiers.empty());
  request.hostLimitBytes = 0;
  EXPECT_FALSE(choosePlanOf(problem, request, TierCosts(1e-9)).answer);
}

/// Updates that run on the device of a plan, and all.
std::pair<int, int> countUpdates(const PlanningProblem &problem,
                                 const PlanningAnswer &answer) {
  int onDevice = 0, all = 0;
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.updates < 0 ||
        problem.values[value.updates].kind != ValueKind::parameter)
      continue;
    ++all;
    onDevice += answer.getTier(index) == MemoryTier::device;
  }
  return {onDevice, all};
}

TEST(LastResort, OffloadsNoMoreThanMemoryAsksFor) {
  // Parameters and states are almost all of it.
  PlanningProblem problem = makeBlocks(8, 4, 16, 32);
  TierCosts costs(1e-3);
  PlanRequest request = makeRequest(1);
  request.recompute = RecomputeKind::none;
  PlanResult free = choosePlanOf(problem, request, costs);
  ASSERT_TRUE(free.answer);
  PlanRequest forced = request;
  forced.offload = OffloadChoice{MemoryTier::host, MemoryTier::device, false};
  PlanResult away = choosePlanOf(problem, forced, costs);
  ASSERT_TRUE(away.answer);
  EXPECT_EQ(countUpdates(problem, *away.answer), std::pair(0, 8));
  request.memoryLimitBytes =
      (free.evaluation.peakBytes + away.evaluation.peakBytes) / 2;
  PlanResult found = choosePlanOf(problem, request, costs);
  ASSERT_TRUE(found.answer);
  EXPECT_TRUE(verifyAnswer(problem, *found.answer).empty());
  EXPECT_LE(found.evaluation.peakBytes, request.memoryLimitBytes);
  EXPECT_EQ(countUpdates(problem, *found.answer), std::pair(4, 8));
  EXPECT_LT(found.evaluation.stepTimeSeconds, away.evaluation.stepTimeSeconds);
  EXPECT_GT(found.evaluation.stepTimeSeconds, free.evaluation.stepTimeSeconds);
}

TEST(LastResort, IsAsFastAsOnTheDeviceWhereThereIsMemory) {
  PlanningProblem problem = makeBlocks(8, 4, 16, 32);
  TierCosts costs(1e-3);
  constexpr MemoryTier host = MemoryTier::host;
  for (int64_t positions : {1, 2}) {
    PlanRequest request = makeRequest(positions);
    request.pipelineSize = positions;
    request.recompute = RecomputeKind::none;
    request.offload = OffloadChoice();
    PlanResult kept = solve(problem, request, costs);
    ASSERT_TRUE(kept.answer);
    int64_t most = kept.evaluation.peakBytes;
    request.offload = OffloadChoice{host, host, true};
    PlanResult away = solve(problem, request, costs);
    ASSERT_TRUE(away.answer);
    int64_t least = away.evaluation.peakBytes;
    for (int part = 0; part <= 4; ++part) {
      request.memoryLimitBytes =
          part == 4 ? noLimit : least + (most - least) * part / 4;
      CompletedPlan plan =
          offloadLess(problem, request, costs, {*away.answer, away.evaluation},
                      std::chrono::steady_clock::time_point::max());
      EXPECT_TRUE(verifyAnswer(problem, plan.answer).empty());
      EXPECT_LE(plan.evaluation.peakBytes, request.memoryLimitBytes);
      EXPECT_LE(plan.evaluation.stepTimeSeconds,
                away.evaluation.stepTimeSeconds);
      if (part == 4) {
        EXPECT_LE(plan.evaluation.stepTimeSeconds,
                  kept.evaluation.stepTimeSeconds * (1 + 1e-9));
      }
    }
    // Late, it stays as it is.
    CompletedPlan plan =
        offloadLess(problem, request, costs, {*away.answer, away.evaluation},
                    std::chrono::steady_clock::time_point::min());
    EXPECT_EQ(plan.answer, *away.answer);
  }
}

TEST(LastResort, BringsBackNothingWhoseTransfersHide) {
  PlanningProblem problem = makeBlocks(8, 4, 16, 32);
  PlanRequest request = makeRequest(1);
  request.recompute = RecomputeKind::none;
  PlanResult free = choosePlanOf(problem, request, TierCosts(0));
  ASSERT_TRUE(free.answer);
  request.memoryLimitBytes = free.evaluation.peakBytes * 6 / 10;
  // Updates on the device take time, and transfers none.
  PlanResult found = choosePlanOf(problem, request, TierCosts(0));
  ASSERT_TRUE(found.answer);
  EXPECT_EQ(countUpdates(problem, *found.answer), std::pair(0, 8));
}

TEST(LastResort, OrdersAPipelineForWhatIsMadeAgain) {
  PlanningProblem problem = makeBlocks(8, 4, 64, 8);
  TierCosts costs(1);
  PlanRequest request = makeRequest(2);
  request.hostLimitBytes = 0;
  request.pipelineSize = 2;
  request.schedule = {ScheduleKind::oneForwardOneBackward, 1};
  PlanResult free = choosePlanOf(problem, request, costs);
  ASSERT_TRUE(free.answer);
  request.memoryLimitBytes = free.evaluation.peakBytes * 75 / 100;
  PlanResult found = choosePlanOf(problem, request, costs);
  ASSERT_TRUE(found.answer);
  ASSERT_FALSE(found.answer->recomputed.empty());
  StepWork work = getStepWork(problem, *found.answer, costs);
  EXPECT_EQ(found.answer->pipeline->times, work.getTimes());
}

TEST(LastResort, ReturnsAPlanAndABoundWithoutTime) {
  PlanningProblem problem = makeBlocks(4, 2, 64, 8);
  TierCosts costs(1e-6);
  PlanRequest request = makeRequest(2);
  request.memoryLimitBytes =
      choosePlanOf(problem, request, costs).evaluation.peakBytes * 6 / 10;
  PlanResult best = choosePlanOf(problem, request, costs);
  ASSERT_TRUE(best.answer);
  request.timeBudgetSeconds = 0;
  PlanResult found = findLastResort(problem, request, costs);
  ASSERT_TRUE(found.answer);
  EXPECT_GE(found.certificate.upperBoundSeconds,
            best.certificate.lowerBoundSeconds);
  EXPECT_LE(found.certificate.lowerBoundSeconds,
            best.evaluation.stepTimeSeconds * (1 + 1e-9));
}

TEST(LastResort, KnowsWithoutASearchWhatCannotFit) {
  PlanningProblem problem = makeBlocks(8, 4, 16, 32);
  PlanRequest request = makeRequest(4);
  // Parameters and two states, over all devices.
  request.hostLimitBytes = 0;
  int64_t states = 8 * 32 * 32 * 4 * 3 / 4;
  EXPECT_GE(getLeastBytes(problem, request), states);
  request.memoryLimitBytes = states - 1;
  PlanResult result = choosePlanOf(problem, request, TierCosts(0));
  EXPECT_FALSE(result.answer);
  EXPECT_EQ(result.certificate.explored, 0);
  EXPECT_EQ(result.leastBytes, getLeastBytes(problem, request));
  // With other tiers what comes to the device is less, and never nothing.
  request.hostLimitBytes = noLimit;
  request.mayResort = true;
  EXPECT_LT(getLeastBytes(problem, request), states);
  EXPECT_GE(getLeastBytes(problem, request), 32 * 32 * 4 / 4);
}

} // namespace
