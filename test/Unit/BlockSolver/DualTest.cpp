//===- DualTest.cpp - Bounds are bounds -----------------------------------===//

#include "lib/BlockSolver/Dual.h"
#include "lib/BlockSolver/Assignment.h"
#include "lib/BlockSolver/Random.h"
#include "lib/BlockSolver/Reductions.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::block;

namespace {

/// A network with normal tables and few times, but with all its nodes.
Network makeNetwork(const Problem &problem) {
  Network network(problem);
  reduce(network, {/*canMerge=*/false, /*canDominate=*/false,
                   /*canEliminate=*/false, /*canReduceTimes=*/true});
  return network;
}

TEST(Dual, BoundsAreNeverAboveTheMinimum) {
  int tight = 0, feasible = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Problem problem = makeSmallProblem(seed);
    double minimum = findMinimum(problem);
    Network network = makeNetwork(problem);
    if (network.isInfeasible)
      continue;
    Graph graph(network);
    Dual dual(graph, getMinPlus(Kernel::best),
              std::vector<double>(graph.getTimeCount(), 0));
    for (int run = 0; run < 4; ++run) {
      dual.run(20'000, minimum);
      ASSERT_LE(dual.getBound(), minimum + 1e-6) << "seed " << seed;
    }
    if (minimum == forbidden)
      continue;
    ++feasible;
    tight += dual.getBound() > minimum - 1e-6;
    if (!dual.getBestFitting().empty()) {
      ASSERT_GE(dual.getBestFittingCost(), minimum - 1e-6);
    }
  }
  EXPECT_GT(tight, feasible / 2);
}

TEST(Dual, HopelessValuesAreInNoBetterAnswer) {
  // Prices move after every pass: what the last pass left must not be used
  // with the prices of the next.
  int dropped = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    Problem problem = makeSmallProblem(seed);
    double minimum = findMinimum(problem);
    Network network = makeNetwork(problem);
    if (network.isInfeasible || minimum == forbidden)
      continue;
    Graph graph(network);
    Dual dual(graph, getMinPlus(Kernel::best),
              std::vector<double>(graph.getTimeCount(), 0));
    dual.run(40'000, minimum + 3);
    std::vector<char> hopeless = dual.findHopeless(minimum + 1e-6);
    for (int node = 0; node < graph.size(); ++node)
      for (int value = 0; value < graph.getDomain(node); ++value) {
        if (!hopeless[graph.getOffset(node) + value])
          continue;
        ++dropped;
        Problem fixed = problem;
        Node &from = fixed.nodes[graph.getOriginal(node)];
        for (size_t id = 0; id < from.costs.size(); ++id)
          if (static_cast<int>(id) != graph.getId(node, value))
            from.costs[id] = forbidden;
        ASSERT_GT(findMinimum(fixed), minimum) << "seed " << seed;
      }
  }
  EXPECT_GT(dropped, 500);
}

TEST(Assignment, KeepsCostAndMemoryUpToDate) {
  Random random(7);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Network network = makeNetwork(makeSmallProblem(seed));
    if (network.isInfeasible)
      continue;
    Graph graph(network);
    Assignment moved(graph);
    std::vector<int> choices(graph.size(), 0);
    for (int step = 0; step < 10 && graph.size() > 0; ++step) {
      int node = random.below(graph.size());
      choices[node] = random.below(graph.getDomain(node));
      moved.set(node, choices[node], 0);
      Assignment fresh(graph);
      fresh.assign(choices);
      EXPECT_EQ(moved.getExcess(), fresh.getExcess());
      EXPECT_EQ(fresh.getCost(), getCost(graph, choices));
    }
  }
}

} // namespace
