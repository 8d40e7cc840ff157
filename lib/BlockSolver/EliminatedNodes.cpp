//===- EliminatedNodes.cpp - Nodes that their neighbours decide -----------===//

#include "lib/BlockSolver/Reductions.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Tables that elimination makes may have this many entries in any case.
constexpr size_t smallTable = 64;

/// The table of an edge, values of `node` fastest.
Undo::Neighbour getNeighbour(const Network &network, int edgeIndex, int node) {
  const Network::Edge &edge = network.edges[edgeIndex];
  int other = edge.getOther(node);
  Undo::Neighbour neighbour{other, network.nodes[other].ids, {}};
  for (int otherValue = 0; otherValue < network.nodes[other].size();
       ++otherValue)
    for (int value = 0; value < network.nodes[node].size(); ++value)
      neighbour.table.push_back(network.getCost(edge, node, value, otherValue));
  return neighbour;
}

/// A node of one value adds a row to each neighbour, and memory to the base.
void fix(Network &network, int node, Worklist &changed) {
  Network::Node &from = network.nodes[node];
  for (int index : std::vector<int>(network.getEdges(node))) {
    const Network::Edge &edge = network.edges[index];
    int other = edge.getOther(node);
    for (int value = 0; value < network.nodes[other].size(); ++value)
      network.nodes[other].costs[value] +=
          network.getCost(edge, node, 0, value);
    changed.push(other);
    network.precision.addRoundings(1);
    network.removeEdge(index);
  }
  network.subtractLeastUsages(node);
  network.constant += from.costs[0];
  network.precision.addRoundings(1);
  network.undo.addElimination(node, from.ids, from.costs, {});
  from = {};
  from.isAlive = false;
}

/// Whether the table over the two neighbours may be made.
bool mayJoin(const Network &network, int node,
             const std::vector<Undo::Neighbour> &around) {
  size_t first = around[0].ids.size(), second = around[1].ids.size();
  size_t removed = network.nodes[node].ids.size() * (first + second);
  return first * second <= std::max(smallTable, removed) ||
         network.findEdge(around[0].node, around[1].node) >= 0;
}

} // namespace

bool block::eliminate(Network &network, int node, Worklist &changed) {
  Network::Node &from = network.nodes[node];
  if (std::count(from.costs.begin(), from.costs.end(), forbidden))
    return false;
  if (from.size() == 1) {
    fix(network, node, changed);
    return true;
  }
  const std::vector<int> edges = network.getEdges(node);
  if (!from.spans.empty() || edges.size() > 2)
    return false;
  std::vector<Undo::Neighbour> around;
  for (int edge : edges)
    around.push_back(getNeighbour(network, edge, node));
  if (around.size() == 2 && !mayJoin(network, node, around))
    return false;

  size_t values = from.ids.size();
  if (around.empty()) {
    network.constant += *std::min_element(from.costs.begin(), from.costs.end());
  } else if (around.size() == 1) {
    std::vector<double> &costs = network.nodes[around[0].node].costs;
    for (size_t other = 0; other < costs.size(); ++other) {
      double least = forbidden;
      for (size_t value = 0; value < values; ++value)
        least = std::min(least, from.costs[value] +
                                    around[0].table[other * values + value]);
      costs[other] += least;
    }
  } else {
    std::vector<double> table;
    for (size_t first = 0; first < around[0].ids.size(); ++first)
      for (size_t second = 0; second < around[1].ids.size(); ++second) {
        double least = forbidden;
        for (size_t value = 0; value < values; ++value)
          least = std::min(least, from.costs[value] +
                                      around[0].table[first * values + value] +
                                      around[1].table[second * values + value]);
        table.push_back(least);
      }
    network.addTable(around[0].node, around[1].node, std::move(table));
  }
  network.precision.addRoundings(3);
  for (const Undo::Neighbour &neighbour : around)
    changed.push(neighbour.node);
  for (int edge : edges)
    network.removeEdge(edge);
  network.undo.addElimination(node, from.ids, from.costs, std::move(around));
  network.nodes[node] = {};
  network.nodes[node].isAlive = false;
  return true;
}
