//===- PipelineTest.cpp - Plans with stages -------------------------------===//

#include "PipelineSteps.h"

#include "lib/Planner/Evaluation/StepTime.h"

#include "parplan/Planner/SearchSpace.h"

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The largest of some seconds of the stages.
double getMost(const StageTimes &times,
               llvm::function_ref<double(const PassTimes &)> get) {
  double most = 0;
  for (const PassTimes &pass : times)
    most = std::max(most, get(pass));
  return most;
}

/// Four products, two on each of two positions.
struct CutChain {
  PlanningProblem problem = makeChain({4, 8, 4, 16, 4}, /*microBatches=*/5);
  FreeMessages costs;
  PlanningAnswer answer;

  CutChain() {
    PlanResult result =
        solveChecked(problem, makeRequest(2, ScheduleKind::gpipe), costs);
    answer = cutAt(problem, *result.answer, {0, 2}, costs);
  }
};

TEST(Pipeline, TakesGPipeByItsFormula) {
  // Σt + (m−1)(max f + max b), and the updates of the position with most.
  auto [problem, costs, answer] = CutChain();
  const StageTimes &times = answer.pipeline->times;
  // Products of 8 rows, and the sum of their gradients.
  EXPECT_NEAR(times[0].forwardSeconds, 2 * 8 * 32 * 2 / 1000.0, 1e-12);
  EXPECT_NEAR(times[1].inputGradientSeconds, 2 * 8 * 64 * 2 / 1000.0, 1e-12);
  EXPECT_NEAR(times[1].weightGradientSeconds, (8 * 2 + 1) * 128 / 1000.0,
              1e-12);
  double expected =
      times[0].getSeconds() + times[1].getSeconds() +
      4 * (getMost(times, [](auto &pass) { return pass.forwardSeconds; }) +
           getMost(times,
                   [](auto &pass) { return pass.getBackwardSeconds(); }));
  PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
  EXPECT_NEAR(evaluation.stepTimeSeconds - evaluation.optimizerSeconds,
              expected, 2e-3);
  EXPECT_NEAR(evaluation.pipelineBubbleSeconds,
              expected - 5 * times[1].getSeconds(), 2e-3);
}

TEST(Pipeline, IsTimedAndJudgedAsItIsEvaluated) {
  auto [problem, costs, answer] = CutChain();
  PlanningAnswer untimed = answer;
  untimed.pipeline->times.assign(2, PassTimes{0, 0, 0});
  PlanEvaluator evaluator(problem, costs);
  PlanJudgement judgement =
      evaluator.timeAndJudge(untimed, /*limitBytes=*/int64_t(1) << 50);
  EXPECT_TRUE(judgement.faults.empty());
  EXPECT_EQ(untimed.pipeline->times[1].forwardSeconds,
            answer.pipeline->times[1].forwardSeconds);
  EXPECT_EQ(judgement.evaluation.stepTimeSeconds,
            evaluatePlan(problem, answer, costs).stepTimeSeconds);
}

TEST(Pipeline, IsNotTimedIfItIsIllegal) {
  auto [problem, costs, answer] = CutChain();
  // No mesh has so many axes.
  answer.assignments[0].axes[0] = {9};
  EXPECT_FALSE(PlanEvaluator(problem, costs)
                   .timeAndJudge(answer, /*limitBytes=*/1 << 30)
                   .faults.empty());
}

TEST(Pipeline, Takes1F1BOfEqualStagesByItsFormula) {
  for (int64_t positions : {2, 4})
    for (int64_t microBatches : {1, 4, 9}) {
      PlanningProblem problem =
          makeChain({8, 8, 8, 8, 8, 8, 8, 8, 8}, microBatches);
      FreeMessages costs;
      PlanResult result = solveChecked(
          problem, makeRequest(positions, ScheduleKind::oneForwardOneBackward),
          costs);
      double layer = ((3 * 8) * 64 * 2 + 64) / 1000.0;
      double stage = layer * 8 / static_cast<double>(positions);
      double bubble = static_cast<double>(positions - 1) * stage;
      EXPECT_NEAR(result.evaluation.stepTimeSeconds -
                      result.evaluation.optimizerSeconds,
                  static_cast<double>(microBatches) * stage + bubble, 1e-9);
      EXPECT_NEAR(result.evaluation.pipelineBubbleSeconds, bubble, 1e-9);
    }
}

