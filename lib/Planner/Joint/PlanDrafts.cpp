//===- PlanDrafts.cpp - Plans from sums over units ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanDrafts.h"

#include "parplan/Support/Never.h"

#include "StateChoice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

std::vector<PositionPart>
PlanDrafts::getParts(const ScheduleShape &shape,
                     const std::vector<int64_t> &counts,
                     const DraftLimits &limits) const {
  std::vector<PositionPart> parts;
  Weights weights;
  weights.meeting = weights.ends = 1 / static_cast<double>(shape.microBatches);
  int64_t before = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    if (!limits.waitingPrices.empty())
      weights.waitingBytes = limits.waitingPrices[position];
    parts.push_back({chain.getContent(shape, before, counts[position]),
                     std::vector<Weights>(shape.chunks, weights),
                     limits.moments[position]});
    before += counts[position];
  }
  return parts;
}

std::vector<Weights>
PlanDrafts::getUnitWeights(const std::vector<PositionPart> &parts,
                           const std::vector<double> &prices,
                           bool isBytesAlone) const {
  std::vector<Weights> weights(chain.getInstanceCount());
  for (size_t position = 0; position < parts.size(); ++position) {
    const PositionPart &part = parts[position];
    for (size_t chunk = 0; chunk < part.ranges.size(); ++chunk)
      for (int unit = part.ranges[chunk].first; unit < part.ranges[chunk].end;
           ++unit)
        weights[unit] = MemoryDual::addPrice(
            isBytesAlone ? MemoryDual::getNoWeights() : part.weights[chunk],
            isBytesAlone ? 1 : prices[position], part, chunk);
  }
  return weights;
}

/// Neighbours differ little: the price of one in a few is near enough.
static bool isPriced(size_t position, size_t count) {
  constexpr size_t mostPriced = 8;
  size_t step = (count + mostPriced - 1) / mostPriced;
  return position % step == 0 || position + 1 == count;
}

std::optional<std::vector<double>>
PlanDrafts::getPrices(const std::vector<PositionPart> &parts,
                      const std::vector<double> &budgets) {
  std::vector<double> prices;
  for (size_t position = 0; position < parts.size(); ++position) {
    if (!isPriced(position, parts.size())) {
      prices.push_back(prices.back());
      continue;
    }
    MemoryDual::Result result =
        dual.solve(parts[position], budgets[position], never);
    if (result.value == never)
      return std::nullopt;
    prices.push_back(result.price);
  }
  return prices;
}

std::optional<Draft> PlanDrafts::draft(const ScheduleShape &shape,
                                       const std::vector<int64_t> &counts,
                                       const DraftLimits &limits) {
  std::vector<PositionPart> parts = getParts(shape, counts, limits);
  auto prices = getPrices(parts, limits.budgets);
  if (!prices)
    return std::nullopt;
  std::optional<Draft> best;
  bool isLimited =
      !limits.waitingPrices.empty() ||
      llvm::any_of(*prices, [](double price) { return price > 0; });
  for (ChainStates &states : chooseStates(
           chain, oracles, getUnitWeights(parts, *prices),
           getUnitWeights(parts, *prices, /*isBytesAlone=*/true), isLimited)) {
    Draft candidate;
    candidate.counts = counts;
    candidate.states = std::move(states);
    if (complete(shape, limits, *prices, candidate) &&
        (!best || candidate.seconds < best->seconds))
      best = std::move(candidate);
  }
  return best;
}

std::optional<Draft> PlanDrafts::draftAgain(const ScheduleShape &shape,
                                            const Draft &draft,
                                            const DraftLimits &limits) {
  auto prices =
      getPrices(getParts(shape, draft.counts, limits), limits.budgets);
  if (!prices)
    return std::nullopt;
  Draft again;
  again.counts = draft.counts;
  again.states = draft.states;
  if (!complete(shape, limits, *prices, again))
    return std::nullopt;
  return again;
}

std::optional<StageMix> PlanDrafts::findMix(const PositionPart &part,
                                            const ChainStates &states,
                                            const DraftLimits &limits,
                                            size_t position) const {
  return mixer.find(part, states, limits.budgets[position], limits.countsWork);
}

