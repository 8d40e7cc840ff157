//===- TrainingProblemTest.cpp - Groups and legality of training steps ----===//

#include "TrainingSteps.h"

#include "parplan/Planner/Decisions.h"

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(Decisions, AreOnePerGroup) {
  PlanningProblem problem = makeTrainedLayer(1);
  Decisions decisions = getDecisions(problem);
  ASSERT_EQ(decisions.all.size(), 3u);
  EXPECT_EQ(decisions.all[0].leader, 0);
  EXPECT_EQ(decisions.all[0].members, (llvm::SmallVector<int, 4>{0, 1, 2}));
  EXPECT_EQ(decisions.ofOp, (std::vector<int>{0, 0, 0, 1, 2}));
}

TEST(Decisions, LetGradientsFollowTheForwardProduct) {
  PlanningProblem problem = makeTrainedLayer(1);
  Mesh mesh = makeMesh(2, 2);
  FactorAssignment column =
      FactorAssignment::getReplicated(problem.ops[0].rule);
  column.axes[0] = {0}; // m: data
  column.axes[2] = {1}; // n
  auto members = inferMembers(
      problem, getDecisions(problem).all[0], column,
      /*pending=*/{}, getMeshAxes(problem, {mesh, getGrids(mesh)}), mesh);
  // The gradient of the input is pending over n, that of the weight over m.
  EXPECT_EQ(getMadeSharding(problem.ops[1].rule, members[1], 0),
            *parseSharding("[{dp0}, {}] partial=sum{tp0}", mesh));
  EXPECT_EQ(getMadeSharding(problem.ops[2].rule, members[2], 0),
            *parseSharding("[{}, {tp0}] partial=sum{dp0}", mesh));
}

TEST(Evaluator, RefusesAVariableThatIsReplacedElsewhere) {
  PlanningProblem problem = makeTrainedLayer(1);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 0));
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.updates == 1)
      result.answer->rest[index].storage = {0};
  auto problems = verifyAnswer(problem, *result.answer);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("lies otherwise"), std::string::npos);
}

TEST(Evaluator, RefusesStorageOfAnOpThatIsNotFlat) {
  PlanningProblem problem = makeTrainedLayer(1);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 1));
  problem.ops.back().rule.flat = false;
  EXPECT_FALSE(verifyAnswer(problem, *result.answer).empty());
}

TEST(Problem, HasOneLeaderPerGroup) {
  PlanningProblem problem = makeTrainedLayer(1);
  problem.ops[1].isLeader = true;
  ASSERT_TRUE(verifyProblem(problem));
  EXPECT_NE(verifyProblem(problem)->find("2 leaders"), std::string::npos);
}

TEST(Problem, ReadsMicroBatchesThroughAnAccumulateOnly) {
  PlanningProblem problem = makeTrainedLayer(2, /*isAccumulated=*/false);
  ASSERT_TRUE(verifyProblem(problem));
  EXPECT_NE(verifyProblem(problem)->find("every micro-batch has"),
            std::string::npos);
}

} // namespace
