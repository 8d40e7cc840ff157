//===- ForestMove.cpp - Many nodes changed at once, optimally -------------===//

#include "lib/BlockSolver/ForestMove.h"

#include <algorithm>
#include <cmath>

using namespace parplan;
using namespace parplan::block;

ForestMove::ForestMove(const Graph &graph, MinPlus minPlus)
    : isPinned(graph.size(), 0), priceFactors(graph.size(), 1), graph(graph),
      minPlus(minPlus), isFree(graph.size(), 0), isDone(graph.size(), 0),
      roots(graph.size()), sizes(graph.size()), parentLinks(graph.size()),
      values(graph.size()), plain(graph.getPaddedCount()),
      full(graph.getPaddedCount()) {
  int most = Graph::lanes;
  for (int node = 0; node < graph.size(); ++node)
    most = std::max(most, graph.getPadded(node));
  scratch.resize(most);
}

int64_t ForestMove::run(std::vector<int> &region, const MoveRule &rule,
                        Assignment &answer, Prices &prices, Random &random) {
  work = 0;
  random.shuffle(region);
  chooseForest(region, rule.treeLimit);
  for (int node : region) {
    if (!isFree[node] || isDone[node])
      continue;
    orderTree(node);
    solveTree(rule, answer, prices, random);
    judgeTree(rule, answer, prices);
  }
  for (int node : region)
    isFree[node] = isDone[node] = 0;
  return 2 * work;
}

int ForestMove::findRoot(int node) {
  while (roots[node] != node)
    node = roots[node] = roots[roots[node]];
  return node;
}

/// Greedy: a node joins the forest unless that closes a circle.
void ForestMove::chooseForest(const std::vector<int> &region, int treeLimit) {
  for (int node : region) {
    if (isPinned[node])
      continue;
    joined.clear();
    int size = 1;
    bool isTree = true;
    for (int link = graph.getLinkBegin(node);
         isTree && link < graph.getLinkEnd(node); ++link) {
      int other = graph.getLink(link).other;
      if (!isFree[other])
        continue;
      int root = findRoot(other);
      isTree = std::find(joined.begin(), joined.end(), root) == joined.end();
      joined.push_back(root);
      size += sizes[root];
    }
    work += 10 + 2 * (graph.getLinkEnd(node) - graph.getLinkBegin(node));
    if (!isTree || size > treeLimit)
      continue;
    isFree[node] = 1;
    roots[node] = node;
    sizes[node] = size;
    for (int root : joined)
      roots[root] = node;
  }
}

void ForestMove::orderTree(int root) {
  order.assign(1, root);
  parentLinks[root] = -1;
  isDone[root] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    int node = order[i];
    for (int link = graph.getLinkBegin(node); link < graph.getLinkEnd(node);
         ++link) {
      const Graph::Link &end = graph.getLink(link);
      if (!isFree[end.other] || isDone[end.other])
        continue;
      isDone[end.other] = 1;
      parentLinks[end.other] = end.reverse;
      order.push_back(end.other);
    }
  }
}

/// Of equal values any: the first one from a random place on.
int ForestMove::chooseLeast(const double *costs, int count,
                            Random &random) const {
  int start = random.below(count);
  int best = start;
  for (int value = start + 1; value < count; ++value)
    if (costs[value] < costs[best])
      best = value;
  for (int value = 0; value < start; ++value)
    if (costs[value] < costs[best])
      best = value;
  return best;
}

