//===- Elimination.cpp - Variable elimination, exact and relaxed ----------===//

#include "parplan/Planner/CostNetwork.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

using namespace parplan;

/// Costs over the choices of a few variables, the last variable fastest.
struct CostNetwork::Table {
  std::vector<int> scope; // ascending
  std::vector<double> costs;
};

namespace {

/// An order of elimination, and the entries of all its tables.
struct Order {
  std::vector<int> variables;
  double entries = 0;
};

/// What an order takes the smallest of first.
enum class OrderRule {
  /// The table over the neighbours.
  weight,
  /// What eliminating it newly connects.
  fill,
};

/// Greedy: next the variable of the smallest score, ties by number.
class OrderSearch {
public:
  OrderSearch(const std::vector<std::vector<double>> &unary,
              std::vector<std::set<int>> neighbours, OrderRule rule)
      : neighbours(std::move(neighbours)), rule(rule) {
    for (const std::vector<double> &costs : unary)
      bits.push_back(std::log2(static_cast<double>(costs.size())));
  }

  Order find() {
    Order order;
    std::set<std::pair<double, int>> queue;
    std::vector<double> scores;
    for (int variable = 0; variable < static_cast<int>(bits.size());
         ++variable) {
      scores.push_back(getScore(variable));
      queue.insert({scores.back(), variable});
    }
    while (!queue.empty()) {
      int variable = queue.begin()->second;
      queue.erase(queue.begin());
      order.variables.push_back(variable);
      order.entries += std::exp2(getWeight(variable) + bits[variable]);
      const std::set<int> around = std::move(neighbours[variable]);
      for (int neighbour : around) {
        std::set<int> &theirs = neighbours[neighbour];
        theirs.erase(variable);
        for (int other : around)
          if (other != neighbour)
            theirs.insert(other);
      }
      for (int neighbour : around) {
        queue.erase({scores[neighbour], neighbour});
        scores[neighbour] = getScore(neighbour);
        queue.insert({scores[neighbour], neighbour});
      }
    }
    return order;
  }

private:
  double getWeight(int variable) const {
    double sum = 0;
    for (int neighbour : neighbours[variable])
      sum += bits[neighbour];
    return sum;
  }

  double getScore(int variable) const {
    if (rule == OrderRule::weight)
      return getWeight(variable);
    double sum = 0;
    const std::set<int> &around = neighbours[variable];
    for (auto first = around.begin(); first != around.end(); ++first)
      for (auto second = std::next(first); second != around.end(); ++second)
        if (!neighbours[*first].contains(*second))
          sum += bits[*first] * bits[*second];
    return sum;
  }

  std::vector<std::set<int>> neighbours;
  OrderRule rule;
  std::vector<double> bits;
};

/// The better of two greedy orders.
Order findOrder(const std::vector<std::vector<double>> &unary,
                const std::vector<std::set<int>> &neighbours) {
  Order weight = OrderSearch(unary, neighbours, OrderRule::weight).find();
  Order fill = OrderSearch(unary, neighbours, OrderRule::fill).find();
  return fill.entries < weight.entries ? fill : weight;
}

} // namespace

std::vector<std::vector<const CostNetwork::Table *>>
CostNetwork::groupTables(const std::vector<Table *> &tables,
                         int64_t limit) const {
  std::vector<const Table *> sorted(tables.begin(), tables.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Table *first, const Table *second) {
                     return first->costs.size() > second->costs.size();
                   });
  std::vector<std::vector<const Table *>> groups;
  std::vector<std::set<int>> scopes;
  for (const Table *table : sorted) {
    size_t group = 0;
    for (; group < groups.size(); ++group) {
      std::set<int> scope = scopes[group];
      scope.insert(table->scope.begin(), table->scope.end());
      double entries = 1;
      for (int variable : scope)
        entries *= getDomainSize(variable);
      if (entries > static_cast<double>(limit))
        continue;
      scopes[group] = std::move(scope);
      break;
    }
    if (group == groups.size()) {
      groups.emplace_back();
      scopes.emplace_back(table->scope.begin(), table->scope.end());
    }
    groups[group].push_back(table);
  }
  return groups;
}

/// Adds every `stride`th number of `added` to a row of `count`.
static void addRow(double *row, const double *added, int64_t stride,
                   int count) {
  if (stride == 0) {
    double cost = *added;
    for (int choice = 0; choice < count; ++choice)
      row[choice] += cost;
    return;
  }
  for (int choice = 0; choice < count; ++choice)
    row[choice] += added[choice * stride];
}

