//===- Prices.cpp - What memory costs at each time ------------------------===//

#include "lib/BlockSolver/Prices.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

void Prices::assign(std::vector<double> values) {
  prices = std::move(values);
  sums.assign(prices.size() + 1, 0);
  live.clear();
  for (size_t time = 0; time < prices.size(); ++time) {
    sums[time + 1] = sums[time] + prices[time];
    if (prices[time] > 0)
      live.push_back(static_cast<int>(time));
  }
}

void Prices::raise(int time, double by) {
  if (by <= 0)
    return;
  if (prices[time] <= 0)
    live.insert(std::lower_bound(live.begin(), live.end(), time), time);
  prices[time] += by;
  for (size_t later = time; later < prices.size(); ++later)
    sums[later + 1] += by;
}

void Prices::add(const Graph &graph, int node, double factor,
                 double *out) const {
  std::span<const Graph::Span> spans = graph.getSpans(node);
  if (live.empty() || spans.empty())
    return;
  int domain = graph.getDomain(node);
  auto addSpan = [&](const Graph::Span &span, double price) {
    const double *usages = graph.getUsages(span);
    for (int value = 0; value < domain; ++value)
      out[value] += price * usages[value];
  };
  if (live.size() * 4 >= spans.size()) {
    for (const Graph::Span &span : spans)
      if (double price = sums[span.end] - sums[span.begin]; price > 0)
        addSpan(span, price * factor);
    return;
  }
  for (int time : live) {
    auto it = std::upper_bound(
        spans.begin(), spans.end(), time,
        [](int wanted, const Graph::Span &span) { return wanted < span.end; });
    if (it != spans.end() && it->begin <= time)
      addSpan(*it, prices[time] * factor);
  }
}
