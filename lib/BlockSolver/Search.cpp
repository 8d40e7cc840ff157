//===- Search.cpp - Local search in episodes ------------------------------===//

#include "lib/BlockSolver/Search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace parplan;
using namespace parplan::block;

Search::Search(const Graph &graph, MinPlus minPlus, uint64_t seed)
    : graph(graph), random(seed), forest(graph, minPlus), answer(graph),
      prices(std::vector<double>(graph.getTimeCount(), 0)), all(graph.size()),
      isSeen(graph.size(), 0), dualPrices(graph.getTimeCount(), 0) {
  std::iota(all.begin(), all.end(), 0);
}

void Search::setHints(const std::vector<int> &foundBest, double foundCost,
                      const std::vector<double> &foundPrices,
                      const std::vector<int> &foundRounding) {
  if (!foundBest.empty() && foundCost < bestCost) {
    best = foundBest;
    bestCost = foundCost;
  }
  if (!foundPrices.empty())
    dualPrices = foundPrices;
  rounding = foundRounding;
}

void Search::run(int64_t budget) {
  int64_t end = work + budget;
  while (work < end) {
    work += 1000;
    switch (phase) {
    case Phase::begin:
      begin();
      break;
    case Phase::loosen:
      loosen();
      break;
    case Phase::repair:
      repair();
      break;
    case Phase::polish:
      polish();
      break;
    }
  }
}

void Search::move(std::vector<int> &nodes, const MoveRule &rule) {
  work += forest.run(nodes, rule, answer, prices, random);
}

bool Search::keepIfBest() {
  if (!answer.fits())
    return false;
  if (answer.getCost() < episodeCost - 1e-9 * std::abs(episodeCost) ||
      episodeCost == forbidden) {
    episodeCost = answer.getCost();
    workOfGain = work;
  }
  if (answer.getCost() >= bestCost)
    return false;
  // What was added up is compared with what is.
  double cost = getCost(graph, answer.get());
  if (cost >= bestCost)
    return false;
  best = answer.get();
  bestCost = cost;
  ++gains;
  return true;
}

void Search::begin() {
  ++episodes;
  episodeCost = forbidden;
  repairs = 0;
  moves = 0;
  looseMoves = 0;
  isLooseRegional = false;
  looseRule = {/*isHard=*/false};
  std::fill(forest.isPinned.begin(), forest.isPinned.end(), 0);
  drawPriceFactors();
  int kind = random.below(8);
  if (best.empty() || (!isSmall() && episodes % 2 == 1))
    kind = 0;
  if (kind == 0) {
    beginAtRounding();
  } else {
    answer.assign(best);
    prices.assign(dualPrices);
    scalePrices(random.uniform(0.8, 1.25));
    if (kind == 1)
      mixPrices();
    else if (kind == 2) {
      looseMoves = 1 + random.below(3);
      looseRule.noise = 0.3 * random.uniform() * random.uniform();
    } else if (kind == 3)
      disturbRegion();
    else if (kind == 4)
      reoptimisePart();
    else
      probeHub();
  }
  workOfGain = work;
  patience = static_cast<int64_t>(6e6 * random.scaled(1, 10));
  if (!isSmall())
    patience = std::max(int64_t{300'000'000}, work / 8);
  work += 4 * static_cast<int64_t>(graph.getPaddedCount());
  phase = Phase::loosen;
}

void Search::beginAtRounding() {
  prices.assign(dualPrices);
  scalePrices(random.uniform(1, 1.25));
  if (!rounding.empty())
    answer.assign(rounding);
  else
    looseMoves = 4;
}

void Search::disturbRegion() {
  region = findRegion(graph, getRandomNode(),
                      random.scaled(3, std::max(3, graph.size() / 3)), random,
                      isSeen);
  isLooseRegional = true;
  looseMoves = 1 + random.below(4);
  looseRule.noise = random.uniform();
}

void Search::reoptimisePart() {
  int size = static_cast<int>(graph.size() * random.uniform(0.1, 0.9));
  region =
      findRegion(graph, getRandomNode(), std::max(1, size), random, isSeen);
  scalePrices(random.uniform(0.3, 1.5));
  isLooseRegional = true;
  looseMoves = 2 + random.below(4);
}

