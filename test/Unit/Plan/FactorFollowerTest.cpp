//===- FactorFollowerTest.cpp - Batch, sequence and experts ---------------===//

#include "passes/Plan/FactorFollower.h"

#include "gtest/gtest.h"

using namespace parplan;

namespace {

/// Builds graphs by letters: a value has a size per letter.
class Graph {
public:
  PlanningProblem problem;

  int add(ValueKind kind, const std::string &letters) {
    PlanningValue &value = problem.values.emplace_back();
    value.kind = kind;
    for (char letter : letters)
      value.shape.push_back(getSize(letter));
    return static_cast<int>(problem.values.size()) - 1;
  }
  /// Token ids or embedded tokens.
  int addInput(const std::string &letters) {
    int value = add(ValueKind::input, letters);
    problem.values[value].batchDimension = 0;
    problem.values[value].sequenceDimension = 1;
    return value;
  }

  /// An op with a factor per letter; returns the value of its last result.
  /// A dimension of several factors is in parentheses: "(bs)d".
  int addOp(std::vector<int> operands, std::vector<std::string> tensors,
            std::vector<std::string> results = {}) {
    PlanningOp &op = problem.ops.emplace_back();
    for (const auto &list : {tensors, results})
      for (const std::string &tensor : list)
        for (char letter : tensor)
          if (std::isalpha(letter) && !op.rule.findFactor({&letter, 1}))
            op.rule.factors.push_back(
                {std::string(1, letter), getSize(letter)});
    op.operands.assign(operands.begin(), operands.end());
    for (const std::string &tensor : tensors)
      op.rule.operands.push_back(parse(op.rule, tensor));
    for (const std::string &tensor : results) {
      op.rule.results.push_back(parse(op.rule, tensor));
      PlanningValue value;
      for (const DimFactors &dim : op.rule.results.back()) {
        int64_t size = 1;
        for (int factor : dim)
          size *= op.rule.factors[factor].size;
        value.shape.push_back(size);
      }
      op.results.push_back(static_cast<int>(problem.values.size()));
      problem.values.push_back(std::move(value));
    }
    return op.results.empty() ? -1 : op.results.back();
  }

  std::string getFactor(const PlanningOp &op, int factor) const {
    return factor < 0 ? "-" : op.rule.factors[factor].name;
  }
  /// Names of the factors of the last op: batch, sequence, experts.
  std::string describe(size_t index) const {
    const PlanningOp &op = problem.ops[index];
    return getFactor(op, op.batchFactor) + " " +
           getFactor(op, op.sequenceFactor) + " " +
           getFactor(op, op.expertFactor);
  }

private:
  static int64_t getSize(char letter) { return letter - 'a' + 2; }

  static TensorFactors parse(const ShardingRule &rule,
                             const std::string &text) {
    TensorFactors tensor;
    bool isOpen = false;
    for (char letter : text) {
      if (letter == '(')
        tensor.emplace_back();
      isOpen = letter == '(' || (isOpen && letter != ')');
      if (!std::isalpha(letter))
        continue;
      int factor = *rule.findFactor({&letter, 1});
      if (isOpen)
        tensor.back().push_back(factor);
      else
        tensor.push_back({factor});
    }
    return tensor;
  }
};

TEST(FollowFactors, ThroughProductsAndTranspositions) {
  Graph graph;
  int x = graph.addInput("bsd"), weight = graph.add(ValueKind::parameter, "dn");
  int y = graph.addOp({x, weight}, {"bsd", "dn"}, {"bsn"});
  int z = graph.addOp({y}, {"bsn"}, {"bns"});
  followFactors(graph.problem);
  EXPECT_EQ(graph.describe(0), "b s -");
  EXPECT_EQ(graph.describe(1), "b s -");
  EXPECT_EQ(graph.problem.values[z].batchDimension, 0);
  EXPECT_EQ(graph.problem.values[z].sequenceDimension, 2);
  EXPECT_EQ(graph.problem.values[weight].sequenceDimension, -1);
}

TEST(FollowFactors, EndWhereADimensionIsMerged) {
  Graph graph;
  int x = graph.addInput("bsd");
  int rows = graph.addOp({x}, {"bsd"}, {"(bs)d"});
  graph.addOp({rows}, {"qd"}, {"qd"});
  followFactors(graph.problem);
  EXPECT_EQ(graph.describe(0), "b s -");
  EXPECT_EQ(graph.problem.values[rows].batchDimension, 0);
  EXPECT_EQ(graph.problem.values[rows].sequenceDimension, -1);
  EXPECT_EQ(graph.describe(1), "q - -");
}

TEST(FollowFactors, ToKeysOfTheirGradient) {
  Graph graph;
  int query = graph.addInput("bsh"), key = graph.addInput("bth");
  int gradient = graph.addOp({query, key}, {"bsh", "bth"}, {"bsh", "bth"});
  ASSERT_EQ(graph.problem.ops[0].rule.factors[3].name, "t");
  graph.problem.ops[0].keyFactor = 3;
  followFactors(graph.problem);
  EXPECT_EQ(graph.describe(0), "b s -");
  EXPECT_EQ(graph.problem.values[gradient].sequenceDimension, 1);
}

TEST(FollowFactors, ToMembersThatReadNothingOfIt) {
  Graph graph;
  int x = graph.addInput("bsd"), scale = graph.add(ValueKind::constant, "d");
  graph.addOp({x}, {"bsd"}, {"d"});
  graph.addOp({scale}, {"d"}, {"bsd"});
  graph.problem.ops[0].group = graph.problem.ops[1].group = 0;
  graph.problem.ops[1].isLeader = false;
  followFactors(graph.problem);
  EXPECT_EQ(graph.describe(1), "b s -");
}

TEST(FollowFactors, FromExpertsForwardAndBackToTheirWeights) {
  Graph graph;
  int tokens = graph.addInput("btd"),
      master = graph.add(ValueKind::parameter, "edn");
  int weight = graph.addOp({master}, {"edn"}, {"edn"});
  int sent = graph.addOp({tokens}, {"btd"}, {"ebtd"});
  int hidden = graph.addOp({sent, weight}, {"ebtd", "edn"}, {"ebtn"});
  graph.addOp({hidden}, {"ebtn"}, {"btn"});
  graph.problem.ops[1].expertFactor = 3;
  ASSERT_EQ(graph.problem.ops[1].rule.factors[3].name, "e");
  followFactors(graph.problem);
  EXPECT_EQ(graph.describe(0), "- - e") << "the cast of the weight";
  EXPECT_EQ(graph.describe(1), "b t e");
  EXPECT_EQ(graph.describe(2), "b t e");
  EXPECT_EQ(graph.describe(3), "b t e");
}

} // namespace
