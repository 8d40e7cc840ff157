//===- Dual.cpp - A lower bound by messages and prices --------------------===//

#include "lib/BlockSolver/Dual.h"
#include "lib/BlockSolver/Assignment.h"

#include <algorithm>
#include <cmath>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Prices move from here on. Waiting until messages have converged without
/// prices takes seconds on large graphs.
constexpr int64_t passesWithoutPrices = 12;
/// With prices of an earlier dual, messages may converge for this many.
constexpr int64_t longestWarmth = 500;
constexpr double firstAlpha = 0.3;
constexpr double leastAlpha = 1e-4;
constexpr int64_t patience = 40;

} // namespace

Dual::Dual(const Graph &graph, MinPlus minPlus, std::vector<double> startPrices)
    : graph(graph), minPlus(minPlus), prices(std::move(startPrices)),
      residuals(graph.size(), 0), rounding(graph.size(), 0),
      excess(graph.getTimeCount(), 0), direction(graph.getTimeCount(), 0) {
  size_t size = 0;
  int most = Graph::lanes;
  workOfPass = 2 * graph.getTimeCount();
  for (int node = 0; node < graph.size(); ++node) {
    int padded = graph.getPadded(node);
    most = std::max(most, padded);
    workOfPass += 60 + 2 * static_cast<int64_t>(graph.getSpans(node).size());
    for (const Graph::Span &span : graph.getSpans(node)) {
      const double *usages = graph.getUsages(span);
      usageSum += *std::max_element(usages, usages + graph.getDomain(node));
    }
    for (int link = graph.getLinkBegin(node); link < graph.getLinkEnd(node);
         ++link) {
      messageOffsets.push_back(size);
      size += padded;
      workOfPass +=
          24 + padded * graph.getDomain(graph.getLink(link).other) / 6;
    }
  }
  workOfPass = workOfPass * 3 / 2;
  messages.assign(size, 0);
  theta.assign(most, 0);
  bestPrices = prices.get();
  isWarming = !prices.getLive().empty();
  addPrices();
}

void Dual::addPrices() {
  unary.resize(graph.getPaddedCount());
  for (int node = 0; node < graph.size(); ++node) {
    double *out = unary.data() + graph.getOffset(node);
    std::copy_n(graph.getCosts(node), graph.getPadded(node), out);
    prices.add(graph, node, 1, out);
  }
}

/// The cheapest value beside the later nodes, which are rounded already, and
/// the messages of the earlier ones.
void Dual::round(int node) {
  int domain = graph.getDomain(node), padded = graph.getPadded(node);
  std::copy_n(unary.data() + graph.getOffset(node), padded, theta.data());
  for (int link = graph.getLinkBegin(node); link < graph.getLinkEnd(node);
       ++link) {
    const Graph::Link &end = graph.getLink(link);
    if (link < graph.getLinkMiddle(node)) {
      const double *message = messages.data() + messageOffsets[link];
      for (int value = 0; value < padded; ++value)
        theta[value] -= message[value];
    } else {
      const double *row = graph.getTable(end) +
                          static_cast<size_t>(rounding[end.other]) * padded;
      for (int value = 0; value < padded; ++value)
        theta[value] += row[value];
    }
  }
  rounding[node] = static_cast<int>(
      std::min_element(theta.begin(), theta.begin() + domain) - theta.begin());
}

