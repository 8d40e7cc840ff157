//===- ServersTest.cpp - Plans whose variables servers keep ---------------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;

/// Links on which a gradient takes longer than it took to compute.
class SlowLinks : public SimpleCosts {
public:
  using SimpleCosts::getCollectiveSeconds;
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t bytes) const override {
    return 0.001 + static_cast<double>(bytes) / 100;
  }
};

PlanRequest makeRequest(int64_t workers,
                        std::optional<ServerChoice> servers = std::nullopt) {
  PlanRequest request;
  request.deviceCount = workers;
  request.tensorSize = request.expertSize = request.pipelineSize = 1;
  request.zeroStage = 0;
  request.memoryLimitBytes = noLimit;
  if (servers) {
    request.servers = servers;
    request.deviceCount = servers->staleness ? 1 : servers->workers;
  }
  return request;
}

ServerChoice makeServers(int64_t servers, int64_t workers,
                         std::optional<int64_t> staleness = std::nullopt) {
  return {servers, staleness, workers};
}

struct StepShape {
  int64_t batch = 8, size = 16;
  int64_t microBatches = 1;
  int states = 1;
  bool isClipped = false;
};

/// One layer from an input and the gradient of its result, with an update. The
/// operators: forward, two gradients, the sum over micro-batches if there are
/// any, the sum of squares if it is clipped, the update.
PlanningProblem makeStep(const StepShape &shape) {
  ProblemBuilder builder;
  builder.problem.microBatches = shape.microBatches;
  int x = builder.addInput({shape.batch, shape.size});
  int weight = builder.addParameter({shape.size, shape.size});
  auto layer = builder.addLayer(x, weight);
  int gradient =
      layer.addBackward(builder.addInput({shape.batch, shape.size})).second;
  if (shape.microBatches > 1)
    gradient = builder.addAccumulate(gradient);
  if (shape.isClipped)
    builder.markOutput(builder.addSquareSum(gradient, /*group=*/-1));
  builder.addUpdate(weight, gradient, shape.states);
  return std::move(builder.problem);
}

int findGradient(const PlanningProblem &problem) {
  return problem.ops.back().operands[1];
}

