//===- EvaluatorTest.cpp - Time, memory and legality of a plan ------------===//

#include "TestProblems.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/Evaluator.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The MLP on two tensor-parallel ranks: column, then row, then all-reduce.
struct MegatronMlp {
  PlanningProblem problem = makeMlp(/*batch=*/8, /*width=*/16, /*hidden=*/32);
  PlanningAnswer answer;

  MegatronMlp() {
    answer.mesh = makeMesh(1, 2);
    for (const PlanningOp &op : problem.ops)
      answer.assignments.push_back(FactorAssignment::getReplicated(op.rule));
    for (const PlanningValue &value : problem.values)
      answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
    answer.assignments[0].axes[1] = {0}; // n of the first product
    answer.assignments[1].axes[2] = {0}; // k of the second
    answer.rest[1].dims[1] = {0};
    answer.rest[2].dims[0] = {0};
    answer.rest[3].dims[1] = {0};
  }
};

TEST(Evaluator, AcceptsALegalPlan) {
  MegatronMlp mlp;
  EXPECT_TRUE(verifyAnswer(mlp.problem, mlp.answer).empty());
}

TEST(Evaluator, AddsComputationAndOneAllReduce) {
  MegatronMlp mlp;
  PlanEvaluation evaluation =
      evaluatePlan(mlp.problem, mlp.answer, SimpleCosts());
  double flops = 2 * 8 * 16 * 16 + 2 * 8 * 16 * 16;
  EXPECT_DOUBLE_EQ(evaluation.computeSeconds, flops / 1000);
  EXPECT_DOUBLE_EQ(evaluation.tensorCommunicationSeconds,
                   0.001 + 8 * 16 * 4 / 1000.0);
  EXPECT_EQ(evaluation.dataCommunicationSeconds, 0);
}

TEST(Evaluator, CountsWeightsActivationsAndThePendingResult) {
  MegatronMlp mlp;
  PlanEvaluation evaluation =
      evaluatePlan(mlp.problem, mlp.answer, SimpleCosts());
  int64_t weights = 2 * 16 * 16 * 4, input = 8 * 16 * 4, hidden = 8 * 16 * 4,
          pending = 8 * 16 * 4, output = 8 * 16 * 4;
  EXPECT_EQ(evaluation.parameterBytes, weights);
  EXPECT_EQ(evaluation.peakBytes, weights + input + hidden + pending + output);
}

TEST(Evaluator, CountsInputsAndOutputsOfEveryMicroBatch) {
  MegatronMlp mlp;
  PlanEvaluation one = evaluatePlan(mlp.problem, mlp.answer, SimpleCosts());
  mlp.problem.microBatches = 3;
  for (PlanningOp &op : mlp.problem.ops)
    op.perMicroBatch = true;
  PlanEvaluation three = evaluatePlan(mlp.problem, mlp.answer, SimpleCosts());
  EXPECT_DOUBLE_EQ(three.stepTimeSeconds, 3 * one.stepTimeSeconds);
  int64_t input = 8 * 16 * 4, output = 8 * 16 * 4;
  EXPECT_EQ(three.peakBytes, one.peakBytes + 2 * (input + output));
}

TEST(Evaluator, SharesACopyBetweenTwoReadersInOneLayout) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  builder.addProduct(x, builder.addParameter({16, 16}));
  builder.addProduct(x, builder.addParameter({16, 16}));
  PlanningAnswer answer;
  answer.mesh = makeMesh(1, 2);
  for (const PlanningOp &op : builder.problem.ops)
    answer.assignments.push_back(FactorAssignment::getReplicated(op.rule));
  for (const PlanningValue &value : builder.problem.values)
    answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
  answer.rest[x].dims[1] = {0};
  auto copies = getCopies(builder.problem, answer);
  ASSERT_EQ(copies[x].size(), 1u);
  EXPECT_EQ(copies[x][0].firstUse, 0);
  EXPECT_EQ(copies[x][0].lastUse, 1);
  EXPECT_DOUBLE_EQ(evaluatePlan(builder.problem, answer, SimpleCosts())
                       .tensorCommunicationSeconds,
                   0.001 + 8 * 16 * 4 / 1000.0);
}

TEST(Evaluator, RefusesAnotherGraph) {
  MegatronMlp mlp;
  mlp.answer.assignments.pop_back();
  auto problems = verifyAnswer(mlp.problem, mlp.answer);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("another graph"), std::string::npos);
}

TEST(Evaluator, RefusesAnAxisOnTwoFactors) {
  MegatronMlp mlp;
  mlp.answer.assignments[0].axes[2] = {0};
  auto problems = verifyAnswer(mlp.problem, mlp.answer);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("S7"), std::string::npos) << problems[0];
}

TEST(Evaluator, RefusesAPendingOutput) {
  MegatronMlp mlp;
  mlp.answer.rest[4].partial = {0};
  auto problems = verifyAnswer(mlp.problem, mlp.answer);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("pending"), std::string::npos);
}

TEST(Evaluator, RefusesStorageOverTensorAxes) {
  MegatronMlp mlp;
  mlp.answer.rest[1].dims[1] = {};
  mlp.answer.rest[1].storage = {0};
  auto problems = verifyAnswer(mlp.problem, mlp.answer);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("S23"), std::string::npos) << problems[0];
}

TEST(Evaluator, RefusesDataAxesBesideTheBatch) {
  PlanningProblem problem = makeMlp(8, 16, 32);
  PlanningAnswer answer;
  answer.mesh = makeMesh(2, 1);
  for (const PlanningOp &op : problem.ops)
    answer.assignments.push_back(FactorAssignment::getReplicated(op.rule));
  for (const PlanningValue &value : problem.values)
    answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
  answer.assignments[0].axes[1] = {0};
  auto problems = verifyAnswer(problem, answer);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("not the batch"), std::string::npos);
}

TEST(Problem, IsIncompleteWhenAValueIsReadBeforeItExists) {
  PlanningProblem problem = makeMlp(8, 16, 32);
  std::swap(problem.ops[0], problem.ops[1]);
  ASSERT_TRUE(verifyProblem(problem));
  EXPECT_NE(verifyProblem(problem)->find("before it is produced"),
            std::string::npos);
  EXPECT_FALSE(verifyProblem(makeMlp(8, 16, 32)));
}

} // namespace