bool PlanDrafts::complete(const ScheduleShape &shape, const DraftLimits &limits,
                          const std::vector<double> &prices, Draft &draft) {
  constexpr double shares[] = {1, 0.93, 0.8};
  const std::vector<double> &budgets = limits.budgets;
  std::vector<PositionPart> parts = getParts(shape, draft.counts, limits);
  for (size_t position = 0; position < parts.size(); ++position) {
    if (!isPriced(position, parts.size()))
      continue;
    std::vector<double> near;
    for (double share : shares)
      if (double price =
              dual.solve(parts[position], budgets[position] * share, never)
                  .price;
          price > 0 && !llvm::is_contained(near, price))
        near.push_back(price);
    mixer.collect(parts[position], draft.states, near);
  }
  draft.prices = prices;
  draft.limits = limits;
  for (size_t position = 0; position < parts.size(); ++position) {
    auto mix = findMix(parts[position], draft.states, limits, position);
    if (!mix) {
      auto price = mixer.collectFitting(parts[position], draft.states,
                                        budgets[position], limits.countsWork);
      if (price)
        mix = findMix(parts[position], draft.states, limits, position);
      if (!mix)
        return false;
      draft.prices[position] = std::max(draft.prices[position], *price);
    }
    draft.mixes.push_back(std::move(*mix));
  }
  draft.seconds = estimator.getSeconds(shape, draft);
  return true;
}

/// Moves blocks between neighbours as long as that helps.
void PlanDrafts::improve(const ScheduleShape &shape, const DraftLimits &limits,
                         Draft &draft) {
  // To find where weight gradients go takes about as long as four simulations.
  double simulations = splitsBackward(shape.kind) ? 5 : 1;
  double passes = simulations * 3.0 *
                  static_cast<double>(shape.getStageCount()) *
                  static_cast<double>(shape.microBatches);
  auto tries = static_cast<int64_t>(std::clamp(
      1e6 / passes, 4.0, 8.0 * static_cast<double>(shape.positions)));
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t border = 0; border + 1 < shape.positions; ++border)
      for (int64_t direction : {-1, 1}) {
        if (tries-- <= 0)
          return;
        Draft other = draft;
        other.counts[border] += direction;
        other.counts[border + 1] -= direction;
        if (other.counts[border] < 1 || other.counts[border + 1] < 1)
          continue;
        std::vector<PositionPart> parts = getParts(shape, other.counts, limits);
        bool fits = true;
        for (int64_t position : {border, border + 1}) {
          auto mix = findMix(parts[position], draft.states, limits, position);
          fits = mix.has_value();
          if (!fits)
            break;
          other.mixes[position] = std::move(*mix);
        }
        if (!fits)
          continue;
        other.seconds = estimator.getSeconds(shape, other);
        if (other.seconds < draft.seconds * (1 - 1e-9)) {
          draft = std::move(other);
          moved = true;
        }
      }
  }
}

std::optional<Draft> PlanDrafts::draft(const ScheduleShape &shape,
                                       const Cuts &cuts,
                                       const DraftLimits &limits) {
  std::optional<Draft> best;
  for (const std::vector<int64_t> &counts : cuts)
    if (auto candidate = draft(shape, counts, limits);
        candidate && (!best || candidate->seconds < best->seconds))
      best = std::move(candidate);
  return best;
}

JudgedPlan PlanDrafts::judge(const ScheduleShape &shape,
                             const Draft &draft) const {
  std::vector<BlockPlan> plans(chain.getInstanceCount());
  std::vector<PositionPart> parts = getParts(shape, draft.counts, draft.limits);
  for (size_t position = 0; position < parts.size(); ++position)
    for (size_t chunk = 0; chunk < parts[position].ranges.size(); ++chunk)
      for (int unit = parts[position].ranges[chunk].first;
           unit < parts[position].ranges[chunk].end; ++unit)
        plans[unit] =
            *draft.mixes[position]
                 .plans[chunk][unit - parts[position].ranges[chunk].first];
  plans = model.agree(std::move(plans), getUnitWeights(parts, draft.prices));
  return model.judge(plans, {shape, chain.getCuts(shape, draft.counts)},
                     memoryLimitBytes);
}