void ForestMove::solveTree(const MoveRule &rule, const Assignment &answer,
                           const Prices &prices, Random &random) {
  for (int node : order) {
    int padded = graph.getPadded(node), domain = graph.getDomain(node);
    double *costs = plain.data() + graph.getOffset(node);
    std::copy_n(graph.getCosts(node), padded, costs);
    for (int link = graph.getLinkBegin(node); link < graph.getLinkEnd(node);
         ++link) {
      const Graph::Link &end = graph.getLink(link);
      if (isFree[end.other])
        continue;
      const double *row =
          graph.getTable(end) + static_cast<size_t>(answer[end.other]) * padded;
      for (int value = 0; value < padded; ++value)
        costs[value] += row[value];
    }
    double *all = full.data() + graph.getOffset(node);
    std::copy_n(costs, padded, all);
    if (rule.priceFactor > 0)
      prices.add(graph, node, rule.priceFactor * priceFactors[node], all);
    if (rule.noise > 0) {
      double least = *std::min_element(all, all + domain), most = least;
      for (int value = 0; value < domain; ++value)
        if (!graph.isForbidden(costs[value]))
          most = std::max(most, all[value]);
      for (int value = 0; value < domain; ++value)
        all[value] += rule.noise * (most - least) * random.uniform();
    }
    work += 40 + (padded / 4 + 6) *
                     (graph.getLinkEnd(node) - graph.getLinkBegin(node));
  }
  for (size_t i = order.size(); i-- > 1;) {
    int node = order[i];
    const Graph::Link &up = graph.getLink(parentLinks[node]);
    int parent = up.other, padded = graph.getPadded(parent);
    minPlus(scratch.data(), graph.getTable(graph.getLink(up.reverse)),
            full.data() + graph.getOffset(node), graph.getDomain(node), padded);
    double *all = full.data() + graph.getOffset(parent);
    for (int value = 0; value < padded; ++value)
      all[value] += scratch[value];
    work += 20 + padded * graph.getDomain(node) / 6;
  }
  for (int node : order) {
    int padded = graph.getPadded(node);
    double *all = full.data() + graph.getOffset(node);
    if (parentLinks[node] >= 0) {
      const Graph::Link &up = graph.getLink(parentLinks[node]);
      const double *row =
          graph.getTable(up) + static_cast<size_t>(values[up.other]) * padded;
      for (int value = 0; value < padded; ++value)
        all[value] += row[value];
    }
    values[node] = chooseLeast(all, graph.getDomain(node), random);
  }
}

void ForestMove::judgeTree(const MoveRule &rule, Assignment &answer,
                           Prices &prices) {
  // Costs of the tree before and after.
  double change = 0;
  bool isChanged = false;
  for (int node : order) {
    int before = answer[node], after = values[node];
    isChanged |= before != after;
    const double *costs = plain.data() + graph.getOffset(node);
    change += costs[after] - costs[before];
    if (parentLinks[node] < 0)
      continue;
    const Graph::Link &up = graph.getLink(parentLinks[node]);
    const double *table = graph.getTable(up);
    size_t padded = graph.getPadded(node);
    change += table[values[up.other] * padded + after] -
              table[answer[up.other] * padded + before];
  }
  if (!isChanged)
    return;
  double excess = answer.getExcess();
  for (int node : order) {
    int before = answer[node];
    if (before == values[node])
      continue;
    answer.set(node, values[node], 0);
    for (const Graph::Span &span : graph.getSpans(node))
      work += 10 + (span.end - span.begin);
    values[node] = before; // to go back
  }
  answer.addCost(change);
  if (!rule.isHard || answer.getExcess() <= excess)
    return;
  int worst = answer.getWorstTime();
  double over = answer.getExcess(worst);
  for (int node : order)
    if (answer[node] != values[node])
      answer.set(node, values[node], 0);
  answer.addCost(-change);
  if (change < 0 && over > 0 && rule.priceFactor >= 1)
    prices.raise(worst, 0.3 * -change / over);
  work += graph.getTimeCount();
}

std::vector<int> block::findRegion(const Graph &graph, int start, int size,
                                   Random &random, std::vector<char> &isSeen) {
  std::vector<int> region = {start};
  isSeen[start] = 1;
  for (size_t i = 0; i < region.size(); ++i) {
    int begin = graph.getLinkBegin(region[i]);
    int count = graph.getLinkEnd(region[i]) - begin;
    int first = count > 0 ? random.below(count) : 0;
    for (int step = 0; step < count && static_cast<int>(region.size()) < size;
         ++step) {
      int other = graph.getLink(begin + (first + step) % count).other;
      if (isSeen[other])
        continue;
      isSeen[other] = 1;
      region.push_back(other);
    }
  }
  for (int node : region)
    isSeen[node] = 0;
  return region;
}
