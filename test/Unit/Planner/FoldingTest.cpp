//===- FoldingTest.cpp - Equal blocks are decided once --------------------===//

#include "Residual.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Folding.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

Folding foldChecked(const PlanningProblem &problem,
                    const FoldingOptions &options = {}) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  Folding folding = foldProblem(problem, options);
  EXPECT_EQ(verifyFolding(problem, folding), std::nullopt);
  return folding;
}

std::vector<int> countBlocks(const Folding &folding) {
  std::vector<int> counts;
  for (const Folding::Run &run : folding.runs)
    counts.push_back(run.blockCount);
  return counts;
}

/// Random decisions per class, on two data by four tensor ranks.
class Drawing {
public:
  Drawing(const PlanningProblem &problem, const Folding &folding)
      : folding(folding), space{makeMesh(2, 4), {}} {
    PlanRequest request;
    request.deviceCount = 8;
    std::optional<std::string> refusal;
    allowed = getAllowedAssignments(problem, request, space, refusal);
    rests = getRestCandidates(problem, request, space, allowed);
  }

  FoldedAnswer draw() {
    FoldedAnswer answer;
    answer.mesh = space.mesh;
    answer.assignments.resize(folding.ops.size());
    for (const Folding::DecisionClass &decision : folding.decisions) {
      int leader = folding.ops[decision.leader].representative;
      size_t choice = random() % allowed[leader].size();
      for (int member : decision.members)
        answer.assignments[member] =
            allowed[folding.ops[member].representative][choice];
    }
    for (const Folding::ValueClass &ofValue : folding.values) {
      const auto &candidates = rests[ofValue.representative];
      answer.rest.push_back(candidates[random() % candidates.size()]);
    }
    return answer;
  }

private:
  const Folding &folding;
  PlanSpace space;
  std::vector<std::vector<FactorAssignment>> allowed;
  std::vector<std::vector<Sharding>> rests;
  std::mt19937 random{7};
};

/// Random plans of classes cost the same as what they expand to.
void expectEqualCosts(const PlanningProblem &problem, const Folding &folding) {
  Drawing drawing(problem, folding);
  SimpleCosts costs;
  int legal = 0;
  for (int round = 0; round < 60 && legal < 20; ++round) {
    FoldedAnswer folded = drawing.draw();
    PlanningAnswer whole = expandAnswer(folding, folded);
    if (!verifyAnswer(problem, whole).empty())
      continue;
    ++legal;
    double seconds = getLayoutSeconds(problem, whole, costs);
    EXPECT_NEAR(getFoldedSeconds(problem, folding, folded, costs), seconds,
                1e-9 * seconds);
    EXPECT_NEAR(evaluatePlan(problem, whole, costs).stepTimeSeconds, seconds,
                1e-9 * seconds);
    std::optional<FoldedAnswer> again = foldAnswer(folding, whole);
    ASSERT_TRUE(again);
    EXPECT_EQ(expandAnswer(folding, *again).rest, whole.rest);
  }
  EXPECT_GT(legal, 0);
}

TEST(Folding, CountsEqualBlocks) {
  PlanningProblem problem = Residual({.blocks = 5}).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{5}));
  // The six ops of a block, and those before and behind.
  EXPECT_EQ(folding.ops.size(), 8u);
  EXPECT_EQ(folding.blockOfOp.front(), -1);
  EXPECT_EQ(folding.blockOfOp.back(), -1);
  EXPECT_EQ(folding.blocks[0].ops, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  expectEqualCosts(problem, folding);
}

TEST(Folding, ReadsAResidualStreamFromBlockToBlock) {
  PlanningProblem problem = Residual({.blocks = 5}).makeForward();
  Folding folding = foldChecked(problem);
  int stream = folding.classOfValue[problem.ops[6].results[0]];
  EXPECT_EQ(folding.values[stream].count, 5);
  std::map<size_t, int64_t> countOfUses;
  for (const Folding::Reading &reading : folding.readings)
    if (reading.valueClass == stream)
      countOfUses[reading.uses.size()] += reading.count;
  // Four times by the norm and the sum of the next block, once by the last op.
  EXPECT_EQ(countOfUses, (std::map<size_t, int64_t>{{1, 1}, {2, 4}}));
}

