//===- SmallProblems.cpp - Random problems that can be enumerated ---------===//

#include "test/Unit/BlockSolver/SmallProblems.h"

#include "lib/BlockSolver/Random.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

std::vector<double> makeTable(Random &random, int rows, int columns) {
  std::vector<double> table;
  // A third ties the nodes: one column per row, or one row per column.
  int kind = random.below(6);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      bool isTie = kind == 0   ? column == (row * 7 + 1) % columns
                   : kind == 1 ? row == (column * 5 + 2) % rows
                               : !random.flip(0.2);
      table.push_back(isTie ? random.below(kind == 2 ? 3 : 40) : forbidden);
    }
  return table;
}

} // namespace

Problem block::makeSmallProblem(uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.costStep = 1;
  int nodes = 1 + random.below(7);
  int64_t all = 0;
  for (int i = 0; i < nodes; ++i) {
    Node node;
    int values = 1 + random.below(4);
    int64_t most = 0;
    for (int value = 0; value < values; ++value) {
      node.costs.push_back(random.flip(0.05) ? forbidden
                                             : random.below(30) - 5);
      node.usages.push_back(random.flip(0.3) ? 0 : random.below(20));
      most = std::max(most, node.usages.back());
    }
    node.begin = random.below(8);
    node.end = node.begin + random.below(6) - 1;
    all += most;
    problem.nodes.push_back(std::move(node));
  }
  problem.usageLimit = random.below(static_cast<int>(all) + 2);
  int edges = random.below(2 * nodes);
  for (int i = 0; i < edges; ++i) {
    int first = random.below(nodes), second = random.below(nodes);
    problem.edges.push_back(
        {first, second,
         makeTable(random, static_cast<int>(problem.nodes[first].costs.size()),
                   static_cast<int>(problem.nodes[second].costs.size()))});
  }
  return problem;
}

Problem block::makeRing(uint64_t seed, int nodes) {
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

Problem block::makeGrid(uint64_t seed, int side) {
  Random random(seed);
  Problem problem;
  problem.costStep = 1;
  problem.usageLimit = side * side;
  for (int i = 0; i < side * side; ++i) {
    Node node{{}, {}, 0, 1};
    for (int value = 0; value < 3; ++value) {
      node.costs.push_back(8 + random.below(3));
      node.usages.push_back(random.below(4));
    }
    problem.nodes.push_back(std::move(node));
    for (int other : {i % side == side - 1 ? -1 : i + 1, i + side}) {
      if (other < 0 || other >= side * side)
        continue;
      Edge edge{i, other, {}};
      for (int entry = 0; entry < 9; ++entry)
        edge.costs.push_back(random.flip(0.1) ? forbidden : random.below(2));
      problem.edges.push_back(std::move(edge));
    }
  }
  return problem;
}

double block::findMinimum(const Problem &problem) {
  Choices choices(problem.nodes.size(), 0);
  double least = forbidden;
  while (true) {
    Evaluation evaluation = evaluate(problem, choices);
    if (evaluation.peak <= problem.usageLimit)
      least = std::min(least, evaluation.cost);
    size_t node = 0;
    while (node < choices.size() &&
           ++choices[node] ==
               static_cast<int>(problem.nodes[node].costs.size()))
      choices[node++] = 0;
    if (node == choices.size())
      return least;
  }
}
