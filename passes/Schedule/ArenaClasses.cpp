//===- ArenaClasses.cpp - Packings by how long buffers live ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaClasses.h"

#include "passes/Schedule/ArenaSweep.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace parplan {

namespace {

/// Where the first class of lives ends, in steps, how much longer lives of the
/// next ones are, and whether they are classes by bytes in turn. Passes may
/// have ten steps or thousands.
struct LifeClasses {
  int64_t leastSteps, factor;
  bool hasSizes;
  Fit fit;
};
/// Chosen greedily, each for what those before it left, from 140 on 43 programs
/// of the planner's benchmarks (docs/rationale/schedules.md).
constexpr LifeClasses lifeClasses[] = {
    {16, 512, true, Fit::first}, {1, 64, false, Fit::best},
    {2, 64, true, Fit::best},    {1, 512, true, Fit::best},
    {8, 32, true, Fit::first},   {8, 64, false, Fit::best},
    {4, 64, false, Fit::best},   {2, 16, false, Fit::best}};

/// One part in this many above the bound is enough, and so many buffers that
/// are placed in all.
constexpr int64_t goal = 200;
constexpr size_t mostPlaced = 800'000;

/// One of those of less than a 512th of the bound, then by powers of four.
int64_t getSizeClass(int64_t bytes, int64_t lowerBound) {
  int64_t number = 0;
  for (int64_t least = lowerBound / 512 + 1; least <= bytes; least *= 4)
    ++number;
  return number;
}

/// The longest first, of these the largest, each class in the order of starts.
std::vector<std::vector<uint32_t>>
classify(const std::vector<Lifetime> &lifetimes, int64_t lowerBound,
         const LifeClasses &by) {
  std::map<std::pair<int64_t, int64_t>, std::vector<uint32_t>, std::greater<>>
      classes;
  for (uint32_t index = 0; index != lifetimes.size(); ++index) {
    int64_t life = lifetimes[index].last - lifetimes[index].first;
    int64_t number = 0;
    for (int64_t least = by.leastSteps; least <= life; least *= by.factor)
      ++number;
    int64_t size =
        by.hasSizes ? getSizeClass(lifetimes[index].bytes, lowerBound) : 0;
    classes[{number, size}].push_back(index);
  }
  std::vector<std::vector<uint32_t>> ordered;
  for (auto &[key, some] : classes)
    ordered.push_back(std::move(some));
  return ordered;
}

} // namespace

Packing packByClasses(const std::vector<Lifetime> &lifetimes,
                      int64_t lowerBound) {
  Packing best{{}, INT64_MAX, lowerBound};
  ArenaSweep sweep(lifetimes);
  size_t placed = 0;
  for (const LifeClasses &classes : lifeClasses) {
    sweep.clear();
    for (const std::vector<uint32_t> &some :
         classify(lifetimes, lowerBound, classes))
      sweep.place(some, classes.fit);
    int64_t peak = 0;
    for (size_t index = 0; index != lifetimes.size(); ++index)
      peak = std::max(peak, sweep.getOffsets()[index] + lifetimes[index].bytes);
    if (peak < best.peak) {
      best.peak = peak;
      best.offsets = sweep.getOffsets();
    }
    placed += lifetimes.size();
    if (best.peak - lowerBound <= lowerBound / goal || placed >= mostPlaced)
      break;
  }
  return best;
}

} // namespace parplan
