//===- FindPlanTest.cpp - One search over all that is open ----------------===//

#include "Residual.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/ScaledProblem.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;
constexpr int64_t samples = 8;

PlanningProblem makeStep(int64_t count, bool isTraining) {
  Residual model(
      {.blocks = 4, .microBatches = count, .samples = samples / count});
  return isTraining ? model.makeTraining() : model.makeForward();
}

StepProblems getSteps(bool isTraining = true) {
  return {{1, 2, 4}, [=](int64_t count) {
            return std::optional(makeStep(count, isTraining));
          }};
}

PlanRequest makeRequest(int64_t devices, int64_t limitBytes = noLimit) {
  PlanRequest request;
  request.deviceCount = devices;
  request.memoryLimitBytes = limitBytes;
  return request;
}

/// The plan of a search, which must be what it says.
FoundPlan findChecked(const StepProblems &steps, const PlanRequest &request,
                      const PlanCosts &costs = SimpleCosts()) {
  FoundPlan found = findPlan(steps, request, costs);
  const PlanResult &result = found.result;
  if (!result.answer)
    return found;
  PlanningProblem problem = *steps.get(result.microBatches)->get();
  EXPECT_EQ(verifyAnswer(problem, *result.answer), std::vector<std::string>());
  PlanEvaluation evaluation = evaluatePlan(problem, *result.answer, costs);
  EXPECT_NEAR(evaluation.stepTimeSeconds, result.evaluation.stepTimeSeconds,
              1e-9 * evaluation.stepTimeSeconds);
  EXPECT_EQ(evaluation.peakBytes, result.evaluation.peakBytes);
  EXPECT_LE(evaluation.peakBytes, request.memoryLimitBytes);
  const Certificate &certificate = result.certificate;
  EXPECT_EQ(certificate.upperBoundSeconds, result.evaluation.stepTimeSeconds);
  EXPECT_GT(certificate.lowerBoundSeconds, 0);
  EXPECT_LE(certificate.lowerBoundSeconds, certificate.upperBoundSeconds);
  return found;
}

/// The fastest of the plans without a pipeline that separate searches find;
/// those with one are cut inside of blocks, too.
double findSeparately(const StepProblems &steps, const PlanRequest &request,
                      const PlanCosts &costs = SimpleCosts()) {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t count : steps.counts) {
    PlanResult result = solve(*steps.get(count)->get(), request, costs);
    if (result.answer)
      least = std::min(least, result.evaluation.stepTimeSeconds);
  }
  return least;
}

TEST(FindPlan, IsNoWorseThanSeparateSearches) {
  for (bool isTraining : {false, true})
    for (int64_t devices : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(devices) + " devices");
      StepProblems steps = getSteps(isTraining);
      PlanRequest request = makeRequest(devices);
      FoundPlan found = findChecked(steps, request);
      ASSERT_TRUE(found.result.answer);
      double separately = findSeparately(steps, request);
      EXPECT_LE(found.result.evaluation.stepTimeSeconds, separately * 1.005);
      EXPECT_LE(found.result.certificate.lowerBoundSeconds,
                separately * (1 + 1e-9));
    }
}

TEST(FindPlan, BoundsStepsWhoseOpsAreFasterInParts) {
  for (double mostFlops : {64.0, 256.0, 1024.0, 4096.0})
    for (int64_t devices : {2, 4}) {
      SCOPED_TRACE(std::to_string(mostFlops) + " flops on " +
                   std::to_string(devices) + " devices");
      FasterInParts costs(mostFlops);
      PlanRequest request = makeRequest(devices);
      FoundPlan found = findChecked(getSteps(), request, costs);
      ASSERT_TRUE(found.result.answer);
      double separately = findSeparately(getSteps(), request, costs);
      EXPECT_LE(found.result.evaluation.stepTimeSeconds, separately * 1.005);
      EXPECT_LE(found.result.certificate.lowerBoundSeconds,
                separately * (1 + 1e-9));
    }
}

/// Of a model whose ends share a weight, on two replicas.
static void checkTiedGradients(int64_t microBatches) {
  StepProblems steps = {{microBatches}, [](int64_t count) {
                          ResidualShape shape;
                          shape.isTiedAtEnds = true;
                          shape.microBatches = count;
                          return std::optional(Residual(shape).makeTraining());
                        }};
  PlanRequest request = makeRequest(2);
  request.dataSize = 2;
  request.pipelineSize = 1;
  FoundPlan found = findChecked(steps, request);
  ASSERT_TRUE(found.result.answer);
  request.pipelineSize.reset();
  double separately = findSeparately(steps, request);
  EXPECT_LE(found.result.evaluation.stepTimeSeconds, separately * (1 + 1e-9));
  EXPECT_LE(found.result.certificate.lowerBoundSeconds,
            separately * (1 + 1e-9));
}

TEST(FindPlan, AddsUpGradientsOfTiedWeightsBeforeTheyAreReduced) {
  checkTiedGradients(/*microBatches=*/1);
}

TEST(FindPlan, ReducesGradientsOfTiedWeightsOncePerStep) {
  checkTiedGradients(/*microBatches=*/64);
}

