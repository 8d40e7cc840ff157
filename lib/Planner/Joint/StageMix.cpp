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

/// Up to so many units every mix of candidates is looked at.
static constexpr int64_t fewUnits = 6;
static constexpr size_t mostOptions = 400;

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
  auto sum = [&](std::optional<double> price) -> std::optional<Candidate> {
    Candidate all;
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
  auto fits = [&](const Candidate &all) {
    return all.bytes + (countsWork ? all.workBytes : 0) <= freeBytes;
  };
  std::optional<Candidate> smallest = sum(std::nullopt), fastest = sum(0);
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

std::vector<StageMixer::Candidate>
StageMixer::getCandidates(const Group &group, const PositionPart &part) const {
  std::vector<Candidate> candidates;
  auto known = collected.find({group.type, group.in, group.out});
  if (known == collected.end())
    return candidates;
  for (const auto &[plan, workBytes] : known->second)
    candidates.push_back({plan, part.weights[group.chunk].get(plan->cost),
                          part.getBytes(group.chunk, plan->cost), workBytes});
  return candidates;
}

void StageMixer::prune(std::vector<Option> &options, size_t most) {
  llvm::stable_sort(options, [](const Option &first, const Option &second) {
    return std::pair(first.cost, first.bytes) <
           std::pair(second.cost, second.bytes);
  });
  std::vector<Option> kept;
  for (Option &option : options)
    if (kept.empty() || option.bytes < kept.back().bytes)
      kept.push_back(std::move(option));
  if (kept.size() > most) {
    // Evenly, the smallest one included.
    std::vector<Option> thinned;
    for (size_t index = 0; index < most; ++index)
      thinned.push_back(
          std::move(kept[index * (kept.size() - 1) / (most - 1)]));
    kept = std::move(thinned);
  }
  options = std::move(kept);
}

std::vector<StageMixer::Option>
StageMixer::combine(const std::vector<Option> &first,
                    const std::vector<Option> &second, size_t most) {
  std::vector<Option> sums;
  for (const Option &one : first)
    for (const Option &other : second) {
      Option sum{one.cost + other.cost, one.bytes + other.bytes, one.parts};
      sum.parts.insert(sum.parts.end(), other.parts.begin(), other.parts.end());
      sums.push_back(std::move(sum));
    }
  prune(sums, most);
  return sums;
}

std::vector<StageMixer::Option>
StageMixer::mix(std::vector<Candidate> candidates, int64_t count) {
  std::vector<Option> ones;
  for (const Candidate &candidate : candidates)
    ones.push_back({candidate.cost, candidate.bytes, {{candidate.plan, 1}}});
  prune(ones, mostOptions);
  if (count == 1 || ones.empty())
    return ones;
  std::vector<Option> options;
  if (count <= fewUnits) {
    options = ones;
    for (int64_t unit = 1; unit < count; ++unit)
      options = combine(options, ones, mostOptions);
    return options;
  }
  // Neighbours on the lower hull, and one of any other.
  std::vector<size_t> hull;
  for (size_t index = 0; index < ones.size(); ++index) {
    auto isAbove = [&](size_t middle) {
      const Option &low = ones[hull[hull.size() - 2]], &high = ones[index];
      const Option &between = ones[middle];
      return (between.cost - low.cost) * (low.bytes - high.bytes) >=
             (high.cost - low.cost) * (low.bytes - between.bytes);
    };
    while (hull.size() >= 2 && isAbove(hull.back()))
      hull.pop_back();
    hull.push_back(index);
  }
  auto add = [&](size_t first, int64_t firstCount, size_t second,
                 int64_t secondCount, size_t odd, int64_t oddCount) {
    Option option;
    for (auto [index, times] :
         {std::pair(first, firstCount), std::pair(second, secondCount),
          std::pair(odd, oddCount)})
      if (times > 0) {
        option.cost += static_cast<double>(times) * ones[index].cost;
        option.bytes += static_cast<double>(times) * ones[index].bytes;
        option.parts.emplace_back(ones[index].parts.front().first, times);
      }
    options.push_back(std::move(option));
  };
  if (hull.size() == 1)
    add(hull[0], count, 0, 0, 0, 0);
  for (size_t place = 0; place + 1 < hull.size(); ++place)
    for (int64_t first = 0; first <= count; ++first) {
      add(hull[place], first, hull[place + 1], count - first, 0, 0);
      for (size_t odd = 0; first < count && odd < ones.size(); ++odd)
        if (odd != hull[place] && odd != hull[place + 1])
          add(hull[place], first, hull[place + 1], count - first - 1, odd, 1);
    }
  prune(options, mostOptions);
  return options;
}

namespace {

/// An option of each of some groups.
struct Sum {
  double cost = 0, bytes = 0;
  std::vector<size_t> chosen;

  template <typename Option>
  Sum add(const Option &option, size_t number) const {
    Sum sum{cost + option.cost, bytes + option.bytes, chosen};
    sum.chosen.push_back(number);
    return sum;
  }
};

} // namespace

/// The sums with an option of one group more that cost less than all that are
/// no larger, dearer ones behind; evenly thinned to `most`. Of both lists what
/// is dearer is smaller.
template <typename Option>
static std::vector<Sum> addOptions(llvm::ArrayRef<Sum> sums,
                                   llvm::ArrayRef<Option> options,
                                   size_t most) {
  struct Entry {
    double cost, bytes;
    size_t sum, option;
  };
  // A heap of the next entry of each sum, the cheapest on top: what is no
  // smaller than an entry before it is passed over.
  std::vector<Entry> next, kept;
  auto isBehind = [](const Entry &first, const Entry &second) {
    return std::tie(first.cost, first.bytes, first.sum, first.option) >
           std::tie(second.cost, second.bytes, second.sum, second.option);
  };
  auto push = [&](size_t number, size_t from) {
    const Sum &sum = sums[number];
    auto option = std::partition_point(
        options.begin() + from, options.end(), [&](const Option &option) {
          return !kept.empty() && sum.bytes + option.bytes >= kept.back().bytes;
        });
    if (option == options.end())
      return;
    next.push_back({sum.cost + option->cost, sum.bytes + option->bytes, number,
                    static_cast<size_t>(option - options.begin())});
    std::push_heap(next.begin(), next.end(), isBehind);
  };
  for (size_t number = 0; number < sums.size(); ++number)
    push(number, 0);
  while (!next.empty()) {
    std::pop_heap(next.begin(), next.end(), isBehind);
    Entry entry = next.back();
    next.pop_back();
    if (kept.empty() || entry.bytes < kept.back().bytes)
      kept.push_back(entry);
    push(entry.sum, entry.option + 1);
  }
  std::vector<Sum> made;
  size_t count = std::min(kept.size(), most);
  for (size_t index = 0; index < count; ++index) {
    bool isThinned = kept.size() > most;
    const Entry &entry =
        kept[isThinned ? index * (kept.size() - 1) / (most - 1) : index];
    made.push_back(sums[entry.sum].add(options[entry.option], entry.option));
  }
  return made;
}

/// The cheapest of the sums with an option that is small enough. Of both lists
/// what is dearer is smaller.
template <typename Option>
static std::optional<Sum> findCheapest(llvm::ArrayRef<Sum> sums,
                                       llvm::ArrayRef<Option> options,
                                       double mostBytes) {
  std::optional<std::pair<size_t, size_t>> best;
  auto getKey = [&](size_t sum, size_t option) {
    return std::pair(sums[sum].cost + options[option].cost,
                     sums[sum].bytes + options[option].bytes);
  };
  for (size_t sum = 0; sum < sums.size(); ++sum) {
    auto fits = llvm::partition_point(options, [&](const Option &option) {
      return sums[sum].bytes + option.bytes > mostBytes;
    });
    if (fits == options.end())
      continue;
    auto option = static_cast<size_t>(fits - options.begin());
    if (!best || getKey(sum, option) < getKey(best->first, best->second))
      best = {sum, option};
  }
  if (!best)
    return std::nullopt;
  return sums[best->first].add(options[best->second], best->second);
}

std::optional<StageMixer::Within>
StageMixer::findWithin(const PositionPart &part,
                       const std::vector<Group> &groups,
                       const Candidates &candidates, double freeBytes) {
  std::vector<std::vector<Option>> mixes;
  for (auto [group, ofGroup] : llvm::zip_equal(groups, candidates)) {
    mixes.push_back(mix(ofGroup, static_cast<int64_t>(group.units.size())));
    if (mixes.back().empty())
      return std::nullopt;
  }
  // Which option of each group a sum has.
  std::vector<Sum> sums = {{}};
  for (const std::vector<Option> &options : llvm::ArrayRef(mixes).drop_back())
    sums = addOptions<Option>(sums, options, mostOptions);
  auto best = findCheapest<Option>(sums, mixes.back(), freeBytes);
  if (!best)
    return std::nullopt;
  Within result;
  result.mix.weighted = best->cost;
  result.mix.bytes = best->bytes;
  // Of each unit, with the number of its group.
  struct Chosen {
    const Candidate *candidate = nullptr;
    size_t group = 0;
  };
  std::vector<std::vector<Chosen>> chosen;
  for (const UnitRange &range : part.ranges)
    chosen.emplace_back(range.end - range.first);
  for (size_t index = 0; index < groups.size(); ++index) {
    const Group &group = groups[index];
    std::vector<const Candidate *> ofGroup;
    for (auto [plan, count] : mixes[index][best->chosen[index]].parts) {
      const BlockPlan *wanted = plan;
      const Candidate &candidate =
          *llvm::find_if(candidates[index], [&](const Candidate &of) {
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
    std::vector<Candidate> &ofGroup =
        candidates.emplace_back(getCandidates(group, part));
    if (!countsWork)
      for (Candidate &candidate : ofGroup)
        candidate.workBytes = 0;
    double least = never;
    for (const Candidate &candidate : ofGroup)
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
    std::vector<Candidate> &ofMost = candidates[found->group];
    bool isEnough = found->mix.bytes + work <= freeBytes;
    offer(std::move(found));
    if (isEnough)
      break;
    offer(findWithin(part, groups, candidates, freeBytes - work));
    llvm::erase_if(ofMost, [&](const Candidate &candidate) {
      return candidate.workBytes >= mostWork;
    });
  }
  return best;
}