CostNetwork::Elimination::Bucket
CostNetwork::Elimination::makeBucket(const CostNetwork &network, int variable,
                                     const std::vector<const Table *> &tables) {
  std::set<int> around;
  for (const Table *table : tables)
    around.insert(table->scope.begin(), table->scope.end());
  around.erase(variable);

  Elimination::Bucket bucket;
  bucket.variable = variable;
  bucket.separator.assign(around.begin(), around.end());
  bucket.domain = network.getDomainSize(variable);
  bucket.strides.resize(bucket.separator.size());
  int64_t entries = bucket.domain;
  for (size_t i = bucket.separator.size(); i-- > 0;) {
    bucket.strides[i] = entries;
    entries *= network.getDomainSize(bucket.separator[i]);
  }

  // Sum the tables over (separator.., variable), the variable fastest.
  bucket.costs.assign(entries, 0.0);
  for (const Table *table : tables) {
    std::vector<int64_t> tableStrides(bucket.separator.size(), 0);
    int64_t variableStride = 0, stride = 1;
    for (size_t i = table->scope.size(); i-- > 0;) {
      if (table->scope[i] == variable) {
        variableStride = stride;
      } else {
        auto *it = std::find(bucket.separator.data(),
                             bucket.separator.data() + bucket.separator.size(),
                             table->scope[i]);
        tableStrides[it - bucket.separator.data()] = stride;
      }
      stride *= network.getDomainSize(table->scope[i]);
    }
    std::vector<int> digits(bucket.separator.size(), 0);
    int64_t source = 0;
    for (int64_t row = 0; row < entries; row += bucket.domain) {
      addRow(bucket.costs.data() + row, table->costs.data() + source,
             variableStride, bucket.domain);
      for (size_t i = digits.size(); i-- > 0;) {
        source += tableStrides[i];
        if (++digits[i] < network.getDomainSize(bucket.separator[i]))
          break;
        source -= tableStrides[i] * digits[i];
        digits[i] = 0;
      }
    }
  }
  return bucket;
}

std::optional<CostNetwork::Elimination>
CostNetwork::eliminate(int64_t tableLimit) const {
  return eliminate(tableLimit, /*mayRelax=*/false);
}

CostNetwork::Elimination CostNetwork::relax(int64_t tableLimit) const {
  return *eliminate(tableLimit, /*mayRelax=*/true);
}

std::optional<CostNetwork::Elimination>
CostNetwork::eliminate(int64_t tableLimit, bool mayRelax) const {
  int count = getVariableCount();
  // A variable without choice connects nothing: its pairs are costs of the
  // other variable.
  std::vector<std::vector<double>> single;
  for (CostTable costs : unary)
    single.push_back(*costs);
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
      other[choice] += (*pair.costs)[choice];
  }
  std::vector<std::set<int>> neighbours(count);
  for (const Pair *pair : real) {
    neighbours[pair->first].insert(pair->second);
    neighbours[pair->second].insert(pair->first);
  }
  Order order = findOrder(single, neighbours);
  // All tables are kept: a network of many large ones is too wide too.
  if (order.entries > 4 * static_cast<double>(tableLimit) && !mayRelax)
    return std::nullopt;

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
      addTable({{pair->first, pair->second}, *pair->costs});
      continue;
    }
    size_t rows = unary[pair->first]->size();
    size_t columns = unary[pair->second]->size();
    std::vector<double> transposed(pair->costs->size());
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        transposed[j * rows + i] = (*pair->costs)[i * columns + j];
    addTable({{pair->second, pair->first}, std::move(transposed)});
  }

  Elimination result;
  result.variableCount = count;
  for (int variable : order.variables) {
    auto groups = groupTables(tablesOf[variable], tableLimit);
    if (groups.size() > 1 && !mayRelax)
      return std::nullopt;
    std::vector<Table> messages;
    for (const std::vector<const Table *> &group : groups) {
      Elimination::Bucket bucket =
          Elimination::makeBucket(*this, variable, group);
      Table &message = messages.emplace_back();
      message.scope = bucket.separator;
      message.costs.resize(bucket.costs.size() / bucket.domain);
      for (size_t row = 0; row < message.costs.size(); ++row) {
        const double *begin = bucket.costs.data() + row * bucket.domain;
        message.costs[row] = *std::min_element(begin, begin + bucket.domain);
      }
      result.buckets.push_back(std::move(bucket));
    }
    for (Table *table : std::vector<Table *>(tablesOf[variable])) {
      for (int other : table->scope)
        std::erase(tablesOf[other], table);
      table->costs = {};
    }
    for (Table &message : messages) {
      if (message.scope.empty())
        result.minimum += message.costs.front();
      else
        addTable(std::move(message));
    }
  }
  return result;
}