/// All ways to cut `count` units into stages.
void forAllCuts(int count, int stages, std::vector<int> &cuts,
                llvm::function_ref<void(llvm::ArrayRef<int>)> visit) {
  if (static_cast<int>(cuts.size()) == stages)
    return visit(cuts);
  for (int next = cuts.back() + 1; next < count; ++next) {
    cuts.push_back(next);
    forAllCuts(count, stages, cuts, visit);
    cuts.pop_back();
  }
}

TEST(Pipeline, FindsTheBestOfAllCuts) {
  std::mt19937 random(3);
  const std::pair<ScheduleKind, int64_t> kinds[] = {
      {ScheduleKind::gpipe, 1}, {ScheduleKind::oneForwardOneBackward, 1},
      {ScheduleKind::zbH1, 1},  {ScheduleKind::interleaved, 2},
      {ScheduleKind::zbV, 2},   {ScheduleKind::oneForwardOneBackwardEager, 1}};
  for (int round = 0; round < 24; ++round) {
    auto [kind, chunks] = kinds[round % std::size(kinds)];
    std::vector<int64_t> widths;
    for (int layer = 0; layer < 7; ++layer)
      widths.push_back(4 << (random() % 4));
    PlanningProblem problem =
        makeChain(widths, 1 + static_cast<int64_t>(random() % 6),
                  /*meets=*/round % 2 == 0);
    PlanRequest request = makeRequest(2 + round % 2, kind, chunks);
    PlanResult result = solveChecked(problem, request, SimpleCosts());
    double best = std::numeric_limits<double>::infinity();
    std::vector<int> cuts = {0};
    forAllCuts(
        6, static_cast<int>(request.pipelineSize.value() * chunks), cuts,
        [&](llvm::ArrayRef<int> units) {
          PlanningAnswer answer =
              cutAt(problem, *result.answer, units, SimpleCosts());
          EXPECT_TRUE(verifyAnswer(problem, answer).empty());
          best = std::min(
              best,
              evaluatePlan(problem, answer, SimpleCosts()).stepTimeSeconds);
        });
    EXPECT_NEAR(result.evaluation.stepTimeSeconds, best, 1e-9 * best)
        << "round " << round;
    EXPECT_LE(result.certificate.lowerBoundSeconds, best * (1 + 1e-9));
  }
}

/// What a chain leaves out: seconds of the op that adds all squares, which is
/// in every stage.
constexpr double withoutStage = 1.001e-3;

TEST(Pipeline, CutsByAChainThatCostsWhatThePlanCosts) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    std::vector<int64_t> widths;
    for (int layer = 0; layer < 7; ++layer)
      widths.push_back(4 << (random() % 4));
    PlanningProblem problem =
        makeChain(widths, 1 + static_cast<int64_t>(random() % 6),
                  /*meets=*/round % 2 == 0);
    PlanResult result = solveChecked(
        problem, makeRequest(3, ScheduleKind::oneForwardOneBackward),
        SimpleCosts());
    const ScheduleShape &shape = result.answer->pipeline->shape;
    StageUnits units = getStageUnits(problem, *result.answer, SimpleCosts());
    StageChain chain =
        getStageChain(problem, *result.answer, SimpleCosts(), units);
    std::vector<int> cuts = {0};
    forAllCuts(6, 3, cuts, [&](llvm::ArrayRef<int> firstUnits) {
      PlanningAnswer answer =
          cutAt(problem, *result.answer, firstUnits, SimpleCosts());
      double seconds =
          evaluatePlan(problem, answer, SimpleCosts()).stepTimeSeconds;
      EXPECT_NEAR(evaluateCuts(chain, shape, firstUnits.vec()).seconds, seconds,
                  withoutStage);
    });
  }
}

