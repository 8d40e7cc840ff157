//===- ReductionsTest.cpp - Reductions keep the minimum -------------------===//

#include "lib/BlockSolver/Reductions.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Whether the limit holds at all times that a network has left.
bool fits(const Network &network, const std::vector<int> &nodes,
          const std::vector<int> &values) {
  std::vector<int64_t> usage = network.getBase();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Network::Node &node = network.nodes[nodes[i]];
    for (size_t span = 0; span < node.spans.size(); ++span)
      for (int time = node.spans[span].begin; time < node.spans[span].end;
           ++time)
        usage[time] += node.usages[span * node.ids.size() + values[i]];
  }
  return std::all_of(usage.begin(), usage.end(),
                     [&](int64_t used) { return used <= network.limit; });
}

/// The least cost of all answers of a network that fit by its own times, each
/// undone and judged by the problem: cost and memory must be the same there.
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
      bool isFitting = fits(network, nodes, values);
      EXPECT_EQ(isFitting, evaluation.peak <= problem.usageLimit);
      if (isFitting)
        least = std::min(least, cost);
    }
    size_t node = 0;
    while (node < values.size() &&
           ++values[node] == network.nodes[nodes[node]].size())
      values[node++] = 0;
    if (node == values.size())
      return least;
  }
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
