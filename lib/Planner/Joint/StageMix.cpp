//===- StageMix.cpp - The plans of the units of a position ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageMix.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace parplan;

std::vector<StageMixer::Group>
StageMixer::getGroups(const PositionPart &part,
                      const ChainStates &states) const {
  std::vector<Group> groups;
  for (size_t chunk = 0; chunk < part.ranges.size(); ++chunk)
    for (int unit = part.ranges[chunk].first; unit < part.ranges[chunk].end;
         ++unit) {
      auto group = llvm::find_if(groups, [&](const Group &known) {
        return known.type == chain.getType(unit) && known.chunk == chunk &&
               known.in == states.in[unit] && known.out == states.out[unit];
      });
      if (group == groups.end()) {
        groups.push_back({chain.getType(unit),
                          states.in[unit],
                          states.out[unit],
                          chunk,
                          {}});
        group = std::prev(groups.end());
      }
      group->units.push_back(unit);
    }
  return groups;
}

std::optional<StageMixer::Collected>
StageMixer::collect(const Group &group, const Weights &weights, ModeSet modes) {
  const BlockPlan *plan =
      oracles.getPlan(group.type, weights, modes, group.in, group.out);
  if (!plan)
    return std::nullopt;
  auto &known = collected[{group.type, group.in, group.out}];
  auto found = llvm::find_if(known, [&](const Collected &other) {
    return other.plan->cost == plan->cost;
  });
  if (found != known.end() && *found->plan == *plan)
    return *found;
  Collected made = {plan, oracles.getWorkBytes(group.type, *plan)};
  if (found == known.end())
    known.push_back(made);
  else if (made.workBytes < found->workBytes)
    *found = made;
  return made;
}

void StageMixer::collect(const PositionPart &part, const ChainStates &states,
                         const std::vector<double> &prices) {
  for (const Group &group : getGroups(part, states)) {
    auto ask = [&](const Weights &priced, ModeSet modes) {
      collect(group, priced, modes);
    };
    const Weights &weights = part.weights[group.chunk];
    auto addPrice = [&](const Weights &unpriced, double price) {
      return MemoryDual::addPrice(unpriced, price, part, group.chunk);
    };
    ask(weights, dual.getModes(part, /*price=*/0));
    for (double price : prices)
      ask(addPrice(weights, price), allModes);
    if (prices.empty())
      continue;
    for (int mode = 0; mode < oracles.getModeCount(group.type); ++mode) {
      ModeSet alone = ModeSet(1) << mode;
      ask(addPrice(weights, prices.front()), alone);
      ask(addPrice(MemoryDual::getNoWeights(), 1), alone);
    }
  }
}

std::optional<double> StageMixer::collectFitting(const PositionPart &part,
                                                 const ChainStates &states,
                                                 double freeBytes,
                                                 bool countsWork) {
  constexpr int mostPrices = 4;
  std::vector<Group> groups = getGroups(part, states);
  // All at a price, or the smallest; nullopt: there are none.
  auto sum = [&](std::optional<double> price) -> std::optional<UnitCandidate> {
    UnitCandidate all;
    for (const Group &group : groups) {
      Weights weights =
          price ? part.weights[group.chunk] : MemoryDual::getNoWeights();
      auto of = collect(
          group,
          MemoryDual::addPrice(weights, price.value_or(1), part, group.chunk),
          allModes);
      if (!of)
        return std::nullopt;
      const CostVector &cost = of->plan->cost;
      auto count = static_cast<double>(group.units.size());
      all.cost += count * part.weights[group.chunk].get(cost);
      all.bytes += count * part.getBytes(group.chunk, cost);
      all.workBytes = std::max(all.workBytes, of->workBytes);
    }
    return all;
  };
  // What passes need is no more than that of the unit that needs most.
  auto fits = [&](const UnitCandidate &all) {
    return all.bytes + (countsWork ? all.workBytes : 0) <= freeBytes;
  };
  std::optional<UnitCandidate> smallest = sum(std::nullopt), fastest = sum(0);
  if (!smallest || !fastest || smallest->bytes > freeBytes)
    return std::nullopt;
  // The best price is between those of the nearest on both sides.
  double best = 0;
  for (int round = 0; round < mostPrices && !fits(*fastest); ++round) {
    if (smallest->bytes >= fastest->bytes || smallest->cost <= fastest->cost)
      break;
    double price =
        (smallest->cost - fastest->cost) / (fastest->bytes - smallest->bytes);
    auto between = sum(price);
    if (!between || between->bytes >= fastest->bytes ||
        between->bytes <= smallest->bytes)
      break;
    best = price;
    (fits(*between) ? smallest : fastest) = between;
  }
  return best;
}