TEST(Pipeline, MeetsWhereSeveralPositionsAreCombined) {
  // The squares of the first two layers alone are added.
  PlanningProblem problem =
      makeChain({8, 8, 8, 8, 8}, /*microBatches=*/4, /*meets=*/false);
  std::vector<int> sums;
  for (const PlanningOp &op : problem.ops)
    if (op.accumulates)
      sums.push_back(op.results[0]);
  ASSERT_EQ(sums.size(), 4u);
  ProblemBuilder builder(std::move(problem));
  std::vector<int> squares = {builder.addSquareSum(sums[3], -1),
                              builder.addSquareSum(sums[2], -1)};
  builder.addElementwise(squares);
  builder.setRole(OpRole::optimizer);
  builder.problem.ops.back().perMicroBatch = false;
  PlanResult result = solveChecked(
      builder.problem, makeRequest(2, ScheduleKind::oneForwardOneBackward),
      FreeMessages());
  StageUnits units =
      getStageUnits(builder.problem, *result.answer, FreeMessages());
  StageChain chain =
      getStageChain(builder.problem, *result.answer, FreeMessages(), units);
  EXPECT_EQ(chain.meetings.size(), 1u);
  for (int cut : {1, 2}) {
    PlanningAnswer answer =
        cutAt(builder.problem, *result.answer, {0, cut}, FreeMessages());
    EXPECT_EQ(getStepWork(builder.problem, answer, FreeMessages()).meets,
              cut == 1);
    double seconds =
        evaluatePlan(builder.problem, answer, FreeMessages()).stepTimeSeconds;
    EXPECT_NEAR(evaluateCuts(chain, answer.pipeline->shape, {0, cut}).seconds,
                seconds, withoutStage);
  }
}

TEST(Pipeline, OrdersPassesForWhatMessagesTake) {
  PlanningProblem problem = makeChain({16, 16, 16, 16, 16}, 6);
  for (ScheduleKind kind :
       {ScheduleKind::oneForwardOneBackward, ScheduleKind::zbH1}) {
    PlanResult result =
        solveChecked(problem, makeRequest(4, kind), SimpleCosts());
    StepWork work = getStepWork(problem, *result.answer, SimpleCosts());
    EXPECT_EQ(result.answer->pipeline->latencies, work.latencies);
    EXPECT_GT(work.latencies.front(), 0);
    PlanningAnswer blind = *result.answer;
    blind.pipeline->latencies.clear();
    EXPECT_LE(result.evaluation.stepTimeSeconds,
              evaluatePlan(problem, blind, SimpleCosts()).stepTimeSeconds *
                  (1 + 1e-9));
  }
}

/// A second per byte of the piece that each rank of a position may send.
class PieceCosts : public SimpleCosts {
public:
  double getMessageSeconds(const Mesh &, int, int64_t,
                           int64_t pieceBytes) const override {
    return static_cast<double>(pieceBytes);
  }
};

TEST(Pipeline, SaysWhatEachRankOfAPositionMaySend) {
  PlanningProblem problem = makeChain({8, 8, 8, 8, 8}, 4);
  PlanRequest request = makeRequest(2, ScheduleKind::oneForwardOneBackward);
  PlanResult alone = solveChecked(problem, request, PieceCosts());
  EXPECT_EQ(alone.answer->pipeline->latencies,
            std::vector<double>({8 * 8 * 4}));
  request.deviceCount = 4;
  request.tensorSize = 2;
  PlanResult shared = solveChecked(problem, request, PieceCosts());
  EXPECT_EQ(shared.answer->pipeline->latencies,
            std::vector<double>({8 * 8 * 4 / 2}));
}

/// Ranks that take turns on half as many processors.
class SharedProcessors : public SimpleCosts {
public:
  double getSharing() const override { return 2; }
};

TEST(Pipeline, PaysEveryMessageWhereRanksShareProcessors) {
  // A residual: the input of a layer and its result go on together.
  ProblemBuilder builder;
  auto addLayer = [&](int value) {
    return builder.addProduct(value, builder.addParameter({8, 8}));
  };
  int skipped = addLayer(builder.addInput({8, 8}));
  int value = addLayer(addLayer(skipped));
  builder.markOutput(builder.addSum(addLayer(value), skipped));
  const PlanningProblem &problem = builder.problem;
  PlanResult result = solveChecked(
      problem, makeRequest(2, ScheduleKind::forwardOnly), SimpleCosts());
  ASSERT_TRUE(result.answer);
  PlanningAnswer answer = cutAt(problem, *result.answer, {0, 2}, SimpleCosts());
  auto getLatency = [&](const PlanCosts &costs) {
    return getStepWork(problem, answer, costs).latencies.front();
  };
  constexpr double bytes = 2 * 8 * 8 * 4, start = 0.001;
  EXPECT_NEAR(getLatency(SimpleCosts()), start + bytes / 1000, 1e-9);
  EXPECT_NEAR(getLatency(SharedProcessors()), 2 * start + (bytes + 1) / 1000,
              1e-9);
}

