//===- CostNetwork.cpp - Variable elimination -----------------------------===//

#include "parplan/Planner/CostNetwork.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <set>

using namespace parplan;

namespace {

/// Costs over the choices of a few variables, the last variable fastest.
struct Table {
  std::vector<int> scope; // ascending
  std::vector<double> costs;
};

} // namespace

int CostNetwork::addVariable(std::vector<double> costs) {
  PARPLAN_CHECK(!costs.empty(), "a variable needs a choice");
  unary.push_back(std::move(costs));
  return getVariableCount() - 1;
}

void CostNetwork::addCosts(int variable, const std::vector<double> &costs) {
  PARPLAN_CHECK(costs.size() == unary[variable].size(),
                "a variable has a cost for every choice");
  for (size_t choice = 0; choice < costs.size(); ++choice)
    unary[variable][choice] += costs[choice];
}

void CostNetwork::addPair(int first, int second,
                          const std::vector<double> &costs) {
  PARPLAN_CHECK(first != second, "a pair is of two variables");
  PARPLAN_CHECK(costs.size() == unary[first].size() * unary[second].size(),
                "a pair has a cost for every two choices");
  pairs.push_back({first, second, costs});
}

double CostNetwork::getCost(const std::vector<int> &choices) const {
  double cost = 0;
  for (size_t variable = 0; variable < unary.size(); ++variable)
    cost += unary[variable][choices[variable]];
  for (const Pair &pair : pairs)
    cost += pair.costs[choices[pair.first] * unary[pair.second].size() +
                       choices[pair.second]];
  return cost;
}

/// Minimum-weight order: next the variable whose table over its neighbours is
/// smallest, ties by number.
static std::vector<int>
getMinimumWeightOrder(const std::vector<std::vector<double>> &unary,
                      std::vector<std::set<int>> neighbours) {
  auto getWeight = [&](int variable) {
    double bits = 0;
    for (int neighbour : neighbours[variable])
      bits += std::log2(static_cast<double>(unary[neighbour].size()));
    return bits;
  };
  std::set<std::pair<double, int>> queue;
  std::vector<double> weights;
  for (int variable = 0; variable < static_cast<int>(unary.size());
       ++variable) {
    weights.push_back(getWeight(variable));
    queue.insert({weights.back(), variable});
  }
  std::vector<int> order;
  while (!queue.empty()) {
    int variable = queue.begin()->second;
    queue.erase(queue.begin());
    order.push_back(variable);
    const std::set<int> around = std::move(neighbours[variable]);
    for (int neighbour : around) {
      std::set<int> &theirs = neighbours[neighbour];
      theirs.erase(variable);
      for (int other : around)
        if (other != neighbour)
          theirs.insert(other);
      queue.erase({weights[neighbour], neighbour});
      weights[neighbour] = getWeight(neighbour);
      queue.insert({weights[neighbour], neighbour});
    }
  }
  return order;
}

std::optional<CostNetwork::Elimination>
CostNetwork::eliminate(int64_t tableLimit) const {
  int count = getVariableCount();
  // A variable without choice connects nothing: its pairs are costs of the
  // other variable.
  std::vector<std::vector<double>> single = unary;
  std::vector<const Pair *> real;
  for (const Pair &pair : pairs) {
    std::vector<double> &first = single[pair.first];
    std::vector<double> &second = single[pair.second];
    if (first.size() > 1 && second.size() > 1) {
      real.push_back(&pair);
      continue;
    }
    std::vector<double> &other = first.size() > 1 ? first : second;
    for (size_t choice = 0; choice < other.size(); ++choice)
      other[choice] += pair.costs[choice];
  }
  std::vector<std::set<int>> neighbours(count);
  for (const Pair *pair : real) {
    neighbours[pair->first].insert(pair->second);
    neighbours[pair->second].insert(pair->first);
  }
  std::vector<int> order = getMinimumWeightOrder(single, neighbours);

  // Tables still to be consumed, listed at every variable of their scope.
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::vector<Table *>> tablesOf(count);
  auto addTable = [&](Table table) {
    tables.push_back(std::make_unique<Table>(std::move(table)));
    for (int variable : tables.back()->scope)
      tablesOf[variable].push_back(tables.back().get());
  };
  for (int variable = 0; variable < count; ++variable)
    addTable({{variable}, single[variable]});
  for (const Pair *pair : real) {
    if (pair->first < pair->second) {
      addTable({{pair->first, pair->second}, pair->costs});
      continue;
    }
    size_t rows = unary[pair->first].size();
    size_t columns = unary[pair->second].size();
    std::vector<double> transposed(pair->costs.size());
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        transposed[j * rows + i] = pair->costs[i * columns + j];
    addTable({{pair->second, pair->first}, std::move(transposed)});
  }

  Elimination result;
  result.variableCount = count;
  for (int variable : order) {
    std::set<int> around;
    for (const Table *table : tablesOf[variable])
      around.insert(table->scope.begin(), table->scope.end());
    around.erase(variable);

    Elimination::Bucket bucket;
    bucket.variable = variable;
    bucket.separator.assign(around.begin(), around.end());
    bucket.domain = getDomainSize(variable);
    bucket.strides.resize(bucket.separator.size());
    int64_t entries = bucket.domain;
    for (size_t i = bucket.separator.size(); i-- > 0;) {
      bucket.strides[i] = entries;
      entries *= getDomainSize(bucket.separator[i]);
      if (entries > tableLimit)
        return std::nullopt;
    }

    // Sum the tables over (separator.., variable), the variable fastest.
    bucket.costs.assign(entries, 0.0);
    for (const Table *table : tablesOf[variable]) {
      std::vector<int64_t> tableStrides(bucket.separator.size(), 0);
      int64_t variableStride = 0, stride = 1;
      for (size_t i = table->scope.size(); i-- > 0;) {
        if (table->scope[i] == variable) {
          variableStride = stride;
        } else {
          auto *it =
              std::find(bucket.separator.data(),
                        bucket.separator.data() + bucket.separator.size(),
                        table->scope[i]);
          tableStrides[it - bucket.separator.data()] = stride;
        }
        stride *= getDomainSize(table->scope[i]);
      }
      std::vector<int> digits(bucket.separator.size(), 0);
      int64_t source = 0;
      for (int64_t row = 0; row < entries; row += bucket.domain) {
        for (int choice = 0; choice < bucket.domain; ++choice)
          bucket.costs[row + choice] +=
              table->costs[source + choice * variableStride];
        for (size_t i = digits.size(); i-- > 0;) {
          source += tableStrides[i];
          if (++digits[i] < getDomainSize(bucket.separator[i]))
            break;
          source -= tableStrides[i] * digits[i];
          digits[i] = 0;
        }
      }
    }

    Table message;
    message.scope = bucket.separator;
    message.costs.resize(entries / bucket.domain);
    for (size_t row = 0; row < message.costs.size(); ++row) {
      const double *begin = bucket.costs.data() + row * bucket.domain;
      message.costs[row] = *std::min_element(begin, begin + bucket.domain);
    }
    for (const Table *table : tablesOf[variable])
      for (int other : table->scope)
        if (other != variable)
          std::erase(tablesOf[other], table);
    tablesOf[variable].clear();
    if (message.scope.empty())
      result.minimum += message.costs.front();
    else
      addTable(std::move(message));
    result.buckets.push_back(std::move(bucket));
  }
  return result;
}

