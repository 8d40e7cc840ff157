//===- KnownMinima.cpp - What answers say of other questions --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "KnownMinima.h"

#include <algorithm>
#include <limits>

using namespace parplan;

void KnownMinima::add(const Components &prices, double least) {
  constexpr size_t most = 128;
  // Nothing follows from nothing, and what is impossible is left to others.
  if (least <= 0 || least == std::numeric_limits<double>::infinity())
    return;
  if (known.size() < most) {
    known.push_back({prices, least});
    return;
  }
  known[next] = {prices, least};
  next = (next + 1) % most;
}

/// The largest multiple of `part` that nowhere exceeds `whole`.
static double getMultiple(const Components &whole, const Components &part) {
  double multiple = std::numeric_limits<double>::infinity();
  for (int component = 0; component < componentCount; ++component)
    if (part[component] > 0)
      multiple = std::min(multiple, whole[component] / part[component]);
  return multiple;
}

double KnownMinima::getBound(const Components &prices) const {
  constexpr int mostParts = 3;
  // Sums of the same numbers in another order differ by less.
  constexpr double tolerance = 1e-9;
  Components rest = prices;
  double bound = 0;
  for (int part = 0; part < mostParts; ++part) {
    const Answer *best = nullptr;
    double most = 0, multiple = 0;
    for (const Answer &answer : known) {
      double candidate = getMultiple(rest, answer.prices);
      if (candidate * answer.least <= most)
        continue;
      best = &answer;
      multiple = candidate;
      most = candidate * answer.least;
    }
    if (!best)
      break;
    bound += most;
    for (int component = 0; component < componentCount; ++component)
      rest[component] =
          std::max(0.0, rest[component] - multiple * best->prices[component]);
  }
  return bound * (1 - tolerance);
}
