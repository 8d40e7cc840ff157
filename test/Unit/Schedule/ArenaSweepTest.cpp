//===- ArenaSweepTest.cpp - Packings in the order of time -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaSweep.h"

#include <gtest/gtest.h>

using namespace parplan;

using Offsets = std::vector<int64_t>;

TEST(ArenaSweep, aBufferTakesThePlaceOfOneThatHasEnded) {
  std::vector<Lifetime> lifetimes = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  ArenaSweep sweep(lifetimes);
  sweep.place({0, 1, 2}, Fit::first);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 64, 0}));
}

TEST(ArenaSweep, placesAroundWhatLivesAndWhatWillLiveSoon) {
  std::vector<Lifetime> lifetimes = {
      {64, 0, 9}, {64, 1, 4}, {128, 2, 6}, {64, 4, 9}};
  ArenaSweep sweep(lifetimes);
  sweep.place({0, 3}, Fit::first);
  ASSERT_EQ(sweep.getOffsets(), Offsets({0, -1, -1, 64}));
  // Both live when the last one begins to.
  sweep.place({1, 2}, Fit::first);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 128, 192, 64}));
}

TEST(ArenaSweep, whatEndsBeforeTheNextBeginsLiesInItsPlace) {
  std::vector<Lifetime> lifetimes = {{64, 0, 9}, {64, 1, 3}, {64, 4, 9}};
  ArenaSweep sweep(lifetimes);
  sweep.place({0, 2}, Fit::first);
  sweep.place({1}, Fit::first);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 64, 64}));
}

TEST(ArenaSweep, theBestFitIsTheNarrowestGap) {
  // Leaves 128 and 64 bytes between what stays.
  std::vector<Lifetime> lifetimes = {{128, 0, 1}, {64, 0, 9}, {64, 0, 1},
                                     {64, 0, 9},  {64, 2, 9}, {128, 3, 9}};
  ArenaSweep sweep(lifetimes);
  sweep.place({0, 1, 2, 3, 4, 5}, Fit::first);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 128, 192, 256, 0, 320}));
  sweep.clear();
  sweep.place({0, 1, 2, 3, 4, 5}, Fit::best);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 128, 192, 256, 192, 0}));
}

TEST(ArenaSweep, whatHasNoBytesIsInNobodysWay) {
  std::vector<Lifetime> lifetimes = {{0, 0, 9}, {64, 0, 9}, {0, 1, 2}};
  ArenaSweep sweep(lifetimes);
  sweep.place({0, 1, 2}, Fit::best);
  EXPECT_EQ(sweep.getOffsets(), Offsets({0, 0, 0}));
}