/// Returns the bound. `marginals` takes the least cost of all answers with a
/// value: the residuals must be of the messages and prices as they are.
template <bool isForward> double Dual::sweep(std::vector<double> *marginals) {
  double bound = graph.getConstant();
  for (int time : prices.getLive())
    bound -= prices[time] * graph.getSlack()[time];
  double rest = 0; // residuals of the nodes to come
  if (marginals)
    for (double residual : residuals)
      rest += residual;

  std::vector<double> out(theta.size());
  for (int step = 0; step < graph.size(); ++step) {
    int node = isForward ? step : graph.size() - 1 - step;
    int domain = graph.getDomain(node), padded = graph.getPadded(node);
    int begin = graph.getLinkBegin(node), end = graph.getLinkEnd(node);
    int middle = graph.getLinkMiddle(node);
    int doneBegin = isForward ? begin : middle;
    int doneEnd = isForward ? middle : end;
    for (int link = doneBegin; link < doneEnd; ++link) {
      const Graph::Link &from = graph.getLink(link);
      minPlus(out.data(), graph.getTable(from),
              messages.data() + messageOffsets[from.reverse],
              graph.getDomain(from.other), padded);
      double *message = messages.data() + messageOffsets[link];
      for (int value = 0; value < padded; ++value)
        message[value] = -out[value];
    }
    if (!isForward)
      round(node);
    std::copy_n(unary.data() + graph.getOffset(node), padded, theta.data());
    const double *message =
        begin < end ? messages.data() + messageOffsets[begin] : nullptr;
    for (int link = begin; link < end; ++link, message += padded)
      for (int value = 0; value < padded; ++value)
        theta[value] -= message[value];
    double least = *std::min_element(theta.begin(), theta.begin() + domain);
    if (marginals) {
      rest -= residuals[node];
      for (int value = 0; value < domain; ++value)
        (*marginals)[graph.getOffset(node) + value] =
            bound + theta[value] + rest;
    }
    bound += least;
    int most = std::max(middle - begin, end - middle);
    if (most == 0)
      continue;
    double share = 1.0 / most;
    for (int link = isForward ? middle : begin;
         link < (isForward ? end : middle); ++link) {
      double *later = messages.data() + messageOffsets[link];
      for (int value = 0; value < padded; ++value)
        later[value] += share * (theta[value] - least);
    }
  }
  return bound;
}

/// The bound of the messages and prices as they are after a sweep, added up
/// anew, and by how much that may be wrong.
///
/// Messages may be anything, so only sums count. A sum of k terms is wrong by
/// less than k roundings of the sum of their magnitudes. At a node these are
/// what is left of a value, what was left when it was shared out, the minimum
/// that made each message that came in (an entry of the table may be negative
/// by its rounding), and the product with the price of each span. The sum over
/// the nodes has a term for each, and prices of spans are differences of sums
/// over all times.
double Dual::addUp(double &error) {
  constexpr double loss = 0x1p-53; // of one rounding
  double times = static_cast<double>(graph.getTimeCount());
  double sum = graph.getConstant(), magnitudes = std::abs(sum), allPrices = 0;
  for (int time : prices.getLive()) {
    double product = prices[time] * graph.getSlack()[time];
    sum -= product;
    magnitudes += std::abs(product);
    allPrices += prices[time];
  }
  error = loss * 2 * (times + 2) * allPrices * usageSum;
  std::vector<double> left(theta.size()), sizes(theta.size());
  for (int node = 0; node < graph.size(); ++node) {
    int domain = graph.getDomain(node), padded = graph.getPadded(node);
    int links = graph.getLinkEnd(node) - graph.getLinkBegin(node);
    const double *costs = unary.data() + graph.getOffset(node);
    for (int value = 0; value < padded; ++value) {
      left[value] = costs[value];
      sizes[value] = std::abs(costs[value]);
    }
    const double *message =
        links > 0 ? messages.data() + messageOffsets[graph.getLinkBegin(node)]
                  : nullptr;
    for (int link = 0; link < links; ++link, message += padded)
      for (int value = 0; value < padded; ++value) {
        left[value] -= message[value];
        sizes[value] += std::abs(message[value]);
      }
    double least = *std::min_element(left.begin(), left.begin() + domain);
    residuals[node] = least;
    sum += least;
    magnitudes += std::abs(least);
    double terms = 4.0 * links + 2.0 * graph.getSpans(node).size() + 16;
    error +=
        loss * terms * *std::max_element(sizes.begin(), sizes.begin() + domain);
  }
  double terms = static_cast<double>(graph.size() + prices.getLive().size());
  error += loss * 2 * (terms + 8) * magnitudes;
  return sum;
}

