//===- TieMerging.cpp - Nodes that are functions of a neighbour -----------===//

#include "lib/BlockSolver/Reductions.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Per value of `leader` the only value of its neighbour that is allowed, or
/// nothing if some value allows several or none.
std::vector<int> findFunction(const Network &network, const Network::Edge &edge,
                              int leader) {
  int follower = edge.getOther(leader);
  std::vector<int> image;
  for (int value = 0; value < network.nodes[leader].size(); ++value) {
    int only = -1;
    for (int other = 0; other < network.nodes[follower].size(); ++other) {
      if (network.getCost(edge, leader, value, other) == forbidden)
        continue;
      if (only >= 0)
        return {};
      only = other;
    }
    if (only < 0)
      return {};
    image.push_back(only);
  }
  return image;
}

/// Whether the tables of the follower grow when the leader takes them.
bool growsTables(Network &network, int edge, int leader) {
  int follower = network.edges[edge].getOther(leader);
  int64_t leaderSize = network.nodes[leader].size();
  int64_t followerSize = network.nodes[follower].size();
  if (leaderSize <= followerSize)
    return false;
  int64_t removed = leaderSize * followerSize, added = 0;
  for (int other : network.getEdges(follower)) {
    if (other == edge)
      continue;
    int neighbour = network.edges[other].getOther(follower);
    int64_t size = network.nodes[neighbour].size();
    removed += size * followerSize;
    if (network.findEdge(leader, neighbour) < 0)
      added += size * leaderSize;
  }
  return added > removed;
}

/// What moving a node to another one costs.
size_t getWeight(const Network::Node &node) {
  return node.usages.size() + 8 * node.edges.size() * node.ids.size();
}

void merge(Network &network, int edge, int leader,
           const std::vector<int> &image, Worklist &changed) {
  int follower = network.edges[edge].getOther(leader);
  Network::Node &to = network.nodes[leader];
  Network::Node &from = network.nodes[follower];
  size_t values = to.ids.size(), fromValues = from.ids.size();

  std::vector<int> ids;
  for (size_t value = 0; value < values; ++value) {
    ids.push_back(from.ids[image[value]]);
    to.costs[value] +=
        from.costs[image[value]] +
        network.getCost(network.edges[edge], leader, value, image[value]);
  }
  network.precision.addRoundings(2);
  network.undo.addMerge(follower, leader, std::move(ids), to.ids);
  network.removeEdge(edge);

  for (size_t span = 0; span < from.spans.size(); ++span) {
    to.spans.push_back(from.spans[span]);
    for (size_t value = 0; value < values; ++value)
      to.usages.push_back(from.usages[span * fromValues + image[value]]);
  }
  if (!from.spans.empty())
    to.isDisjoint = to.spans.size() == from.spans.size() && from.isDisjoint;

  for (int index : std::vector<int>(network.getEdges(follower))) {
    const Network::Edge &old = network.edges[index];
    int neighbour = old.getOther(follower);
    size_t size = network.nodes[neighbour].ids.size();
    std::vector<double> table(values * size);
    for (size_t value = 0; value < values; ++value)
      for (size_t other = 0; other < size; ++other)
        table[value * size + other] =
            network.getCost(old, follower, image[value], other);
    network.removeEdge(index);
    network.addTable(leader, neighbour, std::move(table));
    changed.push(neighbour);
  }
  from = {};
  from.isAlive = false;
  changed.push(leader);
}

} // namespace

bool block::mergeTie(Network &network, int edge, Worklist &changed) {
  const Network::Edge &from = network.edges[edge];
  std::vector<int> firstLeads = findFunction(network, from, from.first);
  std::vector<int> secondLeads = findFunction(network, from, from.second);
  bool canFirst =
      !firstLeads.empty() && !growsTables(network, edge, from.first);
  bool canSecond =
      !secondLeads.empty() && !growsTables(network, edge, from.second);
  if (!canFirst && !canSecond)
    return false;
  // Of a bijection the smaller one moves: else the work is quadratic.
  bool leadsFirst = canFirst;
  if (canFirst && canSecond)
    leadsFirst = getWeight(network.nodes[from.first]) >=
                 getWeight(network.nodes[from.second]);
  merge(network, edge, leadsFirst ? from.first : from.second,
        leadsFirst ? firstLeads : secondLeads, changed);
  return true;
}
