//===- SolverTest.cpp - Plans, bounds, determinism ------------------------===//

#include "parplan/BlockSolver/Solver.h"
#include "lib/BlockSolver/Random.h"
#include "test/Unit/BlockSolver/SmallProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

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

TEST(Solver, OtherSeedsGiveOtherAnswers) {
  Problem problem = makeRing(5, 60);
  SolverOptions options = makeRounds(2);
  Solution first = solve(problem, options);
  options.seed = 2;
  Solution second = solve(problem, options);
  EXPECT_GT(first.progress.episodes, 0);
  EXPECT_NE(first.choices, second.choices);
}

TEST(Solver, AnAnswerMovesWithWhatIsTakenFromAllCostsOfANode) {
  // Where costs are negative, too, what is hopeless costs more than the best
  // answer, not less.
  constexpr double shift = 1e12;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Problem problem = makeRing(seed, 60);
    Solution plain = solve(problem, makeRounds(6));
    for (double &cost : problem.nodes[3].costs)
      cost -= shift;
    Solution moved = solve(problem, makeRounds(6));
    ASSERT_FALSE(plain.choices.empty());
    ASSERT_FALSE(moved.choices.empty());
    EXPECT_LT(moved.cost, 0);
    EXPECT_LE(moved.lowerBound + shift, plain.cost);
    EXPECT_LE(plain.lowerBound, moved.cost + shift);
    EXPECT_NEAR(moved.lowerBound + shift, plain.lowerBound, 0.02 * plain.cost);
    EXPECT_NEAR(moved.cost + shift, plain.cost, 0.02 * plain.cost);
  }
}

TEST(Solver, BoundsHoldBesideCostsOfAnotherSize) {
  // What is forbidden and what is dear passes through the same messages.
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Problem problem = makeSmallProblem(seed);
    Random random(seed);
    auto enlarge = [&](std::vector<double> &costs) {
      for (double &cost : costs)
        if (cost != forbidden && random.flip(0.5))
          cost += static_cast<double>(random.below(1 << 30)) * 1000;
    };
    for (Node &node : problem.nodes)
      enlarge(node.costs);
    for (Edge &edge : problem.edges)
      enlarge(edge.costs);
    ASSERT_EQ(findFault(problem), std::nullopt);
    double minimum = findMinimum(problem);
    Solution solution = solve(problem, makeRounds(2));
    ASSERT_LE(solution.lowerBound, minimum) << "seed " << seed;
    ASSERT_EQ(solution.cost, minimum) << "seed " << seed;
  }
}

TEST(Solver, FractionsLeaveTheBoundBelowThePlan) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Problem problem = makeSmallProblem(seed);
    problem.costStep = 0;
    for (Node &node : problem.nodes)
      for (double &cost : node.costs)
        cost *= 0.1;
    for (Edge &edge : problem.edges)
      for (double &cost : edge.costs)
        cost *= 0.1;
    double minimum = findMinimum(problem);
    Solution solution = solve(problem, makeRounds(1));
    ASSERT_LE(solution.lowerBound, minimum) << "seed " << seed;
    if (minimum != forbidden) {
      ASSERT_NEAR(solution.cost, minimum, 1e-9) << "seed " << seed;
      ASSERT_LE(solution.lowerBound, solution.cost);
    }
  }
}

TEST(Solver, TheFirstRoundIsDoneHoweverLittleTimeThereIs) {
  SolverOptions options;
  options.seconds = 1e-9;
  Solution solution = solve(makeRing(5, 60), options);
  EXPECT_EQ(solution.progress.round, 1);
  EXPECT_GT(solution.lowerBound, 0);
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
  other.nodes[0].usages = {largestSum, largestSum - 1};
  EXPECT_EQ(findFault(other),
            "the usages up to node 0 are too large to add up");
  other = problem;
  other.nodes[0].costs = {-1.0 * largestSum, forbidden};
  EXPECT_EQ(findFault(other), "the costs up to node 0 are too large to add up");
  other = problem;
  other.nodes[0].costs = {0, 0.5 * largestSum};
  EXPECT_EQ(findFault(other), std::nullopt);
  other.edges[0].costs = {0.5 * largestSum, forbidden};
  EXPECT_EQ(findFault(other), "the costs up to edge 0 are too large to add up");
}

} // namespace