const double *
CostNetwork::Elimination::getChoices(const Bucket &bucket,
                                     const std::vector<int> &choices) const {
  int64_t offset = 0;
  for (size_t i = 0; i < bucket.separator.size(); ++i)
    offset += bucket.strides[i] * choices[bucket.separator[i]];
  return bucket.costs.data() + offset;
}

std::vector<int> CostNetwork::Elimination::getBest() const {
  std::vector<int> choices(variableCount, -1);
  for (size_t i = buckets.size(); i-- > 0;) {
    const double *costs = getChoices(buckets[i], choices);
    choices[buckets[i].variable] = static_cast<int>(
        std::min_element(costs, costs + buckets[i].domain) - costs);
  }
  return choices;
}

CostNetwork::Elimination::Enumeration CostNetwork::Elimination::enumerate(
    const std::function<bool(const std::vector<int> &)> &visit,
    const std::function<bool(int, int, const std::vector<int> &)> &isHopeless,
    int64_t nodeLimit, double costLimit) const {
  // Best-first over partial answers in reverse order of elimination. The
  // buckets give the exact cost of the best completion, so answers come out in
  // order.
  struct Node {
    double cost;
    int64_t parent;
    int choice;
    size_t depth; // variables chosen
  };
  std::vector<Node> nodes;
  auto later = [&](int64_t a, int64_t b) {
    if (nodes[a].cost != nodes[b].cost)
      return nodes[a].cost > nodes[b].cost;
    if (nodes[a].depth != nodes[b].depth)
      return nodes[a].depth < nodes[b].depth;
    return a > b;
  };
  std::priority_queue<int64_t, std::vector<int64_t>, decltype(later)> queue(
      later);

  Enumeration result;
  result.lowerBound = minimum;
  if (minimum == forbidden) {
    result.complete = true;
    return result;
  }
  nodes.push_back({minimum, -1, -1, 0});
  queue.push(0);
  std::vector<int> choices;
  while (!queue.empty()) {
    int64_t index = queue.top();
    const Node node = nodes[index];
    result.lowerBound = node.cost;
    if (node.cost >= costLimit) {
      result.complete = true;
      return result;
    }
    if (result.expanded >= nodeLimit)
      return result;
    queue.pop();
    ++result.expanded;

    choices.assign(variableCount, -1);
    for (int64_t at = index; nodes[at].parent >= 0; at = nodes[at].parent)
      choices[buckets[buckets.size() - nodes[at].depth].variable] =
          nodes[at].choice;
    if (node.depth == buckets.size()) {
      if (visit(choices)) {
        result.found = choices;
        result.complete = true;
        return result;
      }
      ++result.dropped;
      continue;
    }
    const Bucket &bucket = buckets[buckets.size() - node.depth - 1];
    const double *costs = getChoices(bucket, choices);
    double best = *std::min_element(costs, costs + bucket.domain);
    for (int choice = 0; choice < bucket.domain; ++choice) {
      if (costs[choice] == forbidden)
        continue;
      if (isHopeless(bucket.variable, choice, choices)) {
        ++result.dropped;
        continue;
      }
      nodes.push_back(
          {node.cost + (costs[choice] - best), index, choice, node.depth + 1});
      queue.push(static_cast<int64_t>(nodes.size()) - 1);
    }
  }
  result.complete = true;
  return result;
}
