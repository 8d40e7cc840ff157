//===- DeadEndElimination.cpp - Dropping choices that cannot win ----------===//

#include "parplan/Planner/CostNetwork.h"

#include <algorithm>
#include <map>

using namespace parplan;

namespace {

/// A pair as one of its two variables sees it.
struct Neighbour {
  int variable;
  const std::vector<double> *costs;
  /// Distance in `costs` between choices of the own and of the other variable.
  size_t ownStride, otherStride;
};

/// What all choices of a variable cost where every neighbour has what suits one
/// of them best. None that costs more than this one there dominates it: a quick
/// test that spares almost all thorough ones.
class CostsWithFavourites {
public:
  CostsWithFavourites(const std::vector<double> &unary,
                      const std::vector<Neighbour> &neighbours,
                      const std::vector<std::vector<int>> &kept)
      : unary(unary), neighbours(neighbours), kept(kept),
        columns(neighbours.size()) {}

  /// By choice, with what suits `choice`; null where it is impossible by itself
  /// or with every choice of some neighbour.
  const double *get(int choice) {
    if (unary[choice] == CostNetwork::forbidden)
      return nullptr;
    std::vector<int> suiting;
    for (const Neighbour &neighbour : neighbours) {
      const double *own =
          neighbour.costs->data() + choice * neighbour.ownStride;
      int best = *std::ranges::min_element(
          kept[neighbour.variable], {},
          [&](int theirs) { return own[theirs * neighbour.otherStride]; });
      if (own[best * neighbour.otherStride] == CostNetwork::forbidden)
        return nullptr;
      suiting.push_back(best);
    }
    if (sums.empty() || suiting != favourites) {
      favourites = std::move(suiting);
      sums = unary;
      for (size_t i = 0; i < neighbours.size(); ++i) {
        const double *column = getColumn(i);
        for (size_t other = 0; other < sums.size(); ++other)
          sums[other] += column[other];
      }
    }
    return sums.data();
  }

private:
  /// The costs of all own choices with the favourite of a neighbour.
  const double *getColumn(size_t index) {
    const Neighbour &neighbour = neighbours[index];
    const double *first =
        neighbour.costs->data() + favourites[index] * neighbour.otherStride;
    if (neighbour.ownStride == 1)
      return first;
    std::vector<double> &column = columns[index][favourites[index]];
    if (column.empty())
      for (size_t own = 0; own < unary.size(); ++own)
        column.push_back(first[own * neighbour.ownStride]);
    return column.data();
  }

  const std::vector<double> &unary;
  const std::vector<Neighbour> &neighbours;
  const std::vector<std::vector<int>> &kept;
  /// Per neighbour and choice of it: columns that do not lie side by side.
  std::vector<std::map<int, std::vector<double>>> columns;
  std::vector<int> favourites;
  std::vector<double> sums;
};

/// The choices that are left, and the test of one against another.
class Choices {
public:
  Choices(const std::vector<std::vector<double>> &unary,
          std::vector<std::vector<Neighbour>> neighbours)
      : unary(unary), neighbours(std::move(neighbours)),
        isSettled(unary.size(), false) {
    for (const std::vector<double> &costs : unary) {
      kept.emplace_back();
      for (size_t choice = 0; choice < costs.size(); ++choice)
        kept.back().push_back(static_cast<int>(choice));
    }
  }

  /// Drops what it can of one variable; true when it dropped something.
  bool reduce(int variable) {
    if (isSettled[variable])
      return false;
    std::vector<int> &choices = kept[variable];
    size_t before = choices.size();
    CostsWithFavourites costs(unary[variable], neighbours[variable], kept);
    for (size_t i = choices.size(); i-- > 0;) {
      const double *sums = costs.get(choices[i]);
      // The same numbers, added in another order, may differ a little.
      double limit = sums ? sums[choices[i]] * (1 + 1e-12) : 0;
      bool isDominated = std::ranges::any_of(choices, [&](int other) {
        return other != choices[i] && (!sums || sums[other] <= limit) &&
               isWorse(variable, choices[i], other);
      });
      if (isDominated)
        choices.erase(choices.begin() + static_cast<ptrdiff_t>(i));
    }
    isSettled[variable] = true;
    if (choices.size() == before)
      return false;
    for (const Neighbour &neighbour : neighbours[variable])
      isSettled[neighbour.variable] = false;
    return true;
  }

  std::vector<std::vector<int>> kept;

private:
  /// True when `other` costs no more than `choice` for all choices that the
  /// neighbours still have. Of equal ones only the earlier is not worse, so
  /// that one of them stays: the later is looked at, and dropped, first.
  bool isWorse(int variable, int choice, int other) const {
    if (unary[variable][choice] == CostNetwork::forbidden)
      return true;
    double difference = unary[variable][choice] - unary[variable][other];
    for (const Neighbour &neighbour : neighbours[variable]) {
      double least = CostNetwork::forbidden;
      const double *own =
          neighbour.costs->data() + choice * neighbour.ownStride;
      const double *its = neighbour.costs->data() + other * neighbour.ownStride;
      for (int theirs : kept[neighbour.variable]) {
        size_t at = theirs * neighbour.otherStride;
        if (own[at] == CostNetwork::forbidden)
          continue; // The choice is impossible there anyway.
        if (its[at] == CostNetwork::forbidden)
          return false;
        least = std::min(least, own[at] - its[at]);
      }
      if (least == CostNetwork::forbidden)
        return true; // The choice is impossible with every neighbour.
      difference += least;
    }
    return difference >= 0;
  }

  const std::vector<std::vector<double>> &unary;
  std::vector<std::vector<Neighbour>> neighbours;
  /// Nothing was dropped around a variable since it was looked at.
  std::vector<bool> isSettled;
};

} // namespace

CostNetwork::Reduction CostNetwork::reduce() const {
  std::vector<std::vector<Neighbour>> neighbours(unary.size());
  for (const Pair &pair : pairs) {
    size_t width = unary[pair.second].size();
    neighbours[pair.first].push_back({pair.second, &pair.costs, width, 1});
    neighbours[pair.second].push_back({pair.first, &pair.costs, 1, width});
  }
  Choices choices(unary, std::move(neighbours));
  // A fixed number of rounds: the first two drop almost everything.
  constexpr int rounds = 4;
  bool changed = true;
  for (int round = 0; round < rounds && changed; ++round) {
    changed = false;
    for (int variable = 0; variable < getVariableCount(); ++variable)
      changed |= choices.reduce(variable);
  }

  return keep(std::move(choices.kept));
}

CostNetwork::Reduction
CostNetwork::keep(std::vector<std::vector<int>> kept) const {
  Reduction result;
  result.kept = std::move(kept);
  for (int variable = 0; variable < getVariableCount(); ++variable) {
    std::vector<double> costs;
    for (int choice : result.kept[variable])
      costs.push_back(unary[variable][choice]);
    result.network.addVariable(std::move(costs));
  }
  for (const Pair &pair : pairs) {
    std::vector<double> costs;
    for (int first : result.kept[pair.first])
      for (int second : result.kept[pair.second])
        costs.push_back(pair.costs[first * unary[pair.second].size() + second]);
    result.network.addPair(pair.first, pair.second, costs);
  }
  return result;
}

std::vector<int>
CostNetwork::Reduction::expand(const std::vector<int> &choices) const {
  std::vector<int> expanded;
  for (size_t variable = 0; variable < kept.size(); ++variable)
    expanded.push_back(kept[variable][choices[variable]]);
  return expanded;
}
