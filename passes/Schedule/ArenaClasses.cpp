//===- ArenaClasses.cpp - Packings by how long buffers live ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaClasses.h"

#include "passes/Schedule/ArenaSweep.h"

#include <algorithm>

namespace parplan {

namespace {

/// Where the first class of lives ends, in steps, and how much longer lives of
/// the next ones are. Passes may have ten steps or thousands.
struct LifeClasses {
  int64_t leastSteps, factor;
  Fit fit;
};
constexpr LifeClasses lifeClasses[] = {
    {1, 512, Fit::best},  {1, 16, Fit::best},  {4, 16, Fit::best},
    {8, 1024, Fit::best}, {8, 64, Fit::first}, {4, 32, Fit::best}};

/// One part in this many above the bound is enough, and so many buffers that
/// are placed in all.
constexpr int64_t goal = 200;
constexpr size_t mostPlaced = 800'000;

/// The longest first, each class in the order of starts.
std::vector<std::vector<uint32_t>>
classify(const std::vector<Lifetime> &lifetimes, const LifeClasses &by) {
  std::vector<std::vector<uint32_t>> classes(1);
  for (uint32_t index = 0; index != lifetimes.size(); ++index) {
    int64_t life = lifetimes[index].last - lifetimes[index].first;
    size_t number = 0;
    for (int64_t least = by.leastSteps; least <= life; least *= by.factor)
      ++number;
    classes.resize(std::max(classes.size(), number + 1));
    classes[number].push_back(index);
  }
  std::reverse(classes.begin(), classes.end());
  return classes;
}

} // namespace

Packing packByClasses(const std::vector<Lifetime> &lifetimes,
                      int64_t lowerBound) {
  Packing best{{}, INT64_MAX, lowerBound};
  ArenaSweep sweep(lifetimes);
  size_t placed = 0;
  for (const LifeClasses &classes : lifeClasses) {
    sweep.clear();
    for (const std::vector<uint32_t> &some : classify(lifetimes, classes))
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
