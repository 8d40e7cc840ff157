//===- Network.cpp - A problem that is being reduced ----------------------===//

#include "lib/BlockSolver/Network.h"

#include <algorithm>
#include <numeric>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Of all times only the last begin before an end can be highest.
std::vector<int64_t> findPeakTimes(const Problem &problem) {
  std::vector<std::pair<int64_t, bool>>
      events; // time, whether something begins
  for (const block::Node &node : problem.nodes) {
    if (node.begin >= node.end ||
        *std::max_element(node.usages.begin(), node.usages.end()) == 0)
      continue;
    events.push_back({node.begin, true});
    events.push_back({node.end, false});
  }
  // Ends come before begins: intervals are half open.
  std::sort(events.begin(), events.end());
  std::vector<int64_t> times;
  for (size_t i = 0; i + 1 < events.size(); ++i)
    if (events[i].second && !events[i + 1].second)
      times.push_back(events[i].first);
  return times;
}

} // namespace

Network::Network(const Problem &problem) : precision(problem) {
  limit = problem.usageLimit;
  std::vector<int64_t> times = findPeakTimes(problem);
  timeIds.resize(times.size());
  std::iota(timeIds.begin(), timeIds.end(), 0);
  timeHeirs.assign(times.size(), -1);
  baseChanges.assign(times.size() + 1, 0);

  nodes.resize(problem.nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const block::Node &from = problem.nodes[i];
    Node &node = nodes[i];
    node.ids.resize(from.costs.size());
    std::iota(node.ids.begin(), node.ids.end(), 0);
    node.costs = from.costs;
    auto getIndex = [&](int64_t time) {
      return static_cast<int>(
          std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    int begin = getIndex(from.begin), end = getIndex(from.end);
    if (begin < end) {
      node.spans.push_back({begin, end});
      node.usages = from.usages;
      subtractLeastUsages(static_cast<int>(i));
    }
  }
  for (const block::Edge &edge : problem.edges) {
    if (edge.first != edge.second) {
      addTable(edge.first, edge.second, edge.costs);
      continue;
    }
    Node &node = nodes[edge.first];
    for (int value = 0; value < node.size(); ++value)
      node.costs[value] += edge.costs[value * node.size() + value];
  }
}

std::vector<int64_t> Network::getBase() const {
  std::vector<int64_t> base(getTimeCount());
  std::partial_sum(baseChanges.begin(), baseChanges.end() - 1, base.begin());
  return base;
}

const std::vector<int> &Network::getEdges(int node) {
  std::vector<int> &list = nodes[node].edges;
  std::erase_if(list, [&](int edge) { return !edges[edge].isAlive; });
  return list;
}

int Network::findEdge(int first, int second) const {
  auto it = edgeOfPair.find(getKey(first, second));
  return it == edgeOfPair.end() ? -1 : it->second;
}

int Network::addTable(int first, int second, std::vector<double> table) {
  int found = findEdge(first, second);
  if (found < 0) {
    found = static_cast<int>(edges.size());
    edges.push_back({true, false, first, second, std::move(table)});
    nodes[first].edges.push_back(found);
    nodes[second].edges.push_back(found);
    edgeOfPair.emplace(getKey(first, second), found);
    return found;
  }
  precision.addRoundings(1);
  Edge &edge = edges[found];
  edge.isNormal = false;
  size_t rows = nodes[first].ids.size(), columns = nodes[second].ids.size();
  if (edge.first == first) {
    for (size_t i = 0; i < table.size(); ++i)
      edge.table[i] += table[i];
  } else {
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        edge.table[column * rows + row] += table[row * columns + column];
  }
  return found;
}

void Network::removeEdge(int edge) {
  edges[edge].isAlive = false;
  edges[edge].table = {};
  edgeOfPair.erase(getKey(edges[edge].first, edges[edge].second));
}

void Network::keepValues(int node, const std::vector<char> &isKept) {
  Node &from = nodes[node];
  size_t before = from.ids.size();
  auto filter = [&](auto &list) {
    size_t written = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (isKept[i % before])
        list[written++] = list[i];
    list.resize(written);
  };
  for (int index : getEdges(node)) {
    Edge &edge = edges[index];
    edge.isNormal = false;
    if (edge.second == node) {
      filter(edge.table);
      continue;
    }
    size_t columns = nodes[edge.second].ids.size();
    size_t written = 0;
    for (size_t row = 0; row < before; ++row) {
      if (!isKept[row])
        continue;
      std::copy_n(edge.table.begin() + row * columns, columns,
                  edge.table.begin() + written * columns);
      ++written;
    }
    edge.table.resize(written * columns);
  }
  filter(from.costs);
  filter(from.usages);
  filter(from.ids);
}

void Network::subtractLeastUsages(int node) {
  Node &from = nodes[node];
  size_t values = from.ids.size();
  size_t written = 0;
  for (size_t i = 0; i < from.spans.size(); ++i) {
    int64_t *usages = from.usages.data() + i * values;
    int64_t least = *std::min_element(usages, usages + values);
    int64_t most = *std::max_element(usages, usages + values);
    Span span = from.spans[i];
    baseChanges[span.begin] += least;
    baseChanges[span.end] -= least;
    if (most == least)
      continue;
    for (size_t value = 0; value < values; ++value)
      from.usages[written * values + value] = usages[value] - least;
    from.spans[written++] = span;
  }
  from.spans.resize(written);
  from.usages.resize(written * values);
}
