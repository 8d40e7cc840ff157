//===- ContextTest.cpp - Sequences, context and experts -------------------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/Panels.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

PlanRequest makeRequest(int64_t devices) {
  PlanRequest request;
  request.deviceCount = devices;
  request.memoryLimitBytes = int64_t(1) << 40;
  return request;
}

/// Products for queries, keys and values, attention and a product behind it.
PlanningProblem makeAttention(int64_t batch, int64_t sequence, int64_t heads,
                              int64_t keyHeads) {
  constexpr int64_t width = 4;
  ProblemBuilder builder;
  int x = builder.addTokens({batch, sequence, heads * width});
  auto project = [&](int value, int64_t from, int64_t to) {
    return builder.addContraction(
        value, "bsk", builder.addParameter({from, to}), "kn", "bsn");
  };
  int query = project(x, heads * width, heads * width);
  int key = project(x, heads * width, keyHeads * width);
  int value = project(x, heads * width, keyHeads * width);
  int attention = builder.addAttention(query, key, value, keyHeads);
  builder.markOutput(project(attention, heads * width, heads * width));
  return std::move(builder.problem);
}

constexpr int attentionOp = 3;

PlanResult solveChecked(const PlanningProblem &problem,
                        const PlanRequest &request) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  PlanResult result = solve(problem, request, SimpleCosts());
  if (!result.answer)
    return result;
  for (const std::string &violation : verifyAnswer(problem, *result.answer))
    ADD_FAILURE() << violation;
  EXPECT_NEAR(result.objectiveSeconds, result.evaluation.stepTimeSeconds,
              1e-9 * result.objectiveSeconds);
  return result;
}

Algorithm getAlgorithmOf(const PlanningProblem &problem,
                         const PlanResult &result, int op) {
  return getAlgorithm(problem.ops[op], result.answer->assignments[op],
                      result.answer->mesh);
}

TEST(Context, SplitsSequencesAndMeetsInAttention) {
  PlanningProblem problem = makeAttention(2, 16, /*heads=*/4, /*keyHeads=*/4);
  for (Algorithm algorithm :
       {Algorithm::ring, Algorithm::allToAll, Algorithm::gather}) {
    PlanRequest request = makeRequest(4);
    request.dataSize = 2;
    request.contextSize = 2;
    request.forcedAlgorithms = {{"Attention", algorithm}};
    PlanResult result = solveChecked(problem, request);
    ASSERT_TRUE(result.answer) << stringifyAlgorithm(algorithm).str();
    EXPECT_EQ(getAlgorithmOf(problem, result, attentionOp), algorithm);
    const Mesh &mesh = result.answer->mesh;
    EXPECT_EQ(mesh.getAxis(1), (MeshAxis{"cp0", 2, AxisRole::context}));
    for (int op : {0, 1, 2, 4})
      EXPECT_EQ(
          result.answer->assignments[op].axes[problem.ops[op].sequenceFactor],
          AxisList{1});
  }
}

TEST(Context, CountsTheHopsOfARing) {
  PlanningProblem problem = makeAttention(2, 16, 4, /*keyHeads=*/2);
  const PlanningOp &op = problem.ops[attentionOp];
  Mesh mesh({{"cp0", 4, AxisRole::context}});
  FactorAssignment ring = FactorAssignment::getReplicated(op.rule);
  ring.axes[op.sequenceFactor] = {0};
  ring.panels = {op.keyFactor, {0}};
  int64_t sent = 0;
  for (const PanelCall &call : getPanelCalls(problem, op, ring, mesh)) {
    EXPECT_EQ(call.kind, CollectiveKind::send);
    sent += call.bytes * call.count;
  }
  // Three hops of the blocks of K and V.
  EXPECT_EQ(sent, 3 * 2 * (2 * 4 * 8 * 4));
}

