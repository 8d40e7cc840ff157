//===- MemoryDual.cpp - What a position costs within its memory -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "MemoryDual.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

/// Prices that are tried for one position.
static constexpr int mostPrices = 24;

Weights MemoryDual::getNoWeights() {
  Weights none;
  none.forward = none.inputGradient = none.weightGradient = 0;
  none.meeting = none.ends = 0;
  return none;
}

Weights MemoryDual::addPrice(Weights weights, double price,
                             const PositionPart &part, size_t chunk) {
  weights.permanentBytes = price;
  weights.savedBytes = price * part.moment.inFlight[chunk];
  weights.waitingBytes += price * part.moment.waiting[chunk];
  return weights;
}

ModeSet MemoryDual::getModes(const PositionPart &part, double price) const {
  bool isPriced =
      price != 0 || llvm::any_of(part.weights, [](const Weights &weights) {
        return weights.waitingBytes != 0;
      });
  return isPriced ? allModes : oracles.getFastest();
}

std::vector<CostVector> MemoryDual::getCosts(const PositionPart &part,
                                             double price) {
  std::vector<CostVector> costs(part.ranges.size());
  ModeSet modes = getModes(part, price);
  for (size_t chunk = 0; chunk < part.ranges.size(); ++chunk) {
    Weights priced = addPrice(part.weights[chunk], price, part, chunk);
    for (int unit = part.ranges[chunk].first; unit < part.ranges[chunk].end;
         ++unit)
      costs[chunk] += oracles.ask(chain.getType(unit), priced, modes).cost;
  }
  return costs;
}

MemoryDual::Line MemoryDual::sum(const PositionPart &part,
                                 llvm::function_ref<Weights(size_t)> getWeights,
                                 ModeSet modes) {
  Line line;
  for (size_t chunk = 0; chunk < part.ranges.size(); ++chunk) {
    Weights priced = getWeights(chunk);
    // Neighbours are mostly equal.
    for (int unit = part.ranges[chunk].first; unit < part.ranges[chunk].end;) {
      int type = chain.getType(unit), end = unit;
      while (end < part.ranges[chunk].end && chain.getType(end) == type)
        ++end;
      const BlockOracle::Least &answer = oracles.ask(type, priced, modes);
      auto count = static_cast<double>(end - unit);
      line.value += count * answer.value;
      line.cost += count * part.weights[chunk].get(answer.cost);
      line.bytes += count * part.getBytes(chunk, answer.cost);
      unit = end;
    }
  }
  return line;
}

MemoryDual::Line MemoryDual::evaluate(const PositionPart &part,
                                      double freeBytes, double price) {
  Line line = sum(
      part,
      [&](size_t chunk) {
        return addPrice(part.weights[chunk], price, part, chunk);
      },
      getModes(part, price));
  line.value -= price * freeBytes;
  return line;
}

MemoryDual::Line MemoryDual::evaluateLeastBytes(const PositionPart &part) {
  return sum(
      part,
      [&](size_t chunk) { return addPrice(getNoWeights(), 1, part, chunk); },
      allModes);
}

MemoryDual::Family MemoryDual::getFamily(const PositionPart &part) {
  Family family;
  for (size_t chunk = 0; chunk < part.weights.size(); ++chunk) {
    const Weights &weights = part.weights[chunk];
    family.insert(family.end(),
                  {weights.forward, weights.inputGradient,
                   weights.weightGradient, weights.meeting, weights.ends,
                   weights.waitingBytes, part.moment.inFlight[chunk],
                   part.moment.waiting[chunk]});
  }
  return family;
}

bool parplan::costsNoLess(const UnitChain &chain, const PositionPart &one,
                          const PositionPart &other) {
  for (size_t chunk = 0; chunk < one.ranges.size(); ++chunk) {
    if (!one.weights[chunk].isNoLess(other.weights[chunk]) ||
        one.moment.inFlight[chunk] < other.moment.inFlight[chunk] ||
        one.moment.waiting[chunk] < other.moment.waiting[chunk])
      return false;
    std::vector<int64_t> more(chain.getTypeCount(), 0);
    auto count = [&](const UnitRange &range, int64_t each) {
      for (int unit = range.first; unit < range.end; ++unit)
        more[chain.getType(unit)] += each;
    };
    count(one.ranges[chunk], 1);
    count(other.ranges[chunk], -1);
    if (llvm::any_of(more, [](int64_t units) { return units < 0; }))
      return false;
  }
  return true;
}

MemoryDual::Result MemoryDual::solve(const PositionPart &part, double freeBytes,
                                     double enough, double ignored) {
  Line left = evaluate(part, freeBytes, 0);
  Result best;
  best.value = left.value;
  best.isFree = left.bytes <= freeBytes;
  if (best.isFree)
    best.most = best.value;
  if (best.isFree || best.value >= enough)
    return best;
  std::vector<double> &prices = tried[getFamily(part)];
  if (prices.empty() && likely > 0)
    prices.push_back(likely);
  std::optional<Line> right;
  auto take = [&](double price) {
    Line line = evaluate(part, freeBytes, price);
    if (line.value > best.value) {
      best.value = line.value;
      best.price = likely = price;
    }
    // The lines that enclose the best price: too large and small enough, and
    // of these the nearest.
    if (line.bytes > freeBytes) {
      if (line.bytes < left.bytes)
        left = line;
    } else if (!right || line.bytes > right->bytes) {
      right = line;
    }
  };
  for (double price : prices) {
    take(price);
    if (best.value >= enough)
      return best;
  }
  if (!right) {
    Line least = evaluateLeastBytes(part);
    if (least.value > freeBytes * (1 + 1e-12)) {
      best.value = std::numeric_limits<double>::infinity();
      return best;
    }
    right = least;
  }
  for (int round = 0; round < mostPrices; ++round) {
    double slope = left.bytes - right->bytes;
    double price = slope > 0 ? (right->cost - left.cost) / slope : 0;
    bool isBest = !(price > 0) || !std::isfinite(price) ||
                  llvm::is_contained(prices, price);
    best.most =
        isBest ? best.value : left.cost + price * (left.bytes - freeBytes);
    if (best.value >= best.most * (1 - tolerance) || best.value >= enough ||
        best.most <= ignored)
      break;
    prices.push_back(price);
    take(price);
  }
  return best;
}
