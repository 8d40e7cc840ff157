//===- Components.cpp - Costs as vectors ----------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Components.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

Components parplan::toComponents(const CostVector &cost) {
  return {cost.forward,    cost.inputGradient, cost.weightGradient,
          cost.meeting,    cost.ends,          cost.permanentBytes,
          cost.savedBytes, cost.waitingBytes};
}

Components parplan::toComponents(const Weights &weights) {
  return {weights.forward,    weights.inputGradient, weights.weightGradient,
          weights.meeting,    weights.ends,          weights.permanentBytes,
          weights.savedBytes, weights.waitingBytes};
}

CostVector parplan::toCost(const Components &components) {
  return {components[0], components[1], components[2], components[3],
          components[4], components[5], components[6], components[7]};
}

/// Sums of the same numbers in another order differ by less.
static constexpr double tolerance = 1e-12;

static bool isNoMore(double one, double other) {
  return one <= other + tolerance * std::abs(other);
}

// Without branches: this is much of what a reduction does.
static bool isNoMore(const Components &one, const Components &other) {
  bool isMore = false;
  for (int component = 0; component < componentCount; ++component)
    isMore |= one[component] > other[component] * (1 + tolerance);
  return !isMore;
}

/// True if both are more in some component.
static bool areMore(const Components &one, const Components &other,
                    const Components &cost) {
  bool areMore = false;
  for (int component = 0; component < componentCount; ++component)
    areMore |= std::min(one[component], other[component]) >
               cost[component] * (1 + tolerance);
  return areMore;
}

/// True if some mixture of two vectors is nowhere more than `cost`.
static bool isMixtureNoMore(const Components &one, const Components &other,
                            const Components &cost) {
  if (areMore(one, other, cost))
    return false;
  // share * one + (1 - share) * other <= cost.
  double least = 0, most = 1;
  for (int component = 0; component < componentCount; ++component) {
    double slope = one[component] - other[component];
    double room = cost[component] - other[component];
    if (slope == 0) {
      if (!isNoMore(other[component], cost[component]))
        return false;
      continue;
    }
    (slope > 0 ? most : least) = slope > 0 ? std::min(most, room / slope)
                                           : std::max(least, room / slope);
    if (least > most)
      return false;
  }
  return true;
}

/// One that is nowhere more than any other; the end: there is none.
static std::vector<Components>::const_iterator
findLeast(const std::vector<Components> &costs) {
  // Registers of every x86-64, which compilers compare at once.
  typedef double Register
      __attribute__((vector_size(16), aligned(8), may_alias));
  constexpr int count = sizeof(Components) / sizeof(Register);
  Components wanted = costs.front();
  auto *least = reinterpret_cast<Register *>(wanted.data());
  for (const Components &cost : costs) {
    const auto *other = reinterpret_cast<const Register *>(cost.data());
    for (int number = 0; number < count; ++number)
      least[number] =
          other[number] < least[number] ? other[number] : least[number];
  }
  return llvm::find(costs, wanted);
}

bool parplan::keepSupported(std::vector<Components> &costs, size_t most) {
  if (costs.size() < 2)
    return true;
  // Mostly one leaves no other.
  if (auto least = findLeast(costs); least != costs.end()) {
    costs.front() = Components(*least);
    costs.resize(1);
    return true;
  }
  // What is no more anywhere has no larger sum, whatever the units.
  Components scale{};
  for (const Components &cost : costs)
    for (int component = 0; component < componentCount; ++component)
      scale[component] = std::max(scale[component], cost[component]);
  for (double &most : scale)
    most = most > 0 ? 1 / most : 0;
  llvm::SmallVector<double, 64> sums;
  for (const Components &cost : costs)
    sums.push_back(getProduct(scale, cost));
  // The one with the least sum leaves few others.
  auto least = std::min_element(sums.begin(), sums.end()) - sums.begin();
  llvm::SmallVector<Components, 16> left = {costs[least]};
  llvm::SmallVector<std::pair<double, int>, 64> order;
  for (auto [number, cost] : llvm::enumerate(costs))
    if (!isNoMore(left.front(), cost))
      order.emplace_back(sums[number], static_cast<int>(number));
  llvm::sort(order);
  for (auto [sum, number] : order)
    if (llvm::none_of(left, [&](const Components &other) {
          return isNoMore(other, costs[number]);
        })) {
      if (left.size() == most)
        return false;
      left.push_back(costs[number]);
    }
  constexpr size_t mostCompared = 16;
  for (size_t place = left.size();
       left.size() > 2 && left.size() <= mostCompared && place-- > 0;) {
    bool isMixed = false;
    for (size_t one = 0; one < left.size() && !isMixed; ++one)
      for (size_t other = 0; other < one && !isMixed; ++other)
        isMixed = one != place && other != place &&
                  isMixtureNoMore(left[one], left[other], left[place]);
    if (isMixed)
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
  }
  costs.assign(left.begin(), left.end());
  return true;
}
