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
  Condenser(std::vector<CostTable> unary, CostTables &pool)
      : unary(std::move(unary)), around(this->unary.size()),
        isGone(this->unary.size(), false), pool(pool) {}

  /// `costs` by the choices of `first`, then of `second`.
  void addPair(int first, int second, CostTable costs) {
    if (first > second) {
      costs = transpose(costs, unary[first]->size());
      std::swap(first, second);
    }
    CostTable &table = tables[{first, second}];
    table = table ? add(table, costs) : costs;
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
        size *= unary[other]->size();
      if (others.size() == 2 && size > pairLimit)
        continue;
      eliminate(variable, others, size);
      pending.insert(others.begin(), others.end());
    }
  }

  std::vector<CostTable> unary;
  std::map<std::pair<int, int>, CostTable> tables;
  std::vector<std::set<int>> around;
  std::vector<bool> isGone;
  std::vector<CostNetwork::Condensation::Step> steps;
  double constant = 0;

private:
  /// The costs of a pair, and the distances in them between choices of the
  /// first and of the second argument.
  struct View {
    CostTable costs;
    size_t ownStride, otherStride;
  };
  View getView(int variable, int other) const {
    if (variable < other)
      return {tables.at({variable, other}), unary[other]->size(), 1};
    return {tables.at({other, variable}), 1, unary[variable]->size()};
  }

  CostTable transpose(CostTable costs, size_t rows) {
    CostTable &known = transposed[{costs, rows}];
    if (known)
      return known;
    size_t columns = costs->size() / rows;
    std::vector<double> swapped(costs->size());
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        swapped[j * rows + i] = (*costs)[i * columns + j];
    return known = pool.get(std::move(swapped));
  }

  CostTable add(CostTable first, CostTable second) {
    CostTable &known = sums[{first, second}];
    if (known)
      return known;
    std::vector<double> sum = *first;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += (*second)[i];
    return known = pool.get(std::move(sum));
  }

  /// What eliminating a variable leaves: costs over the choices of its
  /// neighbours, and its best choice for each.
  struct Message {
    CostTable costs = nullptr;
    std::shared_ptr<const std::vector<int>> best;
  };
  using Key = std::pair<CostTable, std::vector<std::pair<CostTable, size_t>>>;

  Message makeMessage(int variable, const std::vector<View> &views,
                      const std::vector<int> &domains, size_t size) {
    std::vector<double> costs;
    std::vector<int> choices;
    for (size_t index = 0; index < size; ++index) {
      // The choices of the neighbours, the last fastest.
      const double *columns[2] = {nullptr, nullptr};
      size_t rest = index;
      for (size_t i = views.size(); i-- > 0;) {
        columns[i] =
            views[i].costs->data() + rest % domains[i] * views[i].otherStride;
        rest /= domains[i];
      }
      double best = CostNetwork::forbidden;
      int bestChoice = 0;
      for (size_t choice = 0; choice < unary[variable]->size(); ++choice) {
        double cost = (*unary[variable])[choice];
        for (size_t i = 0; i < views.size(); ++i)
          cost += columns[i][choice * views[i].ownStride];
        if (cost < best) {
          best = cost;
          bestChoice = static_cast<int>(choice);
        }
      }
      costs.push_back(best);
      choices.push_back(bestChoice);
    }
    return {pool.get(std::move(costs)),
            std::make_shared<const std::vector<int>>(std::move(choices))};
  }

  void eliminate(int variable, const std::vector<int> &others, size_t size) {
    CostNetwork::Condensation::Step step{variable, others, {}, {}};
    std::vector<View> views;
    Key key = {unary[variable], {}};
    for (int other : others) {
      step.domains.push_back(static_cast<int>(unary[other]->size()));
      views.push_back(getView(variable, other));
      key.second.emplace_back(views.back().costs, views.back().ownStride);
    }
    Message &message = messages[key];
    if (!message.costs)
      message = makeMessage(variable, views, step.domains, size);
    step.best = message.best;
    for (int other : others) {
      tables.erase(std::minmax(variable, other));
      around[other].erase(variable);
    }
    if (others.empty())
      constant += message.costs->front();
    else if (others.size() == 1)
      unary[others[0]] = add(unary[others[0]], message.costs);
    else
      addPair(others[0], others[1], message.costs);
    around[variable].clear();
    isGone[variable] = true;
    steps.push_back(std::move(step));
  }

  CostTables &pool;
  /// What was done once is not done again for equal tables.
  std::map<std::pair<CostTable, size_t>, CostTable> transposed;
  std::map<std::pair<CostTable, CostTable>, CostTable> sums;
  std::map<Key, Message> messages;
};

} // namespace

CostNetwork::Condensation CostNetwork::condense() const {
  Condenser condenser(unary, *tables);
  for (const Pair &pair : pairs)
    condenser.addPair(pair.first, pair.second, pair.costs);
  condenser.run();

  Condensation result;
  result.network.tables = tables;
  result.constant = condenser.constant;
  result.steps = std::move(condenser.steps);
  std::vector<int> number(unary.size(), -1);
  for (size_t variable = 0; variable < unary.size(); ++variable) {
    if (condenser.isGone[variable])
      continue;
    number[variable] = result.network.getVariableCount();
    result.network.unary.push_back(condenser.unary[variable]);
    result.kept.push_back(static_cast<int>(variable));
  }
  for (const auto &[key, costs] : condenser.tables)
    result.network.pairs.push_back(
        {number[key.first], number[key.second], costs});
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
    expanded[step.variable] = (*step.best)[index];
  }
  return expanded;
}
