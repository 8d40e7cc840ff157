//===- VectorNetworkTest.cpp - Costs in components, minimised -------------===//

#include "lib/Planner/Units/VectorNetwork.h"
#include "lib/Planner/Units/VectorElimination.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace parplan;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The components that costs have: two of seconds, and one of bytes.
constexpr int first = 0, second = 1, bytes = 5;

struct RandomNetwork {
  std::mt19937 generator;
  std::vector<int> sizes;
  std::vector<VectorNetwork::Factor> factors;

  explicit RandomNetwork(unsigned seed) : generator(seed) {
    int variables = draw(2, 6);
    for (int variable = 0; variable < variables; ++variable)
      sizes.push_back(draw(1, 4));
    int count = draw(variables, 2 * variables);
    for (int factor = 0; factor < count; ++factor)
      factors.push_back(makeFactor());
  }

  int draw(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(generator);
  }

  /// Small whole numbers: sums are exact, and ties happen.
  VectorNetwork::Factor makeFactor() {
    VectorNetwork::Factor factor;
    int entries = 1;
    for (int number = draw(1, 3); number > 0; --number) {
      int variable = draw(0, static_cast<int>(sizes.size()) - 1);
      if (llvm::is_contained(factor.variables, variable))
        continue;
      if (draw(0, 1) == 0) {
        factor.addVariable(variable, sizes[variable]);
      } else {
        // The first and the last choice are alike.
        std::vector<int> classes;
        for (int choice = 0; choice < sizes[variable]; ++choice)
          classes.push_back(choice + 1 < sizes[variable] ? choice : 0);
        factor.addVariable(variable, std::move(classes));
      }
      entries *= factor.sizes.back();
    }
    bool hasBytes = draw(0, 1) == 0;
    for (int entry = 0; entry < entries; ++entry) {
      std::vector<Components> alternatives;
      for (int number = draw(0, 9) == 0 ? 0 : draw(1, 2); number > 0;
           --number) {
        Components cost{};
        for (int component : {first, second, bytes})
          if (component != bytes || hasBytes)
            cost[component] = draw(0, 5);
        alternatives.push_back(cost);
      }
      factor.add(alternatives);
    }
    return factor;
  }

  Components drawWeights() {
    Components weights{};
    for (double &weight : weights)
      weight = draw(0, 8) * 0.25;
    return weights;
  }

  double getCost(const std::vector<int> &choices,
                 const Components &weights) const {
    double cost = 0;
    for (const auto &factor : factors) {
      int entry = 0;
      for (size_t at = 0; at < factor.variables.size(); ++at)
        entry = entry * factor.sizes[at] +
                factor.classes[at][choices[factor.variables[at]]];
      double least = infinity;
      for (const Components &alternative : factor.get(entry))
        least = std::min(least, getProduct(weights, alternative));
      cost += least;
    }
    return cost;
  }

  /// The minimum with the first variables as in `choices`.
  double getMinimum(std::vector<int> &choices, size_t next,
                    const Components &weights) const {
    if (next == sizes.size())
      return getCost(choices, weights);
    double least = infinity;
    for (int choice = 0; choice < sizes[next]; ++choice) {
      choices[next] = choice;
      least = std::min(least, getMinimum(choices, next + 1, weights));
    }
    return least;
  }
};

TEST(VectorNetworkTest, MixturesOfTwoOthersAreDropped) {
  std::vector<Components> costs = {{4, 0}, {0, 4}, {3, 3}, {1, 1}, {4, 4}};
  keepSupported(costs);
  EXPECT_EQ(costs, (std::vector<Components>{{1, 1}, {4, 0}, {0, 4}}));
}