TEST(FindPlan, BoundsWhatFits) {
  StepProblems steps = getSteps();
  int64_t peak = findChecked(steps, makeRequest(2)).result.evaluation.peakBytes;
  for (int64_t percent : {80, 50}) {
    SCOPED_TRACE(std::to_string(percent) + " %");
    PlanRequest request = makeRequest(2, peak * percent / 100);
    FoundPlan found = findChecked(steps, request);
    double separately = findSeparately(steps, request);
    if (found.result.answer) {
      EXPECT_LE(found.result.certificate.lowerBoundSeconds,
                separately * (1 + 1e-9));
    } else {
      EXPECT_GT(found.result.smallestBytes, request.memoryLimitBytes);
    }
  }
}

TEST(FindPlan, BoundsReplicasByStepsThatNoneOfThemRuns) {
  std::vector<int64_t> asked;
  StepProblems steps = getSteps();
  PlanResult before = findChecked(steps, makeRequest(4)).result;
  steps.parts = {{1, 2, 4, 8}, [&](int64_t count) {
                   asked.push_back(count);
                   return std::optional(makeStep(count, /*isTraining=*/true));
                 }};
  PlanResult found = findChecked(steps, makeRequest(4)).result;
  // Two replicas have four micro-batches each.
  EXPECT_EQ(asked, std::vector<int64_t>{8});
  EXPECT_EQ(found.evaluation.stepTimeSeconds,
            before.evaluation.stepTimeSeconds);
}

TEST(FindPlan, FindsOnALineWhatItFindsInWholeSteps) {
  auto makeSized = [](int64_t count, int64_t samplesOfEach) {
    return Residual(
               {.blocks = 4, .microBatches = count, .samples = samplesOfEach})
        .makeTraining();
  };
  std::vector<int64_t> counts = {1, 2, 4, 8};
  ScaledProblem scaled(samples, counts, /*isFree=*/true,
                       [&](int64_t count, int64_t samplesOfEach) {
                         return std::optional(makeSized(count, samplesOfEach));
                       });
  StepProblems onLine = {
      counts,
      [&](int64_t count) { return scaled.get(count); },
      StepProblems::Parts{counts,
                          [&](int64_t count) { return scaled.getPart(count); }},
  };
  auto getWhole = [&](int64_t count) {
    return std::optional<StepProblem>(makeSized(count, samples / count));
  };
  StepProblems whole = {counts, getWhole,
                        StepProblems::Parts{counts, getWhole}};
  ASSERT_TRUE(onLine.get(2)->getLine());
  for (int64_t limit : {noLimit, int64_t(3000)}) {
    SCOPED_TRACE(std::to_string(limit) + " B");
    PlanRequest request = makeRequest(4, limit);
    FoundPlan one = findChecked(onLine, request),
              other = findChecked(whole, request);
    ASSERT_EQ(one.result.answer.has_value(), other.result.answer.has_value());
    EXPECT_EQ(one.result.certificate.upperBoundSeconds,
              other.result.certificate.upperBoundSeconds);
    EXPECT_EQ(one.result.certificate.lowerBoundSeconds,
              other.result.certificate.lowerBoundSeconds);
    EXPECT_EQ(one.evaluations, other.evaluations);
    EXPECT_EQ(one.judgedPlans, other.judgedPlans);
  }
}

TEST(FindPlan, KeepsToWhatIsForced) {
  PlanRequest request = makeRequest(4);
  request.pipelineSize = 2;
  request.dataSize = 2;
  FoundPlan found = findChecked(getSteps(), request);
  ASSERT_TRUE(found.result.answer);
  EXPECT_EQ(found.result.answer->getPositionCount(), 2);
  EXPECT_EQ(found.result.answer->mesh.getRankCount(), 4);
}

TEST(FindPlan, LeavesOutMeshesWithMoreTensorRanks) {
  FindPlanOptions options;
  options.mostTensorRanks = 1;
  StepProblems steps = getSteps();
  for (int64_t devices : {2, 4}) {
    PlanResult found =
        findPlan(steps, makeRequest(devices), SimpleCosts(), options).result;
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(getTensorAxes(found.answer->mesh), AxisList());
    // It is not known how good those are.
    EXPECT_FALSE(found.certificate.exact);
  }
}

TEST(FindPlan, HasAsManyTensorRanksAsAreForced) {
  FindPlanOptions options;
  options.mostTensorRanks = 1;
  StepProblems steps = getSteps();
  PlanRequest forced = makeRequest(4), implied = forced;
  forced.tensorSize = 4;
  implied.dataSize = implied.pipelineSize = 1;
  for (const PlanRequest &request : {forced, implied}) {
    PlanResult found = findPlan(steps, request, SimpleCosts(), options).result;
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(getTensorAxes(found.answer->mesh).size(), 2u);
  }
}