void Dual::run(int64_t work, double upper) {
  for (; work > 0; work -= workOfPass) {
    double bound = sweep<true>(nullptr);
    bound = std::max(bound, sweep<false>(nullptr));
    ++passes;
    if (bound > bestBound) {
      bestBound = bound;
      bestPrices = prices.get();
      double error = 0, sum = addUp(error);
      safeBound = std::max(safeBound, sum - error);
    }
    judgeRounding();
    if (mayMovePrices(bound))
      movePrices(bound, upper);
  }
}

void Dual::judgeRounding() {
  for (size_t time = 0; time < excess.size(); ++time)
    excess[time] = 0;
  // Differences first, then sums.
  for (int node = 0; node < graph.size(); ++node)
    for (const Graph::Span &span : graph.getSpans(node)) {
      double usage = graph.getUsages(span)[rounding[node]];
      excess[span.begin] += usage;
      if (span.end < graph.getTimeCount())
        excess[span.end] -= usage;
    }
  double usage = 0, most = 0;
  for (size_t time = 0; time < excess.size(); ++time) {
    usage += excess[time];
    excess[time] = usage - graph.getSlack()[time];
    most = std::max(most, excess[time]);
  }
  if (most > 0)
    return;
  double cost = getCost(graph, rounding);
  if (cost < bestFittingCost) {
    bestFittingCost = cost;
    bestFitting = rounding;
  }
}

/// Prices that were good before a restart would be lost if the poor roundings
/// of the first passes moved them.
bool Dual::mayMovePrices(double bound) {
  bool isRising = bound - lastBound > 1e-6 * std::abs(bound);
  lastBound = bound;
  isWarming = isWarming && isRising && passes < longestWarmth;
  return passes >= passesWithoutPrices && !isWarming &&
         graph.getTimeCount() > 0;
}

/// A subgradient step with momentum, sized by the distance to the best answer
/// (Polyak); smaller, and from the best prices, when nothing is gained.
void Dual::movePrices(double bound, double upper) {
  if (bound > lastGainBound + 1e-5 * std::abs(bound)) {
    lastGainBound = bound;
    sinceGain = 0;
  } else if (++sinceGain > patience) {
    sinceGain = 0;
    alpha *= 0.6;
    if (alpha < leastAlpha)
      alpha = firstAlpha;
    std::fill(direction.begin(), direction.end(), 0);
    prices.assign(bestPrices);
  }
  double norm = 0;
  for (size_t time = 0; time < direction.size(); ++time) {
    direction[time] = 0.7 * direction[time] + 0.3 * excess[time];
    if (direction[time] > 0 || prices[time] > 0)
      norm += direction[time] * direction[time];
  }
  double distance = upper - bound;
  if (!std::isfinite(distance))
    distance = 0.05 * std::abs(bound) + 1;
  if (norm > 0 && distance > 0) {
    double step = 0.1 * alpha * distance / norm;
    std::vector<double> moved = prices.get();
    for (size_t time = 0; time < moved.size(); ++time)
      moved[time] = std::max(0.0, moved[time] + step * direction[time]);
    prices.assign(std::move(moved));
  }
  addPrices();
}

std::vector<char> Dual::findHopeless(double upper) {
  // What the last sweep left is of the prices before they moved.
  sweep<false>(nullptr);
  double before = 0, after = 0;
  addUp(before);
  std::vector<double> marginals(graph.getPaddedCount(), -forbidden);
  sweep<true>(&marginals);
  // A marginal adds up messages of this sweep and of the one before.
  addUp(after);
  sweep<false>(nullptr);
  std::vector<char> hopeless;
  hopeless.reserve(marginals.size());
  for (double marginal : marginals)
    hopeless.push_back(marginal > upper + before + after);
  return hopeless;
}
