//===- Graph.cpp - A reduced problem, laid out for speed ------------------===//

#include "lib/BlockSolver/Graph.h"

#include <algorithm>
#include <string_view>

using namespace parplan;
using namespace parplan::block;

namespace {

/// What allowed answers of a network differ by at most.
double findSpread(const Network &network) {
  double spread = 0;
  auto add = [&](const std::vector<double> &costs, double least) {
    double most = least;
    for (double cost : costs)
      if (cost != forbidden)
        most = std::max(most, cost);
    spread += most - least;
  };
  for (const Network::Node &node : network.nodes)
    if (node.isAlive)
      add(node.costs, *std::min_element(node.costs.begin(), node.costs.end()));
  for (const Network::Edge &edge : network.edges)
    if (edge.isAlive)
      add(edge.table, 0);
  return spread;
}

/// Tables that were stored before, by their bytes.
class TablePool {
public:
  explicit TablePool(std::vector<double> &pool) : pool(pool) {}

  size_t add(const std::vector<double> &table) {
    std::string_view bytes(reinterpret_cast<const char *>(table.data()),
                           table.size() * sizeof(double));
    std::vector<size_t> &known =
        positions[std::hash<std::string_view>{}(bytes) ^ table.size()];
    for (size_t position : known)
      if (position + table.size() <= pool.size() &&
          std::equal(table.begin(), table.end(), pool.begin() + position))
        return position;
    known.push_back(pool.size());
    pool.insert(pool.end(), table.begin(), table.end());
    return known.back();
  }

private:
  std::vector<double> &pool;
  std::unordered_map<size_t, std::vector<size_t>> positions;
};

int pad(int size) { return (size + Graph::lanes - 1) & -Graph::lanes; }

} // namespace

Graph::Graph(const Network &network) {
  constant = network.constant;
  double spread = findSpread(network);
  cap = spread > 0 ? 2 * spread : 1;
  timeIds = network.timeIds;
  for (int64_t base : network.getBase())
    slack.push_back(static_cast<double>(network.limit - base));

  std::vector<int> index(network.nodes.size(), -1);
  offsets.push_back(0);
  spanBegins.push_back(0);
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const Network::Node &node = network.nodes[i];
    if (!node.isAlive)
      continue;
    index[i] = size();
    originals.push_back(static_cast<int>(i));
    domains.push_back(node.size());
    valueCount += node.size();
    offsets.push_back(offsets.back() + pad(node.size()));
    ids.insert(ids.end(), node.ids.begin(), node.ids.end());
    ids.resize(offsets.back(), -1);
    double least = *std::min_element(node.costs.begin(), node.costs.end());
    constant += least;
    for (double cost : node.costs)
      costs.push_back(cost - least);
    costs.resize(offsets.back(), 16 * cap); // never least
    for (const Network::Span &span : node.spans) {
      spans.push_back({span.begin, span.end, usages.size()});
      size_t first = (&span - node.spans.data()) * node.ids.size();
      for (int value = 0; value < node.size(); ++value)
        usages.push_back(static_cast<double>(node.usages[first + value]));
    }
    spanBegins.push_back(spans.size());
  }
  addTables(network, index);
}

void Graph::addTables(const Network &network, const std::vector<int> &index) {
  struct End {
    int node;
    int other;
    int edge;
  };
  std::vector<End> ends;
  for (size_t i = 0; i < network.edges.size(); ++i) {
    const Network::Edge &edge = network.edges[i];
    if (!edge.isAlive)
      continue;
    ends.push_back(
        {index[edge.first], index[edge.second], static_cast<int>(i)});
    ends.push_back(
        {index[edge.second], index[edge.first], static_cast<int>(i)});
  }
  std::sort(ends.begin(), ends.end(), [](const End &a, const End &b) {
    return std::tie(a.node, a.other) < std::tie(b.node, b.other);
  });
  std::vector<int> linkOfEdge(network.edges.size(), -1);
  TablePool tables(pool);
  std::vector<double> table;
  linkBegins.assign(size() + 1, 0);
  linkMiddles.assign(size(), 0);
  for (const End &end : ends) {
    const Network::Edge &edge = network.edges[end.edge];
    int node = originals[end.node];
    int columns = getPadded(end.node);
    table.assign(static_cast<size_t>(domains[end.other]) * columns, 0);
    for (int row = 0; row < domains[end.other]; ++row)
      for (int column = 0; column < domains[end.node]; ++column)
        table[row * columns + column] =
            std::min(cap, network.getCost(edge, node, column, row));
    int link = static_cast<int>(links.size());
    links.push_back({end.other, linkOfEdge[end.edge], tables.add(table)});
    if (linkOfEdge[end.edge] >= 0)
      links[linkOfEdge[end.edge]].reverse = link;
    linkOfEdge[end.edge] = link;
    ++linkBegins[end.node + 1];
    if (end.other < end.node)
      ++linkMiddles[end.node];
  }
  for (int node = 0; node < size(); ++node) {
    linkBegins[node + 1] += linkBegins[node];
    linkMiddles[node] += linkBegins[node];
  }
}

int Graph::findValue(int node, int id) const {
  const int *begin = ids.data() + offsets[node];
  const int *end = begin + domains[node];
  const int *found = std::find(begin, end, id);
  return found == end ? -1 : static_cast<int>(found - begin);
}

double Graph::getUsage(int node, int value, int time) const {
  std::span<const Span> list = getSpans(node);
  auto it = std::upper_bound(
      list.begin(), list.end(), time,
      [](int wanted, const Span &span) { return wanted < span.end; });
  if (it == list.end() || it->begin > time)
    return 0;
  return usages[it->usages + value];
}
