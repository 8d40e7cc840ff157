//===- ArcConsistency.cpp - Values without a partner, normal tables -------===//

#include "lib/BlockSolver/Reductions.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

void block::dropValues(Network &network, int node,
                       const std::vector<char> &isKept, Worklist &changed) {
  network.keepValues(node, isKept);
  network.subtractLeastUsages(node);
  changed.push(node);
  for (int edge : network.getEdges(node))
    changed.push(network.edges[edge].getOther(node));
}

bool block::removeForbidden(Network &network, int node, Worklist &changed) {
  Network::Node &from = network.nodes[node];
  if (std::find(from.costs.begin(), from.costs.end(), forbidden) ==
      from.costs.end())
    return false;
  std::vector<char> isKept;
  for (double cost : from.costs)
    isKept.push_back(cost != forbidden);
  if (std::find(isKept.begin(), isKept.end(), 1) == isKept.end()) {
    network.isInfeasible = true;
    return false;
  }
  dropValues(network, node, isKept, changed);
  return true;
}

bool block::normaliseEdge(Network &network, int edge, Worklist &changed) {
  Network::Edge &from = network.edges[edge];
  if (from.isNormal)
    return false;
  from.isNormal = true;
  network.precision.addRoundings(4);
  Network::Node &first = network.nodes[from.first];
  Network::Node &second = network.nodes[from.second];
  size_t rows = first.ids.size(), columns = second.ids.size();
  bool isChanged = false;
  // Values that found no partner: forbidden is left in their row or column, so
  // that nothing is subtracted from it.
  auto take = [&](double least, double &cost, int node) {
    if (least == 0)
      return false;
    if (least == forbidden && cost == forbidden)
      return false;
    cost += least;
    isChanged = true;
    changed.push(node);
    return least != forbidden;
  };
  for (size_t row = 0; row < rows; ++row) {
    double *entries = from.table.data() + row * columns;
    double least = *std::min_element(entries, entries + columns);
    if (take(least, first.costs[row], from.first))
      for (size_t column = 0; column < columns; ++column)
        entries[column] -= least;
  }
  std::vector<double> least(columns, forbidden);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      least[column] =
          std::min(least[column], from.table[row * columns + column]);
  for (size_t column = 0; column < columns; ++column)
    if (take(least[column], second.costs[column], from.second))
      for (size_t row = 0; row < rows; ++row)
        from.table[row * columns + column] -= least[column];
  if (std::all_of(from.table.begin(), from.table.end(),
                  [](double entry) { return entry == 0; })) {
    changed.push(from.first);
    changed.push(from.second);
    network.removeEdge(edge);
    return true;
  }
  return isChanged;
}