TEST(Context, IsSearchedWhereTheBatchIsTooSmall) {
  PlanningProblem problem = makeAttention(/*batch=*/1, 16, 4, 4);
  auto hasContext = [](const std::vector<Mesh> &meshes) {
    return llvm::any_of(meshes, [](const Mesh &mesh) {
      return !getAxes(mesh, AxisRole::context).empty();
    });
  };
  EXPECT_TRUE(hasContext(getMeshes(problem, makeRequest(4))));
  EXPECT_FALSE(
      hasContext(getMeshes(makeAttention(8, 16, 4, 4), makeRequest(4))));
}

TEST(Context, OneSearchTakesASequenceThatGoesRound) {
  // No single device has a plan of it.
  PlanningProblem problem = makeAttention(/*batch=*/1, 16, 4, 4);
  problem.ops[attentionOp].zigzag = 2;
  StepProblems steps = {{1}, [&](int64_t) { return std::optional(problem); }};
  FoundPlan found = findPlan(steps, makeRequest(2), SimpleCosts());
  ASSERT_TRUE(found.result.answer)
      << (found.result.refusals.empty() ? "" : found.result.refusals.front());
  EXPECT_EQ(verifyAnswer(problem, *found.result.answer),
            std::vector<std::string>());
  EXPECT_EQ(found.result.answer->mesh.getAxis(0),
            (MeshAxis{"cp0", 2, AxisRole::context}));
}

TEST(Context, IsSearchedWhereANodeIsForcedToUseIt) {
  PlanningProblem problem = makeAttention(4, 16, 4, 4);
  PlanRequest request = makeRequest(4);
  request.forcedAlgorithms = {{"Attention", Algorithm::ring}};
  PlanResult result = solveChecked(problem, request);
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(problem, result, attentionOp), Algorithm::ring);
}

TEST(Sequence, IsSplitBetweenProductsWhenThatIsForced) {
  ProblemBuilder builder;
  int x = builder.addTokens({2, 8, 16});
  int value = builder.addNorm(x, /*reductions=*/2);
  value = builder.addContraction(value, "bsk", builder.addParameter({16, 32}),
                                 "kn", "bsn");
  value = builder.addElementwise(value);
  value = builder.addContraction(value, "bsk", builder.addParameter({32, 16}),
                                 "kn", "bsn");
  builder.markOutput(builder.addElementwise({x, value}, Linearity::jointly));
  const PlanningProblem &problem = builder.problem;
  PlanRequest request = makeRequest(2);
  request.tensorSize = 2;
  request.sequenceParallel = true;
  PlanResult result = solveChecked(problem, request);
  ASSERT_TRUE(result.answer);
  const auto &assignments = result.answer->assignments;
  EXPECT_EQ(assignments[0].axes[1], AxisList{0});
  EXPECT_EQ(assignments[4].axes[1], AxisList{0});
  EXPECT_EQ(getAlgorithmOf(problem, result, 1), Algorithm::column);
  EXPECT_EQ(getAlgorithmOf(problem, result, 3), Algorithm::row);

  request.sequenceParallel = false;
  result = solveChecked(problem, request);
  ASSERT_TRUE(result.answer);
  for (const FactorAssignment &assignment : result.answer->assignments)
    EXPECT_TRUE(assignment.axes[1].empty());
}

PlanningProblem makeMixture(int64_t experts) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int tokens = builder.addDispatch(builder.addElementwise(x), experts);
  int hidden = builder.addContraction(
      tokens, "etd", builder.addParameter({experts, 16, 16}), "edf", "etf");
  // The choices of tokens say which rows it takes.
  int choices = builder.addInput({8, 1});
  PlanningOp &product = builder.problem.ops.back();
  product.expertFactor = 0;
  product.operands.push_back(choices);
  product.rule.operands.push_back({{1}, {}});
  builder.markOutput(builder.addCombine(hidden));
  return std::move(builder.problem);
}