std::vector<UnitCandidate>
StageMixer::getCandidates(const Group &group, const PositionPart &part) const {
  std::vector<UnitCandidate> candidates;
  auto known = collected.find({group.type, group.in, group.out});
  if (known == collected.end())
    return candidates;
  for (const auto &[plan, workBytes] : known->second)
    candidates.push_back({plan, part.weights[group.chunk].get(plan->cost),
                          part.getBytes(group.chunk, plan->cost), workBytes});
  return candidates;
}

std::optional<StageMixer::Within>
StageMixer::findWithin(const PositionPart &part,
                       const std::vector<Group> &groups,
                       const Candidates &candidates, double freeBytes) {
  std::vector<std::vector<UnitMix>> mixes;
  for (auto [group, ofGroup] : llvm::zip_equal(groups, candidates)) {
    mixes.push_back(
        mixUnits(ofGroup, static_cast<int64_t>(group.units.size())));
    if (mixes.back().empty())
      return std::nullopt;
  }
  std::optional<MixSum> best = findCheapest(mixes, freeBytes);
  if (!best)
    return std::nullopt;
  Within result;
  result.mix.weighted = best->cost;
  result.mix.bytes = best->bytes;
  // Of each unit, with the number of its group.
  struct Chosen {
    const UnitCandidate *candidate = nullptr;
    size_t group = 0;
  };
  std::vector<std::vector<Chosen>> chosen;
  for (const UnitRange &range : part.ranges)
    chosen.emplace_back(range.end - range.first);
  for (size_t index = 0; index < groups.size(); ++index) {
    const Group &group = groups[index];
    std::vector<const UnitCandidate *> ofGroup;
    for (auto [plan, count] : mixes[index][best->chosen[index]].parts) {
      const BlockPlan *wanted = plan;
      const UnitCandidate &candidate =
          *llvm::find_if(candidates[index], [&](const UnitCandidate &of) {
            return of.plan == wanted;
          });
      ofGroup.insert(ofGroup.end(), count, &candidate);
    }
    // Backward passes come to the last ones first.
    llvm::stable_sort(ofGroup, [](const auto *one, const auto *other) {
      return one->workBytes > other->workBytes;
    });
    for (auto [unit, candidate] : llvm::zip_equal(group.units, ofGroup))
      chosen[group.chunk][unit - part.ranges[group.chunk].first] = {candidate,
                                                                    index};
  }
  for (const std::vector<Chosen> &ofChunk : chosen) {
    std::vector<const BlockPlan *> &plans = result.mix.plans.emplace_back();
    for (const Chosen &of : ofChunk)
      plans.push_back(of.candidate->plan);
    double behind = 0;
    for (const auto &[candidate, group] : llvm::reverse(ofChunk)) {
      double work = candidate->workBytes - behind;
      if (work > result.mix.workBytes) {
        result.mix.workBytes = work;
        result.mostWork = candidate->workBytes;
        result.group = group;
      }
      behind += candidate->plan->cost.savedBytes;
    }
  }
  return result;
}

std::optional<StageMix> StageMixer::find(const PositionPart &part,
                                         const ChainStates &states,
                                         double freeBytes,
                                         bool countsWork) const {
  constexpr int mostRounds = 4;
  std::vector<Group> groups = getGroups(part, states);
  Candidates candidates;
  // What a mix needs during passes at least: that of its last unit.
  double leastWork = 0;
  for (const Group &group : groups) {
    std::vector<UnitCandidate> &ofGroup =
        candidates.emplace_back(getCandidates(group, part));
    if (!countsWork)
      for (UnitCandidate &candidate : ofGroup)
        candidate.workBytes = 0;
    double least = never;
    for (const UnitCandidate &candidate : ofGroup)
      least = std::min(least, candidate.workBytes);
    if (group.units.back() + 1 == part.ranges[group.chunk].end)
      leastWork = std::max(leastWork, least);
  }
  // What exceeds the memory by more than that has less without it, or with
  // plans that need less.
  std::optional<StageMix> best;
  auto offer = [&](std::optional<Within> found) {
    if (found && found->mix.bytes + found->mix.workBytes <= freeBytes &&
        (!best || found->mix.weighted < best->weighted))
      best = std::move(found->mix);
  };
  for (int round = 0; round < mostRounds; ++round) {
    auto found = findWithin(part, groups, candidates, freeBytes - leastWork);
    if (!found || (best && found->mix.weighted >= best->weighted))
      break;
    double work = found->mix.workBytes, mostWork = found->mostWork;
    std::vector<UnitCandidate> &ofMost = candidates[found->group];
    bool isEnough = found->mix.bytes + work <= freeBytes;
    offer(std::move(found));
    if (isEnough)
      break;
    offer(findWithin(part, groups, candidates, freeBytes - work));
    llvm::erase_if(ofMost, [&](const UnitCandidate &candidate) {
      return candidate.workBytes >= mostWork;
    });
  }
  return best;
}
