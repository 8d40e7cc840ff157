//===- UnitMixes.cpp - Plans of equal units, and sums of them -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitMixes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace parplan;

/// Up to so many units every mix of candidates is looked at.
static constexpr int64_t fewUnits = 6;
static constexpr size_t mostOptions = 400;

static void prune(std::vector<UnitMix> &options, size_t most) {
  llvm::stable_sort(options, [](const UnitMix &first, const UnitMix &second) {
    return std::pair(first.cost, first.bytes) <
           std::pair(second.cost, second.bytes);
  });
  std::vector<UnitMix> kept;
  for (UnitMix &option : options)
    if (kept.empty() || option.bytes < kept.back().bytes)
      kept.push_back(std::move(option));
  if (kept.size() > most) {
    // Evenly, the smallest one included.
    std::vector<UnitMix> thinned;
    for (size_t index = 0; index < most; ++index)
      thinned.push_back(
          std::move(kept[index * (kept.size() - 1) / (most - 1)]));
    kept = std::move(thinned);
  }
  options = std::move(kept);
}

static std::vector<UnitMix> combine(const std::vector<UnitMix> &first,
                                    const std::vector<UnitMix> &second,
                                    size_t most) {
  std::vector<UnitMix> sums;
  for (const UnitMix &one : first)
    for (const UnitMix &other : second) {
      UnitMix sum{one.cost + other.cost, one.bytes + other.bytes, one.parts};
      sum.parts.insert(sum.parts.end(), other.parts.begin(), other.parts.end());
      sums.push_back(std::move(sum));
    }
  prune(sums, most);
  return sums;
}

std::vector<UnitMix> parplan::mixUnits(llvm::ArrayRef<UnitCandidate> candidates,
                                       int64_t count) {
  std::vector<UnitMix> ones;
  for (const UnitCandidate &candidate : candidates)
    ones.push_back({candidate.cost, candidate.bytes, {{candidate.plan, 1}}});
  prune(ones, mostOptions);
  if (count == 1 || ones.empty())
    return ones;
  std::vector<UnitMix> options;
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
      const UnitMix &low = ones[hull[hull.size() - 2]], &high = ones[index];
      const UnitMix &between = ones[middle];
      return (between.cost - low.cost) * (low.bytes - high.bytes) >=
             (high.cost - low.cost) * (low.bytes - between.bytes);
    };
    while (hull.size() >= 2 && isAbove(hull.back()))
      hull.pop_back();
    hull.push_back(index);
  }
  auto add = [&](size_t first, int64_t firstCount, size_t second,
                 int64_t secondCount, size_t odd, int64_t oddCount) {
    UnitMix option;
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

/// With an option of one group more.
static MixSum add(const MixSum &sum, const UnitMix &option, size_t number) {
  MixSum more{sum.cost + option.cost, sum.bytes + option.bytes, sum.chosen};
  more.chosen.push_back(number);
  return more;
}

/// The sums with an option of one group more that cost less than all that are
/// no larger, dearer ones behind; evenly thinned to `most`. Of both lists what
/// is dearer is smaller.
static std::vector<MixSum> addOptions(llvm::ArrayRef<MixSum> sums,
                                      llvm::ArrayRef<UnitMix> options,
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
    const MixSum &sum = sums[number];
    auto option = std::partition_point(
        options.begin() + from, options.end(), [&](const UnitMix &option) {
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
  std::vector<MixSum> made;
  size_t count = std::min(kept.size(), most);
  for (size_t index = 0; index < count; ++index) {
    bool isThinned = kept.size() > most;
    const Entry &entry =
        kept[isThinned ? index * (kept.size() - 1) / (most - 1) : index];
    made.push_back(add(sums[entry.sum], options[entry.option], entry.option));
  }
  return made;
}

/// The cheapest of the sums with an option that is small enough. Of both lists
/// what is dearer is smaller.
static std::optional<MixSum> findLast(llvm::ArrayRef<MixSum> sums,
                                      llvm::ArrayRef<UnitMix> options,
                                      double mostBytes) {
  std::optional<std::pair<size_t, size_t>> best;
  auto getKey = [&](size_t sum, size_t option) {
    return std::pair(sums[sum].cost + options[option].cost,
                     sums[sum].bytes + options[option].bytes);
  };
  for (size_t sum = 0; sum < sums.size(); ++sum) {
    auto fits = llvm::partition_point(options, [&](const UnitMix &option) {
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
  return add(sums[best->first], options[best->second], best->second);
}

std::optional<MixSum>
parplan::findCheapest(llvm::ArrayRef<std::vector<UnitMix>> groups,
                      double mostBytes) {
  std::vector<MixSum> sums = {{}};
  for (const std::vector<UnitMix> &options : groups.drop_back())
    sums = addOptions(sums, options, mostOptions);
  return findLast(sums, groups.back(), mostBytes);
}
