//===- OperatorsTest.cpp - The operators of plan.json ---------------------===//

#include "lib/Report/Operators.h"

#include "parplan/Cluster/Presets.h"

#include "gtest/gtest.h"

using namespace parplan;

namespace {

/// `count` products of one after the other, each with its rows on both ranks.
/// What the next one reads is gathered.
struct Chain {
  PlanningProblem problem;
  PlanningAnswer answer;

  explicit Chain(int count) {
    answer.mesh = Mesh({{"tp0", 2}});
    addValue();
    for (int number = 0; number < count; ++number) {
      int weight = addValue(), result = addValue();
      answer.rest[result].dims[0] = {0};
      PlanningOp &op = problem.ops.emplace_back();
      op.node = "product " + std::to_string(number);
      op.type = "MatMul";
      op.rule.factors = {{"m", 8}, {"n", 8}, {"k", 8, FactorKind::reduceSum}};
      op.rule.operands = {{{0}, {2}}, {{2}, {1}}};
      op.rule.results = {{{0}, {1}}};
      op.operands = {weight, last};
      op.results = {result};
      FactorAssignment &assignment = answer.assignments.emplace_back();
      assignment.axes.resize(3);
      assignment.axes[0] = {0};
      last = result;
    }
  }

private:
  int addValue() {
    PlanningValue &value = problem.values.emplace_back();
    value.kind = ValueKind::activation;
    value.shape = {8, 8};
    answer.rest.emplace_back().dims.resize(2);
    return static_cast<int>(problem.values.size()) - 1;
  }

  int last = 0;
};

Json describe(const Chain &chain) {
  Cluster cluster;
  PlanEvaluation evaluation;
  Certificate certificate;
  Prediction prediction;
  PlanSummary summary{.model = {},
                      .clusterSource = {},
                      .cluster = cluster,
                      .training = {},
                      .sequence = {},
                      .forceEntries = {},
                      .problem = chain.problem,
                      .answer = chain.answer,
                      .evaluation = evaluation,
                      .certificate = certificate,
                      .prediction = prediction,
                      .search = {}};
  return describeOperators(summary);
}

} // namespace

// They are described in several threads.
TEST(Operators, StandInTheOrderOfTheProblemHoweverManyThereAre) {
  for (int count : {0, 1, 3, 4, 9}) {
    Json operators = describe(Chain(count));
    ASSERT_EQ(operators.size(), static_cast<size_t>(count));
    for (int number = 0; number < count; ++number)
      EXPECT_EQ(operators[number]["node"], "product " + std::to_string(number));
  }
}

TEST(Operators, EachSaysWhatItsOwnOperandsCost) {
  Json operators = describe(Chain(9));
  EXPECT_TRUE(operators[0]["collectives"].empty());
  for (int number = 1; number < 9; ++number) {
    const Json &collectives = operators[number]["collectives"];
    ASSERT_EQ(collectives.size(), 1u) << number;
    EXPECT_EQ(collectives[0]["kind"], "all_gather");
    EXPECT_EQ(collectives[0]["bytes"], 8 * 8 * 4);
  }
}