TEST(Servers, LeaveThePassesToTheWorkers) {
  StepShape shape;
  shape.microBatches = 2;
  shape.states = 2;
  shape.isClipped = true;
  PlanningProblem step = makeStep(shape);
  ASSERT_EQ(verifyProblem(step), std::nullopt);
  WorkersProblem workers = getWorkersProblem(step);
  EXPECT_EQ(verifyProblem(workers.problem), std::nullopt);
  EXPECT_TRUE(isTraining(workers.problem));
  EXPECT_EQ(workers.ops, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(workers.problem.microBatches, 2);
  std::vector<std::string> served;
  for (const PlanningValue &value : workers.problem.values) {
    EXPECT_NE(value.kind, ValueKind::state);
    EXPECT_LT(value.updates, 0);
    if (value.isServed)
      served.push_back(value.name);
  }
  EXPECT_EQ(served,
            (std::vector<std::string>{step.values[1].name,
                                      step.values[findGradient(step)].name}));
}

TEST(Servers, KeepWhatWorkersReadOfTheOptimizer) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int scale = builder.addElementwise(builder.addParameter({8, 16}));
  builder.setRole(OpRole::optimizer);
  int weight = builder.addParameter({16, 16});
  auto layer = builder.addLayer(builder.addElementwise({x, scale}), weight);
  builder.addUpdate(weight,
                    layer.addBackward(builder.addInput({8, 16})).second);
  WorkersProblem workers = getWorkersProblem(builder.problem);
  EXPECT_EQ(workers.ops, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(verifyProblem(workers.problem), std::nullopt);
}

TEST(Servers, LeadAGroupWhoseLeaderIsTheirs) {
  PlanningProblem step = makeStep({});
  step.ops.back().group = step.ops[2].group = 77;
  step.ops[2].isLeader = false;
  WorkersProblem workers = getWorkersProblem(step);
  EXPECT_TRUE(workers.problem.ops[2].isLeader);
  EXPECT_EQ(verifyProblem(workers.problem), std::nullopt);
}

TEST(Servers, TakeAnswersThereAndBack) {
  StepShape shape;
  shape.isClipped = true;
  PlanningProblem step = makeStep(shape);
  PlanRequest request = makeRequest(4, makeServers(2, 4));
  PlanResult result = solve(step, request, SimpleCosts());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(verifyAnswer(step, *result.answer), std::vector<std::string>());
  EXPECT_EQ(result.answer->servers, request.servers);
  WorkersProblem workers = getWorkersProblem(step);
  PlanningAnswer own = getWorkersAnswer(workers, *result.answer);
  PlanningAnswer again = getStepAnswer(step, workers, own, *request.servers);
  EXPECT_EQ(again.assignments, result.answer->assignments);
  EXPECT_EQ(again.rest, result.answer->rest);
  // The step has the sum of the gradients, the workers their terms of it.
  int gradient = findGradient(step);
  EXPECT_FALSE(again.rest[gradient].isPartial());
  auto number = llvm::find(workers.values, gradient) - workers.values.begin();
  EXPECT_TRUE(own.rest[number].isPartial());
}

/// By the prices of SimpleCosts, of the 1024 bytes of the layer.
double getMessageSeconds(int64_t servers) {
  return 0.001 + 1024.0 / static_cast<double>(servers) / 1000;
}

TEST(Servers, TogetherWaitForTheBusiestLink) {
  PlanningProblem step = makeStep({});
  double update = 16 * 16 / 1000.0;
  for (auto [count, workers, links] :
       {std::tuple(1, 4, 4.0), std::tuple(2, 4, 4.0), std::tuple(4, 2, 4.0)}) {
    ServerChoice servers = makeServers(count, workers);
    PlanResult result =
        solve(step, makeRequest(workers, servers), SimpleCosts());
    ASSERT_TRUE(result.answer);
    EXPECT_NEAR(result.evaluation.stepTimeSeconds,
                result.evaluation.computeSeconds + update / count +
                    2 * links * getMessageSeconds(count),
                1e-9);
    EXPECT_EQ(result.evaluation.optimizerBytes, 0);
  }
}

TEST(Servers, ServeOneWorkerAfterTheOther) {
  PlanningProblem step = makeStep({});
  for (int64_t count : {1, 2}) {
    // A worker's link carries what goes to all of them.
    double push = count * getMessageSeconds(count);
    double turn = 16 * 16 / 1000.0 / count + 2 * push;
    auto getEvaluation = [&](int64_t workers) {
      ServerChoice servers = makeServers(count, workers, /*staleness=*/1);
      return solve(step, makeRequest(workers, servers), SimpleCosts())
          .evaluation;
    };
    PlanEvaluation few = getEvaluation(2);
    EXPECT_NEAR(few.stepTimeSeconds, few.computeSeconds + turn, 1e-9);
    EXPECT_NEAR(getEvaluation(1000).stepTimeSeconds, 1000 * turn, 1e-9);
  }
}

TEST(Servers, WaitForTheFirstWorkerWithoutStaleness) {
  PlanningProblem step = makeStep({});
  double update = 16 * 16 / 1000.0, push = getMessageSeconds(1);
  auto getEvaluation = [&](int64_t workers) {
    ServerChoice servers = makeServers(1, workers, /*staleness=*/0);
    return solve(step, makeRequest(workers, servers), SimpleCosts()).evaluation;
  };
  // The first worker computes alone, and gets the next version when the pushes
  // of all are applied.
  PlanEvaluation few = getEvaluation(3);
  EXPECT_NEAR(few.stepTimeSeconds,
              few.computeSeconds + 3 * (push + update) + push, 1e-9);
  EXPECT_NEAR(getEvaluation(1000).stepTimeSeconds, 1000 * (update + 2 * push),
              1e-9);
}

TEST(Servers, NeverTakeLessWhereWorkersTakeMore) {
  for (std::optional<int64_t> staleness :
       {std::optional<int64_t>(), std::optional<int64_t>(0),
        std::optional<int64_t>(2)})
    for (int64_t count : {1, 3}) {
      ServerChoice servers = makeServers(count, 5, staleness);
      ServerSeconds seconds{0.5, 0.25};
      double last = 0;
      for (double own = 0; own < 20; own += 0.5) {
        double step = seconds.getStep(servers, own);
        EXPECT_GE(step, last);
        EXPECT_GE(step, own);
        last = step;
      }
    }
}

TEST(Servers, HaveWorkersThatReduceNothing) {
  PlanningProblem step = makeStep({});
  SlowLinks costs;
  PlanRequest request = makeRequest(4, makeServers(1, 4));
  PlanResult result = solve(step, request, costs);
  ASSERT_TRUE(result.answer);
  EXPECT_NEAR(result.objectiveSeconds, result.evaluation.computeSeconds, 1e-9);
  EXPECT_NEAR(result.evaluation.dataCommunicationSeconds,
              2 * 4 * (0.001 + 1024 / 100.0), 1e-9);
  EXPECT_TRUE(result.certificate.exact);
  EXPECT_EQ(result.certificate.getGap(), 0);
  // The same layouts are those of data parallelism, with its sums.
  PlanResult alone = solve(step, makeRequest(4), costs);
  ASSERT_TRUE(alone.answer);
  EXPECT_EQ(alone.answer->assignments, result.answer->assignments);
  EXPECT_EQ(alone.answer->rest, result.answer->rest);
}

TEST(Servers, FindWhatExhaustiveSearchFinds) {
  std::mt19937 engine(11);
  auto pick = [&](std::initializer_list<int64_t> list) {
    return *(list.begin() + engine() % list.size());
  };
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    StepShape shape{pick({2, 4, 6}), pick({4, 5, 6}), pick({1, 2}),
                    static_cast<int>(pick({0, 1})), pick({0, 1}) == 1};
    PlanningProblem step = makeStep(shape);
    ASSERT_EQ(verifyProblem(step), std::nullopt);
    SimpleCosts simple;
    SlowLinks slow;
    const PlanCosts &costs =
        pick({0, 1}) == 0 ? static_cast<const PlanCosts &>(simple) : slow;
    std::optional<int64_t> staleness;
    if (pick({0, 1, 2}) == 0)
      staleness = pick({0, 1});
    PlanRequest request =
        makeRequest(0, makeServers(pick({1, 2}), pick({2, 3, 4}), staleness));
    PlanResult best = solveByExhaustion(step, request, costs);
    std::vector<int64_t> limits = {noLimit};
    if (best.answer && best.evaluation.peakBytes > best.leastBytes)
      limits.push_back((best.leastBytes + best.evaluation.peakBytes) / 2);
    for (int64_t limit : limits) {
      request.memoryLimitBytes = limit;
      PlanResult found = solve(step, request, costs);
      if (limit != noLimit)
        best = solveByExhaustion(step, request, costs);
      ASSERT_EQ(found.answer.has_value(), best.answer.has_value());
      if (!best.answer)
        continue;
      compared += limit == noLimit;
      EXPECT_EQ(verifyAnswer(step, *found.answer), std::vector<std::string>());
      EXPECT_LE(found.evaluation.peakBytes, limit);
      EXPECT_NEAR(found.evaluation.stepTimeSeconds,
                  best.evaluation.stepTimeSeconds, 1e-9);
      EXPECT_NEAR(found.objectiveSeconds,
                  getLayoutSeconds(step, *found.answer, costs), 1e-9);
      EXPECT_LE(found.certificate.lowerBoundSeconds,
                best.evaluation.stepTimeSeconds + 1e-9);
      if (found.certificate.exact) {
        EXPECT_NEAR(found.certificate.lowerBoundSeconds,
                    best.evaluation.stepTimeSeconds, 1e-9);
      }
    }
  }
  EXPECT_EQ(compared, 60);
}