/// Single moves do not leave the values of nodes that decide much: force one,
/// and let the rest follow.
void Search::probeHub() {
  auto getWeight = [&](int node) {
    return (graph.getLinkEnd(node) - graph.getLinkBegin(node)) *
           graph.getDomain(node);
  };
  int hub = getRandomNode();
  for (int other : {getRandomNode(), getRandomNode()})
    if (getWeight(other) > getWeight(hub))
      hub = other;
  auto force = [&](int node) {
    std::vector<int> choices = answer.get();
    choices[node] = random.below(graph.getDomain(node));
    answer.assign(std::move(choices));
    forest.isPinned[node] = 1;
  };
  force(hub);
  int count = graph.getLinkEnd(hub) - graph.getLinkBegin(hub);
  if (count > 0 && random.flip(0.3))
    force(graph.getLink(graph.getLinkBegin(hub) + random.below(count)).other);
  looseMoves = 3 + random.below(4);
  if (!isSmall()) {
    region =
        findRegion(graph, hub, random.scaled(30, graph.size()), random, isSeen);
    isLooseRegional = true;
  }
}

/// One episode of three has prices of its own for every node. Products and
/// quotients only: the same on all machines.
void Search::drawPriceFactors() {
  std::fill(forest.priceFactors.begin(), forest.priceFactors.end(), 1.0);
  if (!random.flip(1.0 / 3))
    return;
  double spread = 0.08 * (1 << random.below(5));
  for (double &factor : forest.priceFactors) {
    double normal = 1 + spread * (random.uniform() + random.uniform());
    factor = random.flip(0.5) ? normal : 1 / normal;
  }
}

void Search::scalePrices(double factor) {
  std::vector<double> scaled = prices.get();
  for (double &price : scaled)
    price *= factor;
  prices.assign(std::move(scaled));
}

void Search::mixPrices() {
  double part = random.uniform(0, 1.25);
  std::vector<double> mixed = prices.get();
  for (size_t time = 0; time < mixed.size(); ++time)
    mixed[time] = 0.5 * mixed[time] + 0.5 * part * dualPrices[time];
  prices.assign(std::move(mixed));
}

void Search::loosen() {
  if (looseMoves-- <= 0) {
    phase = Phase::repair;
    return;
  }
  move(isLooseRegional ? region : all, looseRule);
}

/// Prices rise at the times that exceed the limit until none does: gently on
/// large graphs, where steep prices ruin all that was cheap.
void Search::repair() {
  if (answer.fits() || graph.getTimeCount() == 0) {
    keepIfBest();
    std::fill(forest.isPinned.begin(), forest.isPinned.end(), 0);
    phase = Phase::polish;
    return;
  }
  if (++repairs > (isSmall() ? 120 : 300)) {
    phase = Phase::begin;
    return;
  }
  // A price that can matter: the cost so far, spread over the memory.
  int worst = answer.getWorstTime();
  double least = 1e-6 * std::abs(judge(graph, answer.get()).allowed) /
                 std::max(1.0, graph.getSlack()[worst]);
  double factor = isSmall() ? 1.15 : 1.06;
  if (repairs > 60)
    factor *= 1.1;
  std::vector<double> raised = prices.get();
  for (int time = 0; time < graph.getTimeCount(); ++time)
    if (answer.getExcess(time) > 0)
      raised[time] = std::max(least, raised[time] * factor);
  prices.assign(std::move(raised));
  work += 2 * graph.getTimeCount();
  move(all, {/*isHard=*/false});
}

/// Whole graph and regions in turn; prices fall, and follow the dual's.
void Search::polish() {
  constexpr int regionsPerSweep = 24;
  int step = moves++ % (regionsPerSweep + 1);
  // Small trees and low prices find plans that no prices lead to.
  MoveRule rule;
  if (random.flip(0.2))
    rule.priceFactor = random.flip(0.5) ? 0 : random.uniform();
  if (random.flip(0.2))
    rule.treeLimit = random.scaled(1, 100);
  if (step == 0) {
    int sweep = moves / (regionsPerSweep + 1);
    if (sweep % 3 == 2)
      scalePrices(0.9);
    if (sweep % 7 == 6)
      mixPrices();
    move(all, rule);
  } else {
    region = findRegion(graph, getRandomNode(),
                        random.scaled(1, std::min(2000, graph.size())), random,
                        isSeen);
    work += 20 * static_cast<int64_t>(region.size());
    move(region, rule);
  }
  keepIfBest();
  if (work - workOfGain > patience)
    phase = Phase::begin;
}
