//===- CostPrecision.cpp - Whether sums of costs are exact ----------------===//

#include "lib/BlockSolver/Network.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace parplan;
using namespace parplan::block;

namespace {

constexpr int fractionBits = 52;

/// The exponent of the largest power of two that divides a finite number; of 0,
/// a very large one.
int getExponent(double number) {
  uint64_t bits = std::bit_cast<uint64_t>(number);
  uint64_t fraction = bits & ((uint64_t{1} << fractionBits) - 1);
  int exponent = static_cast<int>(bits >> fractionBits) & 0x7ff;
  if (exponent > 0)
    fraction |= uint64_t{1} << fractionBits;
  else
    exponent = 1;
  if (fraction == 0)
    return 1023;
  return exponent - 1023 - fractionBits + std::countr_zero(fraction);
}

} // namespace

CostPrecision::CostPrecision(const Problem &problem) {
  int exponent = 1023;
  auto add = [&](const std::vector<double> &costs) {
    double most = 0;
    for (double cost : costs) {
      if (cost == forbidden)
        continue;
      most = std::max(most, std::abs(cost));
      exponent = std::min(exponent, getExponent(cost));
    }
    sum += most;
  };
  for (const Node &node : problem.nodes)
    add(node.costs);
  for (const Edge &edge : problem.edges)
    add(edge.costs);
  unit = std::ldexp(1.0, exponent);
  // An answer is evaluated, and each of its costs moved to where it counts.
  roundings =
      4 * static_cast<int64_t>(problem.nodes.size() + problem.edges.size());
}

double CostPrecision::getError() const {
  if (sum < 0x1p53 * unit)
    return 0;
  return 0x1p-53 * static_cast<double>(roundings) * sum;
}