TEST(Servers, AreNotCountedInTheLimitOfAWorker) {
  StepShape shape;
  shape.states = 3;
  PlanningProblem step = makeStep(shape);
  PlanRequest request = makeRequest(2, makeServers(1, 2));
  int64_t least = solve(step, request, SimpleCosts()).evaluation.peakBytes;
  request.memoryLimitBytes = least;
  EXPECT_TRUE(solve(step, request, SimpleCosts()).answer);
  request.memoryLimitBytes = least - 1;
  PlanResult none = solve(step, request, SimpleCosts());
  ASSERT_FALSE(none.answer);
  // What is missing is what a worker needs, not three states more.
  EXPECT_LE(none.smallestBytes, least);
  EXPECT_EQ(getServerBytes(step, makeServers(1, 2)), 4 * 1024);
  EXPECT_EQ(getServerBytes(step, makeServers(3, 2)), 1366);
}

/// An answer that is legal but for what `change` does.
template <typename Change>
std::vector<std::string> verifyChanged(Change change) {
  PlanningProblem step = makeStep({});
  PlanRequest request = makeRequest(2, makeServers(1, 2));
  PlanningAnswer answer = *solve(step, request, SimpleCosts()).answer;
  change(answer);
  return verifyAnswer(step, answer);
}

void expectViolation(const std::vector<std::string> &problems,
                     const std::string &text) {
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find(text), std::string::npos) << problems[0];
}

TEST(Servers, StandBesideTheMeshOfAPlan) {
  expectViolation(verifyChanged([](PlanningAnswer &answer) {
                    answer.servers->workers = 3;
                  }),
                  "the mesh has 2 ranks, the plan of 3 workers has 3 (P17)");
  expectViolation(verifyChanged([](PlanningAnswer &answer) {
                    answer.servers->staleness = 0;
                  }),
                  "the plan of 2 workers has 1 (P17)");
  for (bool isServed : {false, true})
    expectViolation(verifyChanged([&](PlanningAnswer &answer) {
                      answer.mesh = Mesh({{"dp0", 2, AxisRole::data},
                                          {"ps0", 1, AxisRole::server}});
                      if (!isServed)
                        answer.servers.reset();
                    }),
                    "mesh axis 'ps0' has the role server");
  expectViolation(verifyChanged([](PlanningAnswer &answer) {
                    answer.mesh = Mesh({{"tp0", 2, AxisRole::tensor}});
                  }),
                  "mesh axis 'tp0' has the role tensor: workers share");
}

TEST(Servers, HaveEveryVariableWholeAndOnTheDevice) {
  expectViolation(verifyChanged([](PlanningAnswer &answer) {
                    answer.tiers.assign(answer.rest.size(), MemoryTier::device);
                    answer.tiers[1] = MemoryTier::host;
                  }),
                  "value 'v1' is not on the device");
  expectViolation(verifyChanged([](PlanningAnswer &answer) {
                    answer.assignments.back().storage = {0};
                  }),
                  "is the servers', and is shared by workers (P18)");
}

} // namespace
