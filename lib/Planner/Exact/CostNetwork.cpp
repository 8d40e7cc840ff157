//===- CostNetwork.cpp - Sums of tables and their answers -----------------===//

#include "parplan/Planner/CostNetwork.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <queue>

using namespace parplan;

int CostNetwork::addVariable(CostTable costs) {
  PARPLAN_CHECK(costs && !costs->empty(), "a variable needs a choice");
  unary.push_back(costs);
  return getVariableCount() - 1;
}

void CostNetwork::addCosts(int variable, const std::vector<double> &costs) {
  PARPLAN_CHECK(costs.size() == unary[variable]->size(),
                "a variable has a cost for every choice");
  std::vector<double> sums = *unary[variable];
  for (size_t choice = 0; choice < costs.size(); ++choice)
    sums[choice] += costs[choice];
  unary[variable] = tables->get(std::move(sums));
}

CostNetwork CostNetwork::fork() const {
  CostNetwork forked = *this;
  forked.tables = std::make_shared<CostTables>(tables);
  return forked;
}

void CostNetwork::addPair(int first, int second, CostTable costs) {
  PARPLAN_CHECK(first != second, "a pair is of two variables");
  PARPLAN_CHECK(costs->size() == unary[first]->size() * unary[second]->size(),
                "a pair has a cost for every two choices");
  pairs.push_back({first, second, costs});
}

void CostNetwork::forEachPair(
    const std::function<void(int, int, const std::vector<double> &)> &visit)
    const {
  for (const Pair &pair : pairs)
    visit(pair.first, pair.second, *pair.costs);
}

double CostNetwork::getCost(const std::vector<int> &choices) const {
  double cost = 0;
  for (size_t variable = 0; variable < unary.size(); ++variable)
    cost += (*unary[variable])[choices[variable]];
  for (const Pair &pair : pairs)
    cost += (*pair.costs)[choices[pair.first] * unary[pair.second]->size() +
                          choices[pair.second]];
  return cost;
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
  std::vector<double> sum;
  for (size_t i = buckets.size(); i-- > 0;) {
    const Bucket &bucket = buckets[i];
    const double *costs = getChoices(bucket, choices);
    // Buckets of one variable follow each other.
    if (i + 1 == buckets.size() || buckets[i + 1].variable != bucket.variable)
      sum.assign(bucket.domain, 0.0);
    for (int choice = 0; choice < bucket.domain; ++choice)
      sum[choice] += costs[choice];
    if (i == 0 || buckets[i - 1].variable != bucket.variable)
      choices[bucket.variable] = static_cast<int>(
          std::min_element(sum.begin(), sum.end()) - sum.begin());
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