TEST(Pipeline, SpreadsEveryStageOverTheRanksOfAPosition) {
  PlanningProblem problem = makeChain({8, 16, 16, 8, 16}, 2);
  PlanRequest request = makeRequest(2, ScheduleKind::oneForwardOneBackward);
  request.deviceCount = 8;
  request.dataSize = 2;
  request.tensorSize = 2;
  for (int stage : {0, 1, 2, 3}) {
    request.zeroStage = stage;
    PlanResult result = solveChecked(problem, request, SimpleCosts());
    ASSERT_TRUE(result.answer);
    EXPECT_EQ(result.answer->mesh.getAxis(0).name, "pp0");
    EXPECT_EQ(result.answer->mesh.getRankCount(), 8);
    for (size_t value = 0; value < problem.values.size(); ++value) {
      if (problem.values[value].kind != ValueKind::parameter)
        continue;
      int number = static_cast<int>(value);
      EXPECT_EQ(getZeroStages(problem, *result.answer, stage).at(number),
                stage);
    }
  }
}

TEST(Pipeline, KeepsTiedParametersOnBothStages) {
  ProblemBuilder builder;
  builder.problem.microBatches = 2;
  int x = builder.addInput({8, 8});
  int tied = builder.addParameter({8, 8});
  int other = builder.addParameter({8, 8});
  auto first = builder.addLayer(x, tied);
  auto second = builder.addLayer(first.result, other);
  auto third = builder.addLayer(second.result, tied);
  auto [g3, w3] = third.addBackward(builder.addInput({8, 8}));
  auto [g2, w2] = second.addBackward(g3);
  auto [g1, w1] = first.addBackward(g2);
  int sum = builder.addElementwise({w3, w1}, Linearity::jointly);
  builder.setRole(OpRole::gradientSum);
  int sumOp = static_cast<int>(builder.problem.ops.size()) - 1;
  builder.addUpdate(tied, builder.addAccumulate(sum));
  builder.addUpdate(other, builder.addAccumulate(w2));
  const PlanningProblem &problem = builder.problem;
  FreeMessages costs;
  PlanResult result = solveChecked(
      problem, makeRequest(3, ScheduleKind::oneForwardOneBackward), costs);
  ASSERT_TRUE(result.answer);
  const PlanningAnswer &answer = *result.answer;
  for (int op = sumOp; op < sumOp + 3; ++op)
    EXPECT_EQ(answer.getStage(op), 0);
  // Parameter, state, sum of gradients on the first and on the last position.
  std::vector<int64_t> peaks = getMemoryPeak(problem, answer).ofPositions;
  ASSERT_EQ(peaks.size(), 3u);
  int64_t bytes = 8 * 8 * 4;
  EXPECT_GE(peaks[2], 3 * bytes);
  // The gradient there and back, and nothing for it in every micro-batch.
  StepWork free = getStepWork(problem, answer, costs),
           work = getStepWork(problem, answer, SimpleCosts());
  for (int position : {0, 2})
    EXPECT_NEAR(work.positions[position].beforeMeeting.data -
                    free.positions[position].beforeMeeting.data,
                2 * (0.001 + static_cast<double>(bytes) / 1000), 1e-9);
  EXPECT_NEAR(work.messageSeconds[2],
              2 * (0.001 + static_cast<double>(bytes) / 1000), 1e-9);
}

TEST(Pipeline, ClonesCheapProducers) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 128});
  int mask = builder.addInput({8, 128});
  int negated = builder.addElementwise({mask});
  int maskOp = static_cast<int>(builder.problem.ops.size()) - 1;
  int value = x;
  for (int layer = 0; layer < 4; ++layer)
    value = builder.addSum(
        builder.addProduct(value, builder.addParameter({128, 128})), negated);
  builder.markOutput(value);
  PlanRequest request = makeRequest(2, ScheduleKind::forwardOnly);
  PlanResult result = solveChecked(builder.problem, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(result.answer->getStage(maskOp), -1);
}