TEST(VectorNetworkTest, MinimaUnderAnyWeightsAreThoseOfEnumeration) {
  int reduced = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomNetwork random(seed);
    VectorNetwork network;
    for (int size : random.sizes)
      network.addVariable(size);
    for (const auto &factor : random.factors)
      network.add(factor);
    std::vector<int> fixed = {0};
    network.reduce(fixed);
    if (network.isImpossible()) {
      std::vector<int> choices(random.sizes.size(), 0);
      EXPECT_EQ(random.getMinimum(choices, 0, Components{}), infinity);
      continue;
    }
    auto elimination = VectorElimination::make(network, fixed, 1 << 20);
    ASSERT_TRUE(elimination);
    for (int variable = 1; variable < network.getVariableCount(); ++variable)
      reduced += network.isEliminated(variable);
    Components weights{};
    for (int question = 0; question < 6; ++question) {
      // Prices of bytes alone change from one question to the next, too.
      Components drawn = random.drawWeights();
      if (question % 2 == 0)
        weights = drawn;
      else
        weights[bytes] = drawn[bytes];
      llvm::ArrayRef<double> least = elimination->minimise(weights);
      ASSERT_EQ(least.size(), network.getKept(0).size());
      for (auto [place, choice] : llvm::enumerate(network.getKept(0))) {
        std::vector<int> choices(random.sizes.size(), 0);
        choices[0] = choice;
        double expected = random.getMinimum(choices, 1, weights);
        EXPECT_EQ(least[place], expected) << "seed " << seed;
        if (expected == infinity)
          continue;
        // The plan that reaches it.
        std::vector<int> places(random.sizes.size(), -1);
        places[0] = static_cast<int>(place);
        elimination->complete(places);
        std::optional<Components> cost = network.getCost(weights, places);
        network.complete(weights, places);
        ASSERT_TRUE(cost) << "seed " << seed;
        EXPECT_EQ(getProduct(weights, *cost), expected) << "seed " << seed;
        for (size_t variable = 0; variable < places.size(); ++variable)
          choices[variable] = network.getKept(variable)[places[variable]];
        EXPECT_EQ(random.getCost(choices, weights), expected)
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(reduced, 500);
}

TEST(VectorNetworkTest, AHubOfMoreCombinationsThanNumbersStays) {
  // 4^32 combinations of what is around it: 0 in 64 bits.
  VectorNetwork network;
  constexpr int choices = 4;
  int hub = network.addVariable(choices);
  std::vector<int> fixed;
  for (int spoke = 0; spoke < 32; ++spoke) {
    fixed.push_back(network.addVariable(choices));
    VectorNetwork::Factor factor;
    factor.addVariable(hub, choices);
    factor.addVariable(fixed.back(), choices);
    for (int ofHub = 0; ofHub < choices; ++ofHub)
      for (int ofSpoke = 0; ofSpoke < choices; ++ofSpoke) {
        Components cost{};
        cost[0] = ofHub == ofSpoke ? 0 : 1;
        factor.add({cost});
      }
    network.add(std::move(factor));
  }
  network.reduce(fixed);
  EXPECT_FALSE(network.isEliminated(hub));
  EXPECT_EQ(network.getFactors().size(), fixed.size());
}

TEST(VectorNetworkTest, WithoutItsWidestFactorItIsABound) {
  int lower = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomNetwork random(seed);
    VectorNetwork network;
    for (int size : random.sizes)
      network.addVariable(size);
    for (const auto &factor : random.factors)
      network.add(factor);
    bool isWide = llvm::any_of(network.getFactors(), [](const auto &factor) {
      return !factor->variables.empty();
    });
    if (network.isImpossible() || !isWide)
      continue;
    Components weights = random.drawWeights();
    auto getLeast = [&] {
      auto elimination = VectorElimination::make(network, {0}, 1 << 20);
      llvm::ArrayRef<double> costs = elimination->minimise(weights);
      return std::vector<double>(costs.begin(), costs.end());
    };
    std::vector<double> before = getLeast();
    network.dropWidestFactor();
    for (auto [least, bound] : llvm::zip_equal(before, getLeast())) {
      EXPECT_LE(bound, least);
      lower += bound < least;
    }
  }
  EXPECT_GT(lower, 50);
}

TEST(VectorNetworkTest, WhatTellsNoChoicesApartJoinsNoVariables) {
  VectorNetwork network;
  VectorNetwork::Factor factor;
  // A scalar that thirty ops read in the one way there is.
  for (int op = 0; op < 30; ++op) {
    int variable = network.addVariable(4);
    factor.addVariable(variable, std::vector<int>(4, 0));
  }
  factor.add(Components{1});
  network.add(factor);
  ASSERT_TRUE(VectorElimination::make(network, {0}, /*tableLimit=*/16));
}

} // namespace
