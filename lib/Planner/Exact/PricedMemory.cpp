//===- PricedMemory.cpp - Plans of one mesh that fit ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PricedMemory.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

/// Largest table where the exact elimination was too wide.
static constexpr int64_t relaxedTableLimit = int64_t(1) << 15;

using Clock = std::chrono::steady_clock;

std::optional<Minimum> parplan::minimise(const MeshProblem &meshProblem,
                                         const CostNetwork &network,
                                         const MeshProblem::Prices &prices,
                                         int64_t tableLimit) {
  CostNetwork::Reduction layouts =
      meshProblem.dropDominatedLayouts(network, prices);
  // Dropping choices and variables in turn: each makes room for the other.
  constexpr int passes = 3;
  std::vector<CostNetwork::Reduction> reductions;
  std::vector<CostNetwork::Condensation> condensations;
  const CostNetwork *left = &layouts.network;
  double constant = 0;
  reductions.reserve(passes);
  condensations.reserve(passes);
  for (int pass = 0; pass < passes; ++pass) {
    if (meshProblem.isStopped())
      return std::nullopt;
    reductions.push_back(left->reduce());
    condensations.push_back(reductions.back().network.condense());
    left = &condensations.back().network;
    constant += condensations.back().constant;
  }
  auto expand = [&](std::vector<int> choices) {
    for (int pass = passes; pass-- > 0;)
      choices = reductions[pass].expand(condensations[pass].expand(choices));
    return layouts.expand(choices);
  };
  if (meshProblem.isStopped())
    return std::nullopt;
  if (auto elimination = left->eliminate(tableLimit))
    return Minimum{expand(elimination->getBest()),
                   constant + elimination->getMinimum(), true};
  constexpr int rounds = 16;
  CostNetwork::Elimination relaxed =
      left->relax(std::min(tableLimit, relaxedTableLimit));
  std::vector<int> choices = relaxed.getBest();
  for (int round = 0; round < rounds; ++round) {
    if (meshProblem.isStopped())
      return std::nullopt;
    std::vector<int> before = choices;
    choices = left->improve(std::move(choices), /*rounds=*/1);
    if (choices == before)
      break;
  }
  return Minimum{expand(choices), constant + relaxed.getMinimum(), false};
}

std::optional<std::vector<int>>
parplan::findSmallerPlan(const MeshProblem &meshProblem, size_t opCount,
                         double fastestSeconds, const PlanRequest &request,
                         GetPeak getPeak, Clock::time_point deadline) {
  std::vector<double> weights(opCount, 1.0 / static_cast<double>(opCount));
  // Sums of so few bits are exact: equal blocks keep equal prices.
  auto round = [&] {
    constexpr int bits = 40;
    for (double &weight : weights)
      weight = std::ldexp(std::round(std::ldexp(weight, bits)), -bits);
  };
  round();
  std::optional<std::vector<int>> found;
  /// Returns the op with the peak, or nothing after a plan was found.
  auto tryPrice = [&](double exponent) -> std::optional<int> {
    MeshProblem::Prices prices = {std::exp2(exponent), weights};
    std::optional<Minimum> minimum =
        minimise(meshProblem, meshProblem.getNetwork(prices), prices,
                 request.tableLimit);
    if (!minimum || meshProblem.getNetwork().getCost(minimum->choices) ==
                        CostNetwork::forbidden)
      return 0;
    auto [bytes, op] = getPeak(minimum->choices);
    if (bytes > request.memoryLimitBytes)
      return op;
    found = std::move(minimum->choices);
    return std::nullopt;
  };
  constexpr int rounds = 16, steps = 12;
  double high = std::log2(std::max(fastestSeconds, 1e-9));
  for (int number = 1; number <= rounds && !found; ++number) {
    std::optional<int> peak = tryPrice(high);
    if (!peak)
      break;
    if (request.isOver(deadline))
      return found;
    for (double &weight : weights)
      weight *= number / (number + 1.0);
    weights[*peak] += 1 / (number + 1.0);
    round();
  }
  double low =
      high - std::log2(static_cast<double>(request.memoryLimitBytes) + 1) - 20;
  for (int step = 0; step < steps && found && !request.isOver(deadline);
       ++step) {
    double middle = (low + high) / 2;
    (tryPrice(middle) ? low : high) = middle;
  }
  return found;
}
