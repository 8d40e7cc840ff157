//===- CostNetworkTest.cpp - Elimination against enumeration --------------===//

#include "parplan/Planner/CostNetwork.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace parplan;

namespace {

struct RandomNetwork {
  CostNetwork network;
  std::vector<std::vector<double>> unary;
  std::vector<std::tuple<int, int, std::vector<double>>> pairs;

  double getCost(const std::vector<int> &choices) const {
    double cost = 0;
    for (size_t i = 0; i < unary.size(); ++i)
      cost += unary[i][choices[i]];
    for (const auto &[a, b, costs] : pairs)
      cost += costs[choices[a] * unary[b].size() + choices[b]];
    return cost;
  }

  std::vector<double> getAllCosts() const {
    std::vector<double> costs;
    std::vector<int> choices(unary.size(), 0);
    for (;;) {
      costs.push_back(getCost(choices));
      size_t i = 0;
      while (i < choices.size() &&
             ++choices[i] == static_cast<int>(unary[i].size()))
        choices[i++] = 0;
      if (i == choices.size())
        break;
    }
    std::sort(costs.begin(), costs.end());
    return costs;
  }
};

/// Integral costs, so that sums in any order are equal.
RandomNetwork makeNetwork(std::mt19937 &random) {
  RandomNetwork result;
  int count = 2 + static_cast<int>(random() % 5);
  auto draw = [&](bool mayForbid) {
    if (mayForbid && random() % 6 == 0)
      return CostNetwork::forbidden;
    return static_cast<double>(random() % 20);
  };
  for (int i = 0; i < count; ++i) {
    std::vector<double> costs(1 + random() % 3);
    for (double &cost : costs)
      cost = draw(false);
    result.unary.push_back(costs);
    result.network.addVariable(costs);
  }
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < count; ++b) {
      if (a == b || random() % 3 != 0)
        continue;
      std::vector<double> costs(result.unary[a].size() *
                                result.unary[b].size());
      for (double &cost : costs)
        cost = draw(true);
      result.pairs.emplace_back(a, b, costs);
      result.network.addPair(a, b, costs);
    }
  return result;
}

TEST(CostNetwork, FindsTheMinimumAndAnAnswerThatReachesIt) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; ++trial) {
    RandomNetwork example = makeNetwork(random);
    auto elimination = example.network.eliminate(1 << 20);
    ASSERT_TRUE(elimination);
    EXPECT_EQ(elimination->getMinimum(), example.getAllCosts().front());
    if (elimination->getMinimum() != CostNetwork::forbidden) {
      EXPECT_EQ(example.getCost(elimination->getBest()),
                elimination->getMinimum());
    }
  }
}

TEST(CostNetwork, KeepsTheMinimumWhenDominatedChoicesAreDropped) {
  std::mt19937 random(5);
  size_t before = 0, after = 0;
  for (int trial = 0; trial < 500; ++trial) {
    RandomNetwork example = makeNetwork(random);
    CostNetwork::Reduction reduced = example.network.reduce();
    auto elimination = reduced.network.eliminate(1 << 20);
    ASSERT_TRUE(elimination);
    double minimum = example.getAllCosts().front();
    EXPECT_EQ(elimination->getMinimum(), minimum);
    if (minimum != CostNetwork::forbidden) {
      EXPECT_EQ(example.getCost(reduced.expand(elimination->getBest())),
                minimum);
    }
    for (size_t i = 0; i < example.unary.size(); ++i) {
      before += example.unary[i].size();
      after += reduced.kept[i].size();
    }
  }
  EXPECT_LT(after, before * 3 / 4);
}

TEST(CostNetwork, KeepsTheMinimumWhenVariablesWithTwoNeighboursAreDropped) {
  std::mt19937 random(8);
  size_t before = 0, after = 0;
  for (int trial = 0; trial < 500; ++trial) {
    RandomNetwork example = makeNetwork(random);
    CostNetwork::Condensation condensed = example.network.condense();
    auto elimination = condensed.network.eliminate(1 << 20);
    ASSERT_TRUE(elimination);
    double minimum = example.getAllCosts().front();
    EXPECT_EQ(condensed.constant + elimination->getMinimum(), minimum);
    if (minimum != CostNetwork::forbidden) {
      EXPECT_EQ(example.getCost(condensed.expand(elimination->getBest())),
                minimum);
    }
    before += example.unary.size();
    after += condensed.kept.size();
  }
  EXPECT_LT(after, before / 2);
}

TEST(CostNetwork, KeepsEqualTablesOnce) {
  auto base = std::make_shared<CostTables>();
  CostTable first = base->get({1, 2, CostNetwork::forbidden});
  EXPECT_EQ(base->get({1, 2, CostNetwork::forbidden}), first);
  EXPECT_NE(base->get({1, 2}), first);
  CostTables more(base);
  EXPECT_EQ(more.get({1, 2, CostNetwork::forbidden}), first);
  EXPECT_EQ(more.get({3}), more.get({3}));
}

