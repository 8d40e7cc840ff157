//===- DeadEndElimination.cpp - Dropping choices that cannot win ----------===//

#include "parplan/Planner/CostNetwork.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace parplan;

namespace {

/// A pair as one of its two variables sees it.
struct Neighbour {
  int variable;
  CostTable costs;
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
                      const std::vector<const std::vector<int> *> &kept)
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
          *kept[neighbour.variable], {},
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
  const std::vector<const std::vector<int> *> &kept;
  /// Per neighbour and choice of it: columns that do not lie side by side.
  std::vector<std::map<int, std::vector<double>>> columns;
  std::vector<int> favourites;
  std::vector<double> sums;
};

/// Lists of choices, every one once.
using ChoiceLists = std::set<std::vector<int>>;

/// The choices that are left, and the test of one against another.
class Choices {
public:
  Choices(const std::vector<CostTable> &unary,
          std::vector<std::vector<Neighbour>> neighbours)
      : unary(unary), neighbours(std::move(neighbours)),
        isSettled(unary.size(), false) {
    for (CostTable costs : unary) {
      std::vector<int> all(costs->size());
      std::iota(all.begin(), all.end(), 0);
      kept.push_back(&*lists.insert(std::move(all)).first);
    }
  }

  /// Drops what it can of one variable; true when it dropped something.
  bool reduce(int variable) {
    if (isSettled[variable])
      return false;
    // Equal variables among equal neighbours lose the same choices.
    std::vector<const void *> key = {unary[variable], kept[variable]};
    for (const Neighbour &neighbour : neighbours[variable]) {
      key.push_back(neighbour.costs);
      key.push_back(neighbour.ownStride == 1 ? nullptr : this);
      key.push_back(kept[neighbour.variable]);
    }
    const std::vector<int> *&left = known[key];
    if (!left)
      left = &*lists.insert(findLeft(variable)).first;
    isSettled[variable] = true;
    if (left == kept[variable])
      return false;
    kept[variable] = left;
    for (const Neighbour &neighbour : neighbours[variable])
      isSettled[neighbour.variable] = false;
    return true;
  }

  std::vector<std::vector<int>> getKept() const {
    std::vector<std::vector<int>> result;
    for (const std::vector<int> *choices : kept)
      result.push_back(*choices);
    return result;
  }

private:
  std::vector<int> findLeft(int variable) {
    std::vector<int> choices = *kept[variable];
    CostsWithFavourites costs(*unary[variable], neighbours[variable], kept);
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
    return choices;
  }

  /// True when `other` costs no more than `choice` for all choices that the
  /// neighbours still have. Of equal ones only the earlier is not worse, so
  /// that one of them stays: the later is looked at, and dropped, first.
  bool isWorse(int variable, int choice, int other) const {
    const std::vector<double> &own = *unary[variable];
    if (own[choice] == CostNetwork::forbidden)
      return true;
    double difference = own[choice] - own[other];
    for (const Neighbour &neighbour : neighbours[variable]) {
      double least = CostNetwork::forbidden;
      const double *there =
          neighbour.costs->data() + choice * neighbour.ownStride;
      const double *its = neighbour.costs->data() + other * neighbour.ownStride;
      for (int theirs : *kept[neighbour.variable]) {
        size_t at = theirs * neighbour.otherStride;
        if (there[at] == CostNetwork::forbidden)
          continue; // The choice is impossible there anyway.
        if (its[at] == CostNetwork::forbidden)
          return false;
        least = std::min(least, there[at] - its[at]);
      }
      if (least == CostNetwork::forbidden)
        return true; // The choice is impossible with every neighbour.
      difference += least;
    }
    return difference >= 0;
  }

  const std::vector<CostTable> &unary;
  std::vector<std::vector<Neighbour>> neighbours;
  ChoiceLists lists;
  std::vector<const std::vector<int> *> kept;
  std::map<std::vector<const void *>, const std::vector<int> *> known;
  /// Nothing was dropped around a variable since it was looked at.
  std::vector<bool> isSettled;
};

} // namespace

CostNetwork::Reduction CostNetwork::reduce() const {
  std::vector<std::vector<Neighbour>> neighbours(unary.size());
  for (const Pair &pair : pairs) {
    size_t width = unary[pair.second]->size();
    neighbours[pair.first].push_back({pair.second, pair.costs, width, 1});
    neighbours[pair.second].push_back({pair.first, pair.costs, 1, width});
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

  return keep(choices.getKept());
}

CostNetwork::Reduction
CostNetwork::keep(std::vector<std::vector<int>> kept) const {
  Reduction result;
  result.network.tables = tables;
  result.kept = std::move(kept);
  ChoiceLists lists;
  std::vector<const std::vector<int> *> listOf;
  for (int variable = 0; variable < getVariableCount(); ++variable) {
    listOf.push_back(&*lists.insert(result.kept[variable]).first);
    std::vector<double> costs;
    for (int choice : result.kept[variable])
      costs.push_back((*unary[variable])[choice]);
    result.network.addVariable(std::move(costs));
  }
  using Key = std::tuple<CostTable, const void *, const void *>;
  std::map<Key, CostTable> known;
  for (const Pair &pair : pairs) {
    CostTable &left =
        known[{pair.costs, listOf[pair.first], listOf[pair.second]}];
    if (!left) {
      std::vector<double> costs;
      size_t width = unary[pair.second]->size();
      for (int first : result.kept[pair.first])
        for (int second : result.kept[pair.second])
          costs.push_back((*pair.costs)[first * width + second]);
      left = tables->get(std::move(costs));
    }
    result.network.pairs.push_back({pair.first, pair.second, left});
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
