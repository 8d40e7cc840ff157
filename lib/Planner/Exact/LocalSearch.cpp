//===- LocalSearch.cpp - Better answers by small changes ------------------===//

#include "parplan/Planner/CostNetwork.h"

#include <cmath>
#include <set>

using namespace parplan;

namespace {

/// A pair as one of its two variables sees it.
struct TableNeighbour {
  int variable;
  const std::vector<double> *costs;
  size_t ownStride, otherStride;

  double getCost(int own, int other) const {
    return (*costs)[own * ownStride + other * otherStride];
  }
};

class Descent {
public:
  Descent(const std::vector<CostTable> &unary,
          std::vector<std::vector<TableNeighbour>> neighbours,
          std::vector<int> choices)
      : choices(std::move(choices)), unary(unary),
        neighbours(std::move(neighbours)) {
    for (const std::vector<TableNeighbour> &around : this->neighbours) {
      std::set<int> distinct;
      for (const TableNeighbour &neighbour : around)
        distinct.insert(neighbour.variable);
      followers.emplace_back(distinct.begin(), distinct.end());
    }
  }

  /// The best choice of a variable among the others as they are.
  void follow(int variable) {
    double best = CostNetwork::forbidden;
    int bestChoice = choices[variable];
    for (int choice = 0; choice < getDomain(variable); ++choice)
      if (double cost = getCost(variable, choice); cost < best) {
        best = cost;
        bestChoice = choice;
      }
    choices[variable] = bestChoice;
  }

  /// Tries every choice of a variable, its neighbours following; true when one
  /// is better.
  bool improve(int variable) {
    double best = getCostAround(variable);
    const std::vector<int> before = choices;
    std::vector<int> chosen;
    for (int choice = 0; choice < getDomain(variable); ++choice) {
      if (choice == before[variable])
        continue;
      choices[variable] = choice;
      for (int follower : followers[variable])
        follow(follower);
      // By more than rounding, so that the descent ends.
      double cost = getCostAround(variable);
      if (cost < best && (best == CostNetwork::forbidden ||
                          best - cost > 1e-12 * std::abs(best))) {
        best = cost;
        chosen = choices;
      }
      choices[variable] = before[variable];
      for (int follower : followers[variable])
        choices[follower] = before[follower];
    }
    if (chosen.empty())
      return false;
    choices = std::move(chosen);
    return true;
  }

  std::vector<int> choices;

private:
  int getDomain(int variable) const {
    return static_cast<int>(unary[variable]->size());
  }

  double getCost(int variable, int choice) const {
    double cost = (*unary[variable])[choice];
    for (const TableNeighbour &neighbour : neighbours[variable])
      cost += neighbour.getCost(choice, choices[neighbour.variable]);
    return cost;
  }

  /// What depends on a variable and its neighbours. Pairs of two neighbours
  /// count twice, before and after alike.
  double getCostAround(int variable) const {
    double cost = (*unary[variable])[choices[variable]];
    for (int follower : followers[variable])
      cost += getCost(follower, choices[follower]);
    return cost;
  }

  const std::vector<CostTable> &unary;
  std::vector<std::vector<TableNeighbour>> neighbours;
  std::vector<std::vector<int>> followers;
};

} // namespace

std::vector<int> CostNetwork::improve(std::vector<int> choices,
                                      int rounds) const {
  std::vector<std::vector<TableNeighbour>> neighbours(unary.size());
  for (const Pair &pair : pairs) {
    size_t width = unary[pair.second]->size();
    neighbours[pair.first].push_back({pair.second, pair.costs, width, 1});
    neighbours[pair.second].push_back({pair.first, pair.costs, 1, width});
  }
  double before = getCost(choices);
  const std::vector<int> start = choices;
  Descent descent(unary, std::move(neighbours), std::move(choices));
  for (int variable = 0; variable < getVariableCount(); ++variable)
    descent.follow(variable);
  bool changed = true;
  for (int round = 0; round < rounds && changed; ++round) {
    changed = false;
    for (int variable = 0; variable < getVariableCount(); ++variable)
      changed |= descent.improve(variable);
  }
  return getCost(descent.choices) <= before ? descent.choices : start;
}