TEST(FindPlan, SaysWhereNoMeshIsLookedAt) {
  PlanRequest request = makeRequest(64);
  request.pipelineSize = 64;
  PlanResult found = findPlan(getSteps(), request, SimpleCosts()).result;
  EXPECT_FALSE(found.answer);
  EXPECT_EQ(found.refusals,
            std::vector<std::string>{"no mesh is looked at jointly"});
}

TEST(FindPlan, LeavesOutGrids) {
  FindPlanOptions options;
  options.hasGrids = false;
  StepProblems steps = getSteps();
  FoundPlan all = findPlan(steps, makeRequest(4), SimpleCosts());
  FoundPlan plain = findPlan(steps, makeRequest(4), SimpleCosts(), options);
  EXPECT_LT(plain.spaces, all.spaces);
  EXPECT_FALSE(plain.result.certificate.exact);
  PlanRequest onGrid = makeRequest(4);
  onGrid.grid = {GridKind::grid2d, {2, 2}};
  EXPECT_GT(findPlan(steps, onGrid, SimpleCosts(), options).spaces, 0);
}

TEST(FindPlan, LeavesOutSchedules) {
  PlanRequest request = makeRequest(4);
  request.pipelineSize = 2;
  FindPlanOptions options;
  for (ScheduleKind kind : getScheduleKinds())
    if (kind != ScheduleKind::oneForwardOneBackward)
      options.leftOut.push_back(kind);
  PlanResult found =
      findPlan(getSteps(), request, SimpleCosts(), options).result;
  ASSERT_TRUE(found.answer);
  EXPECT_EQ(found.answer->pipeline->shape.kind,
            ScheduleKind::oneForwardOneBackward);
}

TEST(FindPlan, HasNoReplicasForSingleSamples) {
  // What has one sample is not split along the batch.
  StepProblems steps = {{samples}, [](int64_t count) {
                          PlanningProblem step = makeStep(count, true);
                          for (PlanningOp &op : step.ops)
                            op.batchFactor = -1;
                          return std::optional(std::move(step));
                        }};
  PlanRequest request = makeRequest(2);
  request.pipelineSize = 1;
  EXPECT_TRUE(findChecked(steps, request).result.answer);
  request.tensorSize = 1;
  EXPECT_FALSE(findPlan(steps, request, SimpleCosts()).result.answer);
}

TEST(FindPlan, MakesAgainWhatIsForced) {
  for (RecomputeKind kind :
       {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
    SCOPED_TRACE(static_cast<int>(kind));
    PlanRequest request = makeRequest(4);
    request.recompute = kind;
    FoundPlan found = findChecked(getSteps(), request);
    ASSERT_TRUE(found.result.answer);
    int64_t again = llvm::count(found.result.answer->recomputed, true);
    if (kind == RecomputeKind::none) {
      EXPECT_EQ(again, 0);
    } else {
      EXPECT_GT(again, 0);
    }
  }
}

TEST(FindPlan, FindsSmallerPlansWithWhatItKnows) {
  StepProblems steps = getSteps();
  SimpleCosts costs;
  PlanFinder finder(steps, makeRequest(4), costs);
  SpaceSearchOptions options;
  options.memoryLimitBytes = static_cast<double>(noLimit);
  FoundPlan fastest = finder.find(options);
  ASSERT_TRUE(fastest.result.answer);
  int64_t peakBytes = fastest.result.evaluation.peakBytes;
  options.memoryLimitBytes = static_cast<double>(peakBytes - 1);
  FoundPlan smaller = finder.find(options);
  ASSERT_TRUE(smaller.result.answer);
  EXPECT_LE(smaller.result.evaluation.peakBytes, options.memoryLimitBytes);
  EXPECT_GE(smaller.result.evaluation.stepTimeSeconds,
            fastest.result.certificate.lowerBoundSeconds);
}

TEST(FindPlan, HasAsManyPositionsAsBlocks) {
  StepProblems steps = getSteps();
  PlanRequest request = makeRequest(4);
  request.pipelineSize = 4;
  FoundPlan found = findPlan(steps, request, SimpleCosts());
  ASSERT_TRUE(found.result.answer);
  EXPECT_EQ(found.result.answer->pipeline->shape.positions, 4);
}

TEST(FindPlan, SaysThatTimeWasOver) {
  PlanRequest request = makeRequest(4);
  request.timeBudgetSeconds = 0;
  FoundPlan found = findChecked(getSteps(), request);
  EXPECT_FALSE(found.result.answer);
  EXPECT_TRUE(found.result.isCutShort);
}

TEST(FindPlan, LeavesOutNumbersThatCannotBe) {
  StepProblems steps = getSteps();
  steps.get = [](int64_t count) -> std::optional<PlanningProblem> {
    if (count != 2)
      return std::nullopt;
    return makeStep(count, /*isTraining=*/true);
  };
  EXPECT_EQ(findPlan(steps, makeRequest(2), SimpleCosts()).result.microBatches,
            2);
}

TEST(FindPlan, RefusesWhereNothingFits) {
  FoundPlan found = findChecked(getSteps(), makeRequest(2, /*limitBytes=*/100));
  EXPECT_FALSE(found.result.answer);
  EXPECT_FALSE(found.result.isCutShort);
}

} // namespace