TEST(CostNetwork, SolvesManyEqualBlocks) {
  // Blocks of two variables: the same tables over and over.
  std::mt19937 random(7);
  auto draw = [&](size_t count) {
    std::vector<double> costs(count);
    for (double &cost : costs)
      cost = static_cast<double>(random() % 16);
    return costs;
  };
  std::vector<double> single = draw(4), inner = draw(16), outer = draw(16);
  constexpr int blocks = 50;
  CostNetwork network;
  for (int block = 0; block < blocks; ++block) {
    int first = network.addVariable(single),
        second = network.addVariable(single);
    network.addPair(first, second, inner);
    if (block > 0)
      network.addPair(first, first - 1, outer);
  }
  // By dynamic programming, block by block.
  std::vector<double> best(4, 0);
  for (int block = 0; block < blocks; ++block) {
    std::vector<double> next(4, CostNetwork::forbidden);
    for (int before = 0; before < 4; ++before)
      for (int first = 0; first < 4; ++first)
        for (int second = 0; second < 4; ++second)
          next[second] = std::min(
              next[second],
              best[before] + (block > 0 ? outer[first * 4 + before] : 0) +
                  single[first] + inner[first * 4 + second] + single[second]);
    best = next;
  }
  double minimum = *std::min_element(best.begin(), best.end());
  CostNetwork::Reduction reduced = network.reduce();
  CostNetwork::Condensation condensed = reduced.network.condense();
  auto elimination = condensed.network.eliminate(1 << 20);
  ASSERT_TRUE(elimination);
  EXPECT_EQ(condensed.constant + elimination->getMinimum(), minimum);
  EXPECT_EQ(
      network.getCost(reduced.expand(condensed.expand(elimination->getBest()))),
      minimum);
}

TEST(CostNetwork, VisitsAnswersInAscendingOrder) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    RandomNetwork example = makeNetwork(random);
    auto elimination = example.network.eliminate(1 << 20);
    ASSERT_TRUE(elimination);
    std::vector<double> visited;
    auto enumeration = elimination->enumerate(
        [&](const std::vector<int> &choices) {
          visited.push_back(example.getCost(choices));
          return false;
        },
        [](int, int, const std::vector<int> &) { return false; }, 1 << 20);
    EXPECT_TRUE(enumeration.complete);
    std::vector<double> expected = example.getAllCosts();
    expected.erase(
        std::remove(expected.begin(), expected.end(), CostNetwork::forbidden),
        expected.end());
    EXPECT_EQ(visited, expected);
  }
}

TEST(CostNetwork, RelaxesToALowerBoundAndImprovesAnAnswer) {
  std::mt19937 random(6);
  int reached = 0, possible = 0;
  for (int trial = 0; trial < 300; ++trial) {
    RandomNetwork example = makeNetwork(random);
    CostNetwork::Elimination relaxed = example.network.relax(9);
    double minimum = example.getAllCosts().front();
    EXPECT_LE(relaxed.getMinimum(), minimum);
    std::vector<int> start = relaxed.getBest();
    std::vector<int> better = example.network.improve(start, 8);
    EXPECT_LE(example.getCost(better), example.getCost(start));
    EXPECT_GE(example.getCost(better), minimum);
    possible += minimum != CostNetwork::forbidden;
    reached +=
        minimum != CostNetwork::forbidden && example.getCost(better) == minimum;
  }
  EXPECT_GT(reached, possible * 3 / 4);
}

TEST(CostNetwork, StopsAtTheNodeLimitWithALowerBound) {
  CostNetwork network;
  for (int i = 0; i < 10; ++i)
    network.addVariable({0, 1, 2});
  auto elimination = network.eliminate(1 << 20);
  auto enumeration = elimination->enumerate(
      [](const std::vector<int> &) { return false; },
      [](int, int, const std::vector<int> &) { return false; }, 100);
  EXPECT_FALSE(enumeration.complete);
  EXPECT_FALSE(enumeration.found);
  EXPECT_LE(enumeration.lowerBound, 20);
}

TEST(CostNetwork, GivesUpBeforeATableExceedsTheLimit) {
  CostNetwork network;
  for (int i = 0; i < 6; ++i)
    network.addVariable(std::vector<double>(10, 0));
  for (int a = 0; a < 6; ++a)
    for (int b = a + 1; b < 6; ++b)
      network.addPair(a, b, std::vector<double>(100, 1));
  EXPECT_FALSE(network.eliminate(1000));
  EXPECT_TRUE(network.eliminate(1000000));
}

} // namespace