TEST(Pipeline, RefusesWhatCannotBe) {
  PlanningProblem problem = makeChain({8, 8, 8, 8}, 2);
  auto getRefusals = [&](const PlanRequest &request) {
    PlanResult result = solve(problem, request, SimpleCosts());
    EXPECT_FALSE(result.answer);
    std::string text;
    for (const std::string &refusal : result.refusals)
      text += refusal + "\n";
    return text;
  };
  PlanRequest many = makeRequest(4, ScheduleKind::oneForwardOneBackward);
  EXPECT_NE(getRefusals(many).find("nearest possible"), std::string::npos);
  EXPECT_NE(getRefusals(makeRequest(2, ScheduleKind::interleaved, 2))
                .find("nearest possible"),
            std::string::npos);
  PlanRequest replicas = makeRequest(2, ScheduleKind::gpipe);
  replicas.zeroStage = 1;
  EXPECT_NE(getRefusals(replicas).find("zero=1"), std::string::npos);
  PlanRequest odd = makeRequest(2, ScheduleKind::gpipe);
  odd.deviceCount = 3;
  EXPECT_NE(getRefusals(odd).find("pp=2"), std::string::npos);
}

TEST(Pipeline, IsTakenWhereNothingElseFits) {
  PlanningProblem problem = makeChain({32, 32, 32, 32, 32, 32, 32}, 2);
  PlanRequest request;
  request.deviceCount = 2;
  request.tensorSize = 1;
  request.zeroStage = 0;
  request.memoryLimitBytes = noLimit;
  PlanResult replicas = choosePlanOf(problem, request, SimpleCosts());
  ASSERT_TRUE(replicas.answer);
  EXPECT_FALSE(replicas.answer->pipeline);
  request.memoryLimitBytes = replicas.evaluation.peakBytes * 3 / 4;
  PlanResult found = choosePlanOf(problem, request, SimpleCosts());
  ASSERT_TRUE(found.answer);
  EXPECT_TRUE(found.answer->pipeline);
  EXPECT_TRUE(verifyAnswer(problem, *found.answer).empty());
  EXPECT_LE(found.evaluation.peakBytes, request.memoryLimitBytes);
  EXPECT_FALSE(found.certificate.exact);
  request.pipelineSize = 1;
  EXPECT_FALSE(choosePlanOf(problem, request, SimpleCosts()).answer);
}

TEST(Pipeline, IsVerified) {
  PlanningProblem problem = makeChain({8, 8, 8, 8, 8}, 2);
  PlanResult result =
      solveChecked(problem, makeRequest(2, ScheduleKind::oneForwardOneBackward),
                   SimpleCosts());
  ASSERT_TRUE(result.answer);
  auto expect = [&](const std::string &constraint,
                    llvm::function_ref<void(PlanningAnswer &)> change) {
    PlanningAnswer answer = *result.answer;
    change(answer);
    auto problems = verifyAnswer(problem, answer);
    EXPECT_TRUE(llvm::any_of(problems, [&](const std::string &text) {
      return text.find(constraint) != std::string::npos;
    })) << constraint;
  };
  expect("P1",
         [](PlanningAnswer &answer) { answer.pipeline->shape.positions = 3; });
  expect("P2", [](PlanningAnswer &answer) {
    answer.pipeline->shape.microBatches = 7;
  });
  expect("P2",
         [](PlanningAnswer &answer) { answer.pipeline->times.pop_back(); });
  expect("P2", [](PlanningAnswer &answer) {
    answer.pipeline->latencies = {1, 1, 1};
  });
  expect("P2", [](PlanningAnswer &answer) {
    answer.pipeline->room.positionBytes = {1};
  });
  expect("P3", [](PlanningAnswer &answer) { answer.stages.pop_back(); });
  expect("P3", [](PlanningAnswer &answer) { answer.stages[0] = 2; });
  expect("P4", [](PlanningAnswer &answer) { answer.stages[0] = 1; });
  expect("P5", [](PlanningAnswer &answer) { answer.stages.back() = 0; });
  expect("P6", [](PlanningAnswer &answer) { answer.stages[3] = -1; });
  expect("P7", [&](PlanningAnswer &answer) {
    answer.recomputed.assign(problem.ops.size(), true);
  });
  expect("P8", [&](PlanningAnswer &answer) {
    answer.tiers.assign(problem.values.size(), MemoryTier::nvme);
  });
}

} // namespace
