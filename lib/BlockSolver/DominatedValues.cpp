//===- DominatedValues.cpp - Values that another one makes useless --------===//

#include "lib/BlockSolver/Reductions.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// The work of comparing all values of a node is kept below this.
constexpr int64_t maxWork = 20'000'000;
/// Nodes with more spans wait until these are disjoint.
constexpr size_t maxOverlappingSpans = 8;

/// The table of an edge with the values of `node` as rows.
struct Rows {
  std::vector<double> entries;
  size_t columns;

  const double *operator[](int value) const {
    return entries.data() + value * columns;
  }
};

Rows getRows(const Network &network, const Network::Edge &edge, int node) {
  size_t columns = network.nodes[edge.getOther(node)].ids.size();
  if (node == edge.first)
    return {edge.table, columns};
  Rows rows{{}, columns};
  rows.entries.reserve(edge.table.size());
  for (int value = 0; value < network.nodes[node].size(); ++value)
    for (size_t other = 0; other < columns; ++other)
      rows.entries.push_back(network.getCost(edge, node, value, other));
  return rows;
}

bool takesNoMore(const Network::Node &node, int better, int worse) {
  size_t values = node.ids.size();
  for (size_t i = 0; i < node.usages.size(); i += values)
    if (node.usages[i + better] > node.usages[i + worse])
      return false;
  return true;
}

bool costsNoMore(const Network::Node &node, const std::vector<Rows> &tables,
                 int better, int worse) {
  // Every table adds at least the difference of its two minima, which is 0 in
  // normal tables, or more: no early end is wrong, and few tables decide.
  double sum = node.costs[better] - node.costs[worse];
  for (const Rows &table : tables) {
    double most = -forbidden;
    const double *ours = table[better], *theirs = table[worse];
    for (size_t other = 0; other < table.columns; ++other) {
      if (theirs[other] == forbidden)
        continue;
      if (ours[other] == forbidden)
        return false;
      most = std::max(most, ours[other] - theirs[other]);
    }
    sum += most;
  }
  return sum <= 0;
}

} // namespace

bool block::dropDominated(Network &network, int node, Worklist &changed) {
  Network::Node &from = network.nodes[node];
  int64_t values = from.size();
  if (values < 2 || std::count(from.costs.begin(), from.costs.end(), forbidden))
    return false;
  if (!from.isDisjoint && from.spans.size() > maxOverlappingSpans)
    return false;
  int64_t sizes = static_cast<int64_t>(from.spans.size());
  for (int edge : network.getEdges(node))
    sizes += network.nodes[network.edges[edge].getOther(node)].size();
  if (values > maxWork / values / std::max<int64_t>(1, sizes))
    return false;

  std::vector<Rows> tables;
  for (int edge : network.getEdges(node))
    tables.push_back(getRows(network, network.edges[edge], node));
  std::vector<char> isKept(values, 1);
  for (int worse = 0; worse < values; ++worse)
    for (int better = 0; better < values && isKept[worse]; ++better)
      if (better != worse && isKept[better] &&
          takesNoMore(from, better, worse) &&
          costsNoMore(from, tables, better, worse))
        isKept[worse] = 0;
  if (std::find(isKept.begin(), isKept.end(), 0) == isKept.end())
    return false;
  dropValues(network, node, isKept, changed);
  return true;
}