TEST(Folding, KeepsBlocksOfOtherShapesApart) {
  ResidualShape shape{.blocks = 7, .hidden = {32, 32, 32, 48, 32, 32, 32}};
  PlanningProblem problem = Residual(shape).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{3, 3}));
  expectEqualCosts(problem, folding);
}

TEST(Folding, CountsTiedWeightsOnce) {
  PlanningProblem problem =
      Residual({.blocks = 5, .isTied = true}).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{5}));
  const PlanningOp &up = problem.ops[folding.blocks[0].ops[1]];
  const PlanningOp &down = problem.ops[folding.blocks[0].ops[3]];
  EXPECT_EQ(folding.values[folding.classOfValue[up.operands[1]]].count, 1);
  EXPECT_EQ(folding.values[folding.classOfValue[down.operands[1]]].count, 5);
  expectEqualCosts(problem, folding);
}

TEST(Folding, PutsGradientsAndUpdatesIntoBlocks) {
  for (bool isTied : {false, true})
    for (int64_t microBatches : {1, 4}) {
      auto make = [&](int blocks) {
        return Residual({.blocks = blocks,
                         .isTied = isTied,
                         .microBatches = microBatches})
            .makeTraining();
      };
      PlanningProblem problem = make(6);
      Folding folding = foldChecked(problem);
      EXPECT_EQ(countBlocks(folding), (std::vector<int>{6}));
      expectEqualCosts(problem, folding);
      // Depth adds nothing.
      EXPECT_EQ(folding.ops.size(), foldChecked(make(12)).ops.size());
    }
}

TEST(Folding, TakesEqualBranchesForNoBlocks) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  std::vector<int> branches;
  for (int branch = 0; branch < 4; ++branch)
    branches.push_back(builder.addContraction(
        x, "mk", builder.addParameter({16, 16}), "kn", "mn"));
  builder.markOutput(builder.addElementwise(branches));
  Folding folding = foldChecked(builder.problem, {.leastBlockOps = 1});
  EXPECT_TRUE(folding.runs.empty());
  EXPECT_EQ(folding.ops.size(), builder.problem.ops.size());
}

TEST(Folding, JoinsShortBlocks) {
  ProblemBuilder builder;
  int x = builder.addNorm({builder.addInput({8, 16})});
  for (int layer = 0; layer < 8; ++layer)
    x = builder.addContraction(x, "mk", builder.addParameter({16, 16}), "kn",
                               "mn");
  builder.markOutput(x);
  Folding folding = foldChecked(builder.problem, {.leastBlockOps = 2});
  ASSERT_EQ(folding.runs.size(), 1u);
  EXPECT_EQ(folding.blocks[0].ops.size(), 2u);
  expectEqualCosts(builder.problem, folding);
}

TEST(Folding, KeepsWhatWasForcedByNameApart) {
  PlanningProblem problem = Residual({.blocks = 6}).makeForward();
  FoldingOptions options;
  options.labels.assign(problem.ops.size(), 0);
  options.labels[1 + 2 * 6 + 1] = 1; // a product of the third block
  Folding folding = foldChecked(problem, options);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{2, 3}));
}

TEST(Folding, NoticesAFalseClass) {
  PlanningProblem problem = Residual({.blocks = 4}).makeTraining();
  Folding folding = foldChecked(problem);
  Folding wrong = folding;
  std::swap(wrong.classOfOp[1], wrong.classOfOp[2]);
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
  wrong = folding;
  ++wrong.readings.front().count;
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
  wrong = folding;
  wrong.decisions.front().leader = -1;
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
}

} // namespace
