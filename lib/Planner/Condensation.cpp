//===- Condensation.cpp - Elimination of variables with two neighbours ----===//

#include "parplan/Planner/CostNetwork.h"

#include <map>
#include <set>

using namespace parplan;

namespace {

/// Largest pair that a variable is replaced by. Larger ones are left to the
/// elimination, whose order looks ahead.
constexpr size_t pairLimit = size_t(1) << 12;

class Condenser {
public:
  explicit Condenser(std::vector<std::vector<double>> unary)
      : unary(std::move(unary)), around(this->unary.size()),
        isGone(this->unary.size(), false) {}

  /// `costs` by the choices of `first`, then of `second`.
  void addPair(int first, int second, const std::vector<double> &costs) {
    bool isSwapped = first > second;
    size_t rows = unary[first].size(), columns = unary[second].size();
    std::vector<double> &table =
        tables[isSwapped ? std::pair(second, first) : std::pair(first, second)];
    table.resize(costs.size(), 0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        table[isSwapped ? j * rows + i : i * columns + j] +=
            costs[i * columns + j];
    around[first].insert(second);
    around[second].insert(first);
  }

  void run() {
    std::set<int> pending;
    for (size_t variable = 0; variable < unary.size(); ++variable)
      pending.insert(static_cast<int>(variable));
    while (!pending.empty()) {
      int variable = *pending.begin();
      pending.erase(pending.begin());
      std::vector<int> others(around[variable].begin(), around[variable].end());
      if (isGone[variable] || others.size() > 2)
        continue;
      size_t size = 1;
      for (int other : others)
        size *= unary[other].size();
      if (others.size() == 2 && size > pairLimit)
        continue;
      eliminate(variable, others, size);
      pending.insert(others.begin(), others.end());
    }
  }

  std::vector<std::vector<double>> unary;
  std::map<std::pair<int, int>, std::vector<double>> tables;
  std::vector<std::set<int>> around;
  std::vector<bool> isGone;
  std::vector<CostNetwork::Condensation::Step> steps;
  double constant = 0;

private:
  /// The costs of a pair, and the distances in them between choices of the
  /// first and of the second argument.
  struct View {
    const double *costs;
    size_t ownStride, otherStride;
  };
  View getView(int variable, int other) const {
    if (variable < other)
      return {tables.at({variable, other}).data(), unary[other].size(), 1};
    return {tables.at({other, variable}).data(), 1, unary[variable].size()};
  }

  void eliminate(int variable, const std::vector<int> &others, size_t size) {
    CostNetwork::Condensation::Step step{variable, others, {}, {}};
    for (int other : others)
      step.domains.push_back(static_cast<int>(unary[other].size()));
    std::vector<View> views;
    for (int other : others)
      views.push_back(getView(variable, other));
    std::vector<double> costs;
    for (size_t index = 0; index < size; ++index) {
      // The choices of the neighbours, the last fastest.
      const double *columns[2] = {nullptr, nullptr};
      size_t rest = index;
      for (size_t i = others.size(); i-- > 0;) {
        columns[i] =
            views[i].costs + rest % step.domains[i] * views[i].otherStride;
        rest /= step.domains[i];
      }
      double best = CostNetwork::forbidden;
      int bestChoice = 0;
      for (size_t choice = 0; choice < unary[variable].size(); ++choice) {
        double cost = unary[variable][choice];
        for (size_t i = 0; i < others.size(); ++i)
          cost += columns[i][choice * views[i].ownStride];
        if (cost < best) {
          best = cost;
          bestChoice = static_cast<int>(choice);
        }
      }
      costs.push_back(best);
      step.best.push_back(bestChoice);
    }
    for (int other : others) {
      tables.erase(std::minmax(variable, other));
      around[other].erase(variable);
    }
    if (others.empty())
      constant += costs[0];
    else if (others.size() == 1)
      for (size_t choice = 0; choice < size; ++choice)
        unary[others[0]][choice] += costs[choice];
    else
      addPair(others[0], others[1], costs);
    around[variable].clear();
    isGone[variable] = true;
    steps.push_back(std::move(step));
  }
};

} // namespace

CostNetwork::Condensation CostNetwork::condense() const {
  Condenser condenser(unary);
  for (const Pair &pair : pairs)
    condenser.addPair(pair.first, pair.second, pair.costs);
  condenser.run();

  Condensation result;
  result.constant = condenser.constant;
  result.steps = std::move(condenser.steps);
  std::vector<int> number(unary.size(), -1);
  for (size_t variable = 0; variable < unary.size(); ++variable) {
    if (condenser.isGone[variable])
      continue;
    number[variable] = result.network.addVariable(condenser.unary[variable]);
    result.kept.push_back(static_cast<int>(variable));
  }
  for (const auto &[key, costs] : condenser.tables)
    result.network.addPair(number[key.first], number[key.second], costs);
  return result;
}

std::vector<int>
CostNetwork::Condensation::expand(const std::vector<int> &choices) const {
  std::vector<int> expanded(kept.size() + steps.size(), 0);
  for (size_t variable = 0; variable < kept.size(); ++variable)
    expanded[kept[variable]] = choices[variable];
  for (size_t i = steps.size(); i-- > 0;) {
    const Step &step = steps[i];
    size_t index = 0;
    for (size_t other = 0; other < step.neighbours.size(); ++other)
      index = index * step.domains[other] + expanded[step.neighbours[other]];
    expanded[step.variable] = step.best[index];
  }
  return expanded;
}