TEST(Experts, AreSplitWhereTheyAreAndSamplesElsewhere) {
  PlanningProblem problem = makeMixture(4);
  PlanRequest request = makeRequest(4);
  request.expertSize = 2;
  request.dataSize = 2;
  PlanResult result = solveChecked(problem, request);
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(getAlgorithmOf(problem, result, 2), Algorithm::expert);
  EXPECT_EQ(result.answer->assignments[0].axes[0], (AxisList{0, 1}));
  // Dispatch keeps the experts whole: an all-to-all follows.
  EXPECT_TRUE(result.answer->assignments[1].axes[0].empty());
  EXPECT_EQ(result.answer->assignments[1].axes[1], (AxisList{0, 1}));
  EXPECT_EQ(result.evaluation.parameterBytes, 4 * 16 * 16 * 4 / 2);
}

TEST(ExpertGroups, AreThoseOfRanksWhereTheySaveRows) {
  PlanningProblem problem = makeMixture(4);
  // In groups of four, or of two, one row in place of four or two.
  problem.ops[1].experts = 4;
  problem.ops[1].expertsPerToken = 1;
  PlanRequest request = makeRequest(8);
  EXPECT_EQ(getExpertGroups(problem, request, 1), 1);
  EXPECT_EQ(getExpertGroups(problem, request, 2), 2);
  // Every expert has a row with four ranks, and with three.
  EXPECT_EQ(getExpertGroups(problem, request, 4), 4);
  EXPECT_EQ(getExpertGroups(problem, request, 3), 4);
  // Every expert has one in any case: there is one step.
  problem.ops[1].expertsPerToken = 4;
  EXPECT_EQ(getExpertGroups(problem, request, 1), 1);
  EXPECT_EQ(getExpertGroups(problem, request, 2), 1);
  request.expertSize = 2;
  EXPECT_EQ(getExpertGroups(problem, request, 2), 2);
}

TEST(ExpertGroups, OfACandidateForceNoExchange) {
  PlanningProblem problem = makeMixture(4);
  PlanRequest request = makeRequest(4);
  request.expertRanks = 2;
  for (const Mesh &mesh : getMeshes(problem, request))
    EXPECT_EQ(getExpertRanks(mesh), 2);
  // Dispatch may have all tokens, and its experts; where ranks are forced it
  // may not.
  auto countOfDispatch = [&] {
    std::optional<std::string> refusal;
    return getAllowedAssignments(problem, request,
                                 {getMeshes(problem, request).front(), {}},
                                 refusal)[1]
        .size();
  };
  size_t open = countOfDispatch();
  request.expertSize = 2;
  EXPECT_LT(countOfDispatch(), open);
}

TEST(ExpertGroups, AreThoseOfTheStepThatAJointSearchPlans) {
  PlanningProblem ofOneGroup = makeMixture(4);
  ofOneGroup.ops[1].experts = 4;
  ofOneGroup.ops[1].expertsPerToken = 1;
  // More rows take longer.
  PlanningProblem ofGroups = makeMixture(4);
  ofGroups.ops[2].work.flops.front().coefficient *= 2;
  StepProblems steps = {{1},
                        [&](int64_t) { return std::optional(ofOneGroup); }};
  std::vector<int64_t> asked;
  steps.inGroups = [&](int64_t groups) {
    asked.push_back(groups);
    return StepProblems{{1}, [&](int64_t) { return std::optional(ofGroups); }};
  };
  // A device has not the memory for all experts.
  PlanRequest request = makeRequest(4);
  request.tensorSize = 1;
  request.memoryLimitBytes = 4000;
  FoundPlan found = findPlan(steps, request, SimpleCosts());
  ASSERT_TRUE(found.result.answer);
  EXPECT_EQ(asked, std::vector<int64_t>{4});
  EXPECT_EQ(getExpertRanks(found.result.answer->mesh), 4);
  EXPECT_EQ(verifyAnswer(ofGroups, *found.result.answer),
            std::vector<std::string>());
  EXPECT_EQ(found.result.evaluation.stepTimeSeconds,
            evaluatePlan(ofGroups, *found.result.answer, SimpleCosts())
                .stepTimeSeconds);
}

