//===- SolverTest.cpp - Plans, bounds, determinism ------------------------===//

#include "parplan/BlockSolver/Solver.h"
#include "lib/BlockSolver/Random.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// A ring of nodes with chords, where neither reductions nor the dual suffice.
Problem makeRing(uint64_t seed, int nodes) {
  Random random(seed);
  Problem problem;
  problem.costStep = 1;
  problem.usageLimit = nodes * 9;
  for (int i = 0; i < nodes; ++i) {
    Node node{{}, {}, i, i + nodes / 3};
    for (int value = 0; value < 6; ++value) {
      node.costs.push_back(random.below(1000));
      node.usages.push_back(random.below(60));
    }
    problem.nodes.push_back(std::move(node));
    for (int step : {1, 2, 7}) {
      Edge edge{i, (i + step) % nodes, {}};
      for (int entry = 0; entry < 36; ++entry)
        edge.costs.push_back(random.flip(0.1) ? forbidden : random.below(900));
      problem.edges.push_back(std::move(edge));
    }
  }
  return problem;
}

SolverOptions makeRounds(int64_t rounds) {
  SolverOptions options;
  options.seconds = 1e6;
  options.rounds = rounds;
  options.useThreads = false;
  return options;
}

TEST(Solver, EqualsExhaustiveSearchOnRandomProblems) {
  int optimal = 0, feasible = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Problem problem = makeSmallProblem(seed);
    double minimum = findMinimum(problem);
    Solution solution = solve(problem, makeRounds(1));
    ASSERT_LE(solution.lowerBound, minimum) << "seed " << seed;
    if (minimum == forbidden) {
      ASSERT_TRUE(solution.choices.empty()) << "seed " << seed;
      continue;
    }
    ++feasible;
    ASSERT_FALSE(solution.choices.empty()) << "seed " << seed;
    Evaluation evaluation = evaluate(problem, solution.choices);
    ASSERT_LE(evaluation.peak, problem.usageLimit);
    ASSERT_EQ(evaluation.cost, solution.cost);
    ASSERT_EQ(solution.cost, minimum) << "seed " << seed;
    optimal += solution.isOptimal();
  }
  EXPECT_GT(feasible, 1000);
  EXPECT_GT(optimal, feasible * 9 / 10);
}

TEST(Solver, AnswersDependOnTheSeedAndTheRoundsAlone) {
  Problem problem = makeRing(5, 60);
  SolverOptions options = makeRounds(5);
  Solution first = solve(problem, options);
  ASSERT_FALSE(first.choices.empty());
  options.useThreads = true;
  options.kernel = Kernel::generic;
  Solution second = solve(problem, options);
  EXPECT_EQ(first.choices, second.choices);
  EXPECT_EQ(first.cost, second.cost);
  EXPECT_EQ(first.lowerBound, second.lowerBound);
  EXPECT_EQ(first.progress.passes, second.progress.passes);
}

TEST(Solver, BoundsOnlyRiseAndCostsOnlyFall) {
  Problem problem = makeRing(9, 40);
  double cost = forbidden, bound = -forbidden;
  int reports = 0;
  solve(problem, makeRounds(6), [&](const Progress &progress) {
    EXPECT_LE(progress.cost, cost);
    EXPECT_GE(progress.lowerBound, bound);
    EXPECT_LE(progress.lowerBound, progress.cost);
    cost = progress.cost;
    bound = progress.lowerBound;
    ++reports;
  });
  EXPECT_GT(reports, 0);
  EXPECT_NE(cost, forbidden);
}

TEST(Solver, ANodeWithoutEdgesTakesItsCheapestValueThatFits) {
  Problem problem;
  problem.usageLimit = 5;
  problem.nodes = {{{1, 2, 3}, {9, 5, 0}, 0, 1}};
  Solution solution = solve(problem, makeRounds(1));
  EXPECT_EQ(solution.choices, (Choices{1}));
  EXPECT_TRUE(solution.isOptimal());
}

TEST(Solver, AProblemWithoutNodesCostsNothing) {
  Solution solution = solve({}, makeRounds(1));
  EXPECT_EQ(solution.cost, 0);
  EXPECT_EQ(solution.lowerBound, 0);
}

TEST(Problem, FaultsAreNamed) {
  Problem problem;
  problem.nodes = {{{0, 1}, {0, 1}, 0, 1}, {{0}, {0}, 0, 1}};
  problem.edges = {{0, 1, {0, 1}}};
  EXPECT_EQ(findFault(problem), std::nullopt);
  Problem other = problem;
  other.edges[0].costs = {0};
  EXPECT_EQ(findFault(other), "edge 0 has 1 costs, not 2");
  other = problem;
  other.edges[0].second = 2;
  EXPECT_EQ(findFault(other), "edge 0 joins node 2 of 2");
  other = problem;
  other.nodes[1].usages = {-1};
  EXPECT_EQ(findFault(other), "node 1 has a negative usage");
  other = problem;
  other.nodes[0].usages = {0};
  EXPECT_EQ(findFault(other), "node 0 has 2 costs and 1 usages");
  other = problem;
  other.nodes[0].costs = {};
  EXPECT_EQ(findFault(other), "node 0 has no value");
  other = problem;
  other.nodes[0].usages = {int64_t{1} << 61, int64_t{1} << 61};
  EXPECT_EQ(findFault(other),
            "the usages up to node 0 are too large to add up");
}

} // namespace
