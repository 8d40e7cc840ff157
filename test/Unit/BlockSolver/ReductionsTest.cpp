//===- ReductionsTest.cpp - Reductions keep the minimum -------------------===//

#include "lib/BlockSolver/Reductions.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// The least cost of all answers of a network, each undone and judged by the
/// problem; none may cost less there than here.
double findMinimumThroughUndo(const Network &network, const Problem &problem) {
  if (network.isInfeasible)
    return forbidden;
  std::vector<int> nodes;
  for (size_t i = 0; i < network.nodes.size(); ++i)
    if (network.nodes[i].isAlive)
      nodes.push_back(static_cast<int>(i));
  std::vector<int> values(nodes.size(), 0);
  double least = forbidden;
  while (true) {
    Choices choices(problem.nodes.size(), -1);
    double cost = network.constant;
    for (size_t i = 0; i < nodes.size(); ++i) {
      choices[nodes[i]] = network.nodes[nodes[i]].ids[values[i]];
      cost += network.nodes[nodes[i]].costs[values[i]];
    }
    for (const Network::Edge &edge : network.edges) {
      if (!edge.isAlive)
        continue;
      auto getValue = [&](int node) {
        return values[std::find(nodes.begin(), nodes.end(), node) -
                      nodes.begin()];
      };
      cost += network.getCost(edge, edge.first, getValue(edge.first),
                              getValue(edge.second));
    }
    if (cost != forbidden) {
      network.undo.expand(choices);
      Evaluation evaluation = evaluate(problem, choices);
      EXPECT_EQ(evaluation.cost, cost);
      if (evaluation.peak <= problem.usageLimit)
        least = std::min(least, evaluation.cost);
    }
    size_t node = 0;
    while (node < values.size() &&
           ++values[node] == network.nodes[nodes[node]].size())
      values[node++] = 0;
    if (node == values.size())
      return least;
  }
}

/// What the network says about memory is what the problem says.
void expectSameTightness(const Network &network, const Problem &problem) {
  std::vector<int64_t> base = network.getBase();
  for (int64_t usage : base)
    EXPECT_GE(usage, 0);
  EXPECT_EQ(network.limit, problem.usageLimit);
}

struct RuleCase {
  const char *name;
  ReductionRules rules;
};

class Rules : public testing::TestWithParam<RuleCase> {};

TEST_P(Rules, KeepTheMinimumOfRandomProblems) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    Problem problem = makeSmallProblem(seed);
    ASSERT_EQ(findFault(problem), std::nullopt);
    Network network(problem);
    reduce(network, GetParam().rules);
    ASSERT_EQ(findMinimumThroughUndo(network, problem), findMinimum(problem))
        << "seed " << seed;
    if (!network.isInfeasible)
      expectSameTightness(network, problem);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, Rules,
    testing::Values(RuleCase{"Consistency", {false, false, false, false}},
                    RuleCase{"Merging", {true, false, false, false}},
                    RuleCase{"Domination", {false, true, false, false}},
                    RuleCase{"Elimination", {false, false, true, false}},
                    RuleCase{"Times", {false, false, false, true}},
                    RuleCase{"All", {true, true, true, true}}),
    [](const testing::TestParamInfo<RuleCase> &info) {
      return std::string(info.param.name);
    });

TEST(Reductions, MergeNodesThatShareALayout) {
  Problem problem;
  problem.usageLimit = 10;
  problem.nodes = {{{0, 5}, {4, 6}, 0, 2}, {{3, 0}, {5, 2}, 1, 3}};
  problem.edges = {{0, 1, {0, forbidden, forbidden, 1}}};
  Network network(problem);
  Worklist changed(2);
  ASSERT_TRUE(mergeTie(network, 0, changed));
  EXPECT_NE(network.nodes[0].isAlive, network.nodes[1].isAlive);
  int leader = network.nodes[0].isAlive ? 0 : 1;
  EXPECT_EQ(network.nodes[leader].costs, (std::vector<double>{3, 6}));
  Choices choices(2, -1);
  choices[leader] = 1;
  network.undo.expand(choices);
  EXPECT_EQ(choices, (Choices{1, 1}));
}

TEST(Reductions, KeepValuesThatTakeLessMemory) {
  Problem problem;
  problem.usageLimit = 5;
  problem.nodes = {{{0, 7}, {6, 3}, 0, 2}, {{0, 1}, {3, 2}, 0, 2}};
  Network network(problem);
  Worklist changed(2);
  EXPECT_FALSE(dropDominated(network, 0, changed));
  reduce(network);
  // Only the second value of node 0 fits at all.
  EXPECT_EQ(findMinimumThroughUndo(network, problem), 8);
}

TEST(Reductions, DropTimesThatANeighbourCovers) {
  Problem problem;
  problem.usageLimit = 5;
  problem.nodes = {{{0, 9}, {4, 0}, 0, 10},
                   {{0, 9}, {4, 0}, 1, 10},
                   {{0, 9}, {4, 0}, 2, 3},
                   {{0, 9}, {4, 0}, 5, 6}};
  Network network(problem);
  EXPECT_EQ(network.getTimeCount(), 2);
  // Nothing lets one of the two peaks go before the rest.
  reduceTimes(network);
  EXPECT_EQ(network.getTimeCount(), 2);
  network.nodes[3].costs[0] = forbidden;
  reduce(network);
  EXPECT_LE(network.getTimeCount(), 1);
}

TEST(Reductions, SayThatNothingFits) {
  Problem problem;
  problem.usageLimit = 5;
  problem.nodes = {{{0, 1}, {3, 4}, 0, 2}, {{0, 1}, {3, 4}, 1, 2}};
  Network network(problem);
  reduce(network);
  EXPECT_TRUE(network.isInfeasible);
}

} // namespace