TEST(ContextSizes, AreThoseOfOnePositionOfThePipeline) {
  PlanningProblem problem = makeAttention(2, 16, 4, /*keyHeads=*/2);
  // Two samples for four ranks, or for the two of each position.
  PlanRequest request = makeRequest(4);
  EXPECT_EQ(getContextSizes(problem, request), (std::vector<int64_t>{1, 2, 4}));
  request.pipelineSize = 2;
  EXPECT_EQ(getContextSizes(problem, request), std::vector<int64_t>{1});
  // There is no mesh that ranks cannot share out.
  request.pipelineSize = 3;
  EXPECT_TRUE(getContextSizes(problem, request).empty());
  EXPECT_TRUE(getMeshes(problem, request).empty());
}

std::string getRefusal(const PlanningProblem &problem,
                       const PlanRequest &request) {
  PlanResult result = solve(problem, request, SimpleCosts());
  EXPECT_FALSE(result.answer);
  return result.refusals.empty() ? "" : result.refusals.back();
}

TEST(Refusals, NameTheReasonAndTheNearest) {
  PlanningProblem attention = makeAttention(2, 16, 4, /*keyHeads=*/2);
  PlanningProblem mixture = makeMixture(4);
  struct {
    const PlanningProblem &problem;
    int64_t devices;
    void (*ask)(PlanRequest &);
    const char *refusal;
  } cases[] = {
      {attention, 4, [](PlanRequest &request) { request.expertSize = 2; },
       "ep=2: the model has no experts; ep=1 is possible"},
      {mixture, 8, [](PlanRequest &request) { request.expertSize = 8; },
       "ep=8: the model has 4 experts; ep=4 is possible"},
      {mixture, 4, [](PlanRequest &request) { request.contextSize = 2; },
       "cp=2: the model has no attention over a sequence; cp=1 is possible"},
      {attention, 32, [](PlanRequest &request) { request.contextSize = 32; },
       "cp=32: the sequence has 16 positions; cp=16 is possible"},
      {attention, 4,
       [](PlanRequest &request) {
         request.sequenceParallel = true;
         request.tensorSize = 1;
       },
       "sp=on splits sequences over tensor-parallel ranks, and there is one; "
       "tp1d=2 and more is possible with it"},
      {attention, 4,
       [](PlanRequest &request) {
         request.grid = {GridKind::grid2d, {2, 3}};
       },
       "tp2d=2x3 cannot be completed to 4 devices"},
      {attention, 1024,
       [](PlanRequest &request) {
         request.grid = {GridKind::grid3d, {32, 1, 32}};
       },
       "tp3d=32x1x32: every product is smaller than this grid; tp1d=1024 or "
       "smaller grids are nearest"},
      {attention, 4096, [](PlanRequest &request) { request.tensorSize = 4096; },
       "tp1d=4096: every product is smaller than that; a smaller tp1d is "
       "nearest"},
      {attention, 32,
       [](PlanRequest &request) {
         request.tensorSize = 32;
         request.sequenceParallel = true;
       },
       "sp=on: no operator has a sequence that can be split over the "
       "tensor-parallel ranks of tp0=2 tp1=2 tp2=2 tp3=2 tp4=2; sp=off or "
       "fewer of them are possible"},
  };
  for (const auto &[problem, devices, ask, refusal] : cases) {
    PlanRequest request = makeRequest(devices);
    ask(request);
    EXPECT_EQ(getRefusal(problem, request), refusal);
  }
}

TEST(Refusals, NameTheHeadsThatRanksCannotShare) {
  PlanRequest request = makeRequest(4);
  request.contextSize = 4;
  request.forcedAlgorithms = {{"Attention", Algorithm::allToAll}};
  EXPECT_NE(getRefusal(makeAttention(2, 16, 3, /*keyHeads=*/3), request)
                .find("it has 3 heads of keys for 4 ranks"),
            std::string::npos);
}

} // namespace
