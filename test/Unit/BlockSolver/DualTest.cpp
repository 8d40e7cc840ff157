//===- DualTest.cpp - Bounds are bounds -----------------------------------===//

#include "lib/BlockSolver/Dual.h"
#include "lib/BlockSolver/Assignment.h"
#include "lib/BlockSolver/Random.h"
#include "lib/BlockSolver/Reductions.h"
#include "lib/BlockSolver/Search.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::block;

namespace {

/// What a value of a node adds to the cost of an answer.
double getPart(const Graph &graph, const std::vector<int> &choices, int node,
               int value) {
  double cost = graph.getCosts(node)[value];
  for (int link = graph.getLinkBegin(node); link < graph.getLinkEnd(node);
       ++link) {
    const Graph::Link &end = graph.getLink(link);
    cost +=
        graph.getTable(end)[choices[end.other] * graph.getPadded(node) + value];
  }
  return cost;
}

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
      ASSERT_LE(dual.getSafeBound(), minimum) << "seed " << seed;
      ASSERT_GE(dual.getSafeBound(), dual.getBound() - 1e-6);
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

TEST(Graph, ForbiddenPairsAreDearerThanAnythingAllowedAndKnown) {
  int allowed = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Problem problem = makeSmallProblem(seed);
    for (double &cost : problem.nodes[0].costs)
      cost -= 1e9; // what all answers have, caps need not know
    Network network = makeNetwork(problem);
    if (network.isInfeasible)
      continue;
    Graph graph(network);
    double most = -forbidden, least = forbidden;
    Random random(seed);
    for (int step = 0; step < 40; ++step) {
      Choices whole(problem.nodes.size());
      std::vector<int> choices;
      for (int node = 0; node < graph.size(); ++node) {
        choices.push_back(random.below(graph.getDomain(node)));
        whole[graph.getOriginal(node)] = graph.getId(node, choices.back());
      }
      network.undo.expand(whole);
      double cost = getCost(graph, choices);
      ASSERT_EQ(cost, evaluate(problem, whole).cost) << "seed " << seed;
      Assignment assignment(graph);
      assignment.assign(choices);
      if (cost == forbidden) {
        least = std::min(least, assignment.getCost());
        ++refused;
      } else {
        ASSERT_EQ(assignment.getCost(), cost);
        most = std::max(most, cost);
        ++allowed;
      }
    }
    ASSERT_GT(least, most) << "seed " << seed;
    ASSERT_LT(graph.getCap(), 1e6) << "seed " << seed;
  }
  EXPECT_GT(allowed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Search, FindsAnswersThatCostFarMoreThanAnySingleCost) {
  for (const Problem &problem : {makeRing(5, 60), makeGrid(1, 12)}) {
    Network network(problem);
    reduce(network);
    Graph graph(network);
    ASSERT_GT(graph.size(), 20);
    Search search(graph, getMinPlus(Kernel::best), /*seed=*/1);
    search.run(30'000'000);
    ASSERT_FALSE(search.getBest().empty());
    EXPECT_GT(search.getGains(), 1);
    EXPECT_GT(search.getEpisodes(), 1);
    EXPECT_EQ(search.getBestCost(), getCost(graph, search.getBest()));
    EXPECT_NE(search.getBestCost(), forbidden);
  }
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
      int value = random.below(graph.getDomain(node));
      double change = getPart(graph, choices, node, value) -
                      getPart(graph, choices, node, choices[node]);
      choices[node] = value;
      moved.set(node, value, change);
      Assignment fresh(graph);
      fresh.assign(choices);
      EXPECT_EQ(moved.getExcess(), fresh.getExcess());
      EXPECT_EQ(moved.getCost(), fresh.getCost());
    }
  }
}

} // namespace
