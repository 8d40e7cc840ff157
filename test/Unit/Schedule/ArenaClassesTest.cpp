//===- ArenaClassesTest.cpp - Packings by lives and sizes -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaClasses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace parplan;

namespace {

/// In the order of their starts.
std::vector<Lifetime> makeLifetimes(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Lifetime> lifetimes;
  for (int64_t first = 0; first < count; ++first) {
    int64_t length = int64_t(1) << random() % 8;
    lifetimes.push_back(
        {64 << static_cast<int64_t>(random() % 8), first, first + length});
  }
  return lifetimes;
}

int64_t getBound(const std::vector<Lifetime> &lifetimes) {
  int64_t bound = 0;
  for (const Lifetime &at : lifetimes) {
    int64_t alive = 0;
    for (const Lifetime &life : lifetimes)
      if (life.first <= at.first && at.first <= life.last)
        alive += life.bytes;
    bound = std::max(bound, alive);
  }
  return bound;
}

TEST(ArenaClasses, WhatLivesTogetherSharesNoBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Lifetime> lifetimes = makeLifetimes(300, seed);
    Packing packing = packByClasses(lifetimes, getBound(lifetimes));
    int64_t highest = 0;
    for (size_t left = 0; left < lifetimes.size(); ++left) {
      int64_t from = packing.offsets[left], to = from + lifetimes[left].bytes;
      EXPECT_GE(from, 0);
      highest = std::max(highest, to);
      for (size_t right = 0; right < left; ++right) {
        bool meet = lifetimes[right].last >= lifetimes[left].first;
        bool overlap = from < packing.offsets[right] + lifetimes[right].bytes &&
                       packing.offsets[right] < to;
        EXPECT_FALSE(meet && overlap) << left << " and " << right;
      }
    }
    EXPECT_EQ(packing.peak, highest);
  }
}

TEST(ArenaClasses, EqualProgramsAreEquallyPacked) {
  std::vector<Lifetime> lifetimes = makeLifetimes(300, 1);
  int64_t bound = getBound(lifetimes);
  EXPECT_EQ(packByClasses(lifetimes, bound).offsets,
            packByClasses(lifetimes, bound).offsets);
}

TEST(ArenaClasses, LargeBuffersComeBeforeSmallOnesOfTheSameLives) {
  // By their starts the small ones would lie between the large ones, and leave
  // no gap for what comes later.
  std::vector<Lifetime> lifetimes = {{64, 0, 100}, {64 * 64, 1, 20},
                                     {64, 2, 100}, {64 * 64, 3, 20},
                                     {64, 4, 100}, {64 * 128, 30, 100}};
  EXPECT_EQ(packByClasses(lifetimes, getBound(lifetimes)).peak,
            getBound(lifetimes));
}

} // namespace
