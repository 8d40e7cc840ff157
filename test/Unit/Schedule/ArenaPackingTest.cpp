//===- ArenaPackingTest.cpp - Offsets of buffers with known lifetimes -----===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaPacking.h"
#include "passes/Schedule/ArenaRepair.h"
#include "passes/Schedule/ArenaSearch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace parplan;

namespace {

/// Every placement is aligned, and buffers alive together share no byte.
void expectLegal(const std::vector<Lifetime> &lifetimes, const Packing &packing,
                 int64_t alignment) {
  ASSERT_EQ(packing.offsets.size(), lifetimes.size());
  int64_t highest = 0;
  for (size_t left = 0; left < lifetimes.size(); ++left) {
    int64_t offset = packing.offsets[left];
    int64_t end = offset + lifetimes[left].bytes;
    EXPECT_GE(offset, 0);
    EXPECT_EQ(offset % alignment, 0);
    highest = std::max(highest, end);
    for (size_t right = 0; right < left; ++right) {
      bool meet = lifetimes[left].first <= lifetimes[right].last &&
                  lifetimes[right].first <= lifetimes[left].last;
      bool overlap = offset < packing.offsets[right] + lifetimes[right].bytes &&
                     packing.offsets[right] < end;
      EXPECT_FALSE(meet && overlap) << left << " and " << right;
    }
  }
  EXPECT_EQ(packing.peak, highest);
  EXPECT_LE(packing.lowerBound, packing.peak);
}

TEST(ArenaPacking, NothingNeedsNothing) {
  Packing packing = packArena({}, 64);
  EXPECT_EQ(packing.peak, 0);
  EXPECT_EQ(packing.lowerBound, 0);
}

TEST(ArenaPacking, ThePeakIsNotRoundedUp) {
  Packing packing = packArena({{100, 0, 1}}, 64);
  EXPECT_EQ(packing.peak, 100);
}

TEST(ArenaPacking, AChainAlternatesBetweenTwoPlaces) {
  std::vector<Lifetime> chain;
  for (int64_t step = 0; step < 10; ++step)
    chain.push_back({256, step, step + 1});
  Packing packing = packArena(chain, 64);
  expectLegal(chain, packing, 64);
  EXPECT_EQ(packing.peak, 512);
}

TEST(ArenaPacking, BuffersThatOnlyTouchInTimeAreAliveTogether) {
  // A statement reads the first and writes the second.
  std::vector<Lifetime> pair = {{64, 0, 3}, {64, 3, 5}};
  EXPECT_EQ(packArena(pair, 64).peak, 128);
}

TEST(ArenaPacking, ARestBelowTheAlignmentIsNotRepaired) {
  // The bound is 66: the topmost buffer need not be followed by another.
  std::vector<Lifetime> three = {{1, 0, 1}, {65, 1, 2}, {62, 2, 3}};
  Packing packing = packArena(three, 64);
  expectLegal(three, packing, 64);
  EXPECT_LT(packing.peak, packing.lowerBound + 64);
}

TEST(ArenaPacking, SameInputSameOffsets) {
  std::vector<Lifetime> equal(20, Lifetime{128, 0, 4});
  EXPECT_EQ(packArena(equal, 64).offsets, packArena(equal, 64).offsets);
}

/// Saved values of layers, as a forward and backward pass leaves them, with
/// workspaces: the case in which no single order is safe.
std::vector<Lifetime> makeTimeline(int layers, std::mt19937 &random) {
  std::vector<Lifetime> lifetimes;
  auto bytes = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int layer = 0; layer < layers; ++layer) {
    lifetimes.push_back({bytes(1000, 9000), layer, 2 * layers - layer});
    lifetimes.push_back({bytes(100, 20000), layer, layer});
    lifetimes.push_back({bytes(1000, 9000), layer, layer + 1});
    lifetimes.push_back(
        {bytes(1000, 9000), 2 * layers - layer, 2 * layers - layer + 1});
  }
  return lifetimes;
}

TEST(ArenaPacking, RandomTimelinesComeCloseToTheBound) {
  std::mt19937 random(11);
  double worst = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Lifetime> lifetimes = makeTimeline(2 + round % 30, random);
    Packing packing = packArena(lifetimes, 64);
    expectLegal(lifetimes, packing, 64);
    worst = std::max(worst, static_cast<double>(packing.peak) /
                                    static_cast<double>(packing.lowerBound) -
                                1);
  }
  EXPECT_LT(worst, 0.06);
  RecordProperty("worstGapPercent", static_cast<int>(worst * 1000) / 10);
}

TEST(ArenaPacking, RandomLifetimesAreLegal) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    int count = 1 + round % 40;
    for (int index = 0; index < count; ++index) {
      int64_t first = static_cast<int64_t>(random() % 20);
      lifetimes.push_back({static_cast<int64_t>(random() % 5000), first,
                           first + static_cast<int64_t>(random() % 10)});
    }
    expectLegal(lifetimes, packArena(lifetimes, 64), 64);
  }
}

/// Lifetimes that fill a rectangle of bytes and moments from end to end: it is
/// cut in two again and again.
class CutRectangle {
public:
  explicit CutRectangle(unsigned seed) : random(seed) {}

  std::vector<Lifetime> cut(int64_t bytes, int64_t moments, int pieces) {
    add(0, moments, bytes / 64, pieces);
    std::stable_sort(lifetimes.begin(), lifetimes.end(),
                     [](const Lifetime &left, const Lifetime &right) {
                       return left.first < right.first;
                     });
    return lifetimes;
  }

private:
  void add(int64_t from, int64_t to, int64_t lines, int pieces) {
    if (pieces > 1 && lines > 1 && random() % 2 == 0) {
      int64_t low = 1 + static_cast<int64_t>(random() % (lines - 1));
      add(from, to, low, pieces / 2);
      return add(from, to, lines - low, pieces - pieces / 2);
    }
    if (pieces > 1 && to - from > 1) {
      int64_t middle =
          from + 1 + static_cast<int64_t>(random() % (to - from - 1));
      add(from, middle, lines, pieces / 2);
      return add(middle, to, lines, pieces - pieces / 2);
    }
    lifetimes.push_back({lines * 64, from, to - 1});
  }

  std::minstd_rand random;
  std::vector<Lifetime> lifetimes;
};

TEST(ArenaPacking, TheSearchFillsARectangleThatWasCut) {
  constexpr int64_t bytes = 64 * 40;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<Lifetime> lifetimes = CutRectangle(seed).cut(bytes, 30, 24);
    ArenaSearch search(lifetimes);
    EXPECT_EQ(search.getBound(), bytes);
    ASSERT_TRUE(search.find(bytes, ArenaSearch::Preference::longest, 100'000))
        << seed;
    expectLegal(lifetimes, {search.getOffsets(), bytes, bytes}, 64);
  }
}

TEST(ArenaPacking, TheSearchEndsBelowTheBound) {
  ArenaSearch search({{128, 0, 3}, {64, 2, 5}});
  EXPECT_EQ(search.getBound(), 192);
  EXPECT_FALSE(search.find(191, ArenaSearch::Preference::largest, 1000));
}

TEST(ArenaPacking, CutRectanglesComeCloseToTheBound) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<Lifetime> lifetimes =
        CutRectangle(seed).cut(64 * 1000, 200, 150);
    Packing packing = packArena(lifetimes, 64);
    expectLegal(lifetimes, packing, 64);
    EXPECT_LE(packing.peak, packing.lowerBound + packing.lowerBound / 40)
        << seed;
  }
}

/// One buffer above the other, in the order given.
std::vector<int64_t> stack(const std::vector<Lifetime> &lifetimes) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const Lifetime &life : lifetimes) {
    offsets.push_back(end);
    end += life.bytes;
  }
  return offsets;
}

TEST(ArenaPacking, RepairPushesAStackBelowACeiling) {
  constexpr int64_t bytes = 64 * 200, ceiling = bytes + bytes / 40;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::vector<Lifetime> lifetimes = CutRectangle(seed).cut(bytes, 40, 30);
    ArenaRepair repair(lifetimes);
    for (unsigned attempt : {0, 1}) {
      std::vector<int64_t> offsets = stack(lifetimes);
      ASSERT_TRUE(repair.find(ceiling, offsets, 10'000'000, attempt)) << seed;
      int64_t peak = 0;
      for (size_t index = 0; index != offsets.size(); ++index)
        peak = std::max(peak, offsets[index] + lifetimes[index].bytes);
      EXPECT_LE(peak, ceiling);
      expectLegal(lifetimes, {offsets, peak, bytes}, 64);
    }
  }
}

TEST(ArenaPacking, RepairLeavesWhatItCannotPushDown) {
  std::vector<Lifetime> pair = {{128, 0, 3}, {64, 2, 5}, {0, 1, 4}};
  ArenaRepair repair(pair);
  std::vector<int64_t> offsets = {64, 0, 0};
  EXPECT_FALSE(repair.find(128, offsets, 10'000, 0));
  EXPECT_EQ(offsets, (std::vector<int64_t>{64, 0, 0}));
  EXPECT_GE(repair.getLooks(), 10'000);
  EXPECT_TRUE(repair.find(192, offsets, 10'000, 0));
}

TEST(ArenaPacking, AnAttemptAtRepairIsAlwaysTheSame) {
  constexpr int64_t bytes = 64 * 200;
  std::vector<Lifetime> lifetimes = CutRectangle(3).cut(bytes, 40, 30);
  ArenaRepair repair(lifetimes);
  std::vector<int64_t> first = stack(lifetimes), second = first;
  ASSERT_TRUE(repair.find(bytes + bytes / 40, first, 10'000'000, 1));
  ASSERT_TRUE(repair.find(bytes + bytes / 40, second, 10'000'000, 1));
  EXPECT_EQ(first, second);
}

/// The lowest peak of all: in some order each buffer is as low as what comes
/// before it allows.
int64_t findLowestPeak(const std::vector<Lifetime> &lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  int64_t lowest = INT64_MAX;
  do {
    std::vector<int64_t> ends(lifetimes.size());
    int64_t peak = 0;
    for (size_t place = 0; place != order.size(); ++place) {
      const Lifetime &life = lifetimes[order[place]];
      int64_t offset = 0;
      for (size_t before = 0; before != place; ++before) {
        const Lifetime &other = lifetimes[order[before]];
        if (other.first <= life.last && life.first <= other.last)
          offset = std::max(offset, ends[order[before]]);
      }
      ends[order[place]] = offset + life.bytes;
      peak = std::max(peak, ends[order[place]]);
    }
    lowest = std::min(lowest, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

TEST(ArenaPacking, SmallArenasAreAsLowAsCanBe) {
  std::mt19937 random(7);
  for (int round = 0; round != 200; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int index = 0; index != 7; ++index) {
      auto first = static_cast<int64_t>(random() % 6);
      lifetimes.push_back({static_cast<int64_t>(random() % 9 + 1) * 64, first,
                           first + static_cast<int64_t>(random() % 4)});
    }
    Packing packing = packArena(lifetimes, 64);
    expectLegal(lifetimes, packing, 64);
    EXPECT_EQ(packing.peak, findLowestPeak(lifetimes)) << round;
  }
}

/// Buffers of 4 KiB and more on the first position of ResNet, which runs 8
/// micro-batches by 1F1B on 4 positions: half of the arena is a workspace that
/// is alive for one moment, and from one to the next all that lies around it
/// changes places.
const std::vector<Lifetime> convolutions = {
    {16384, 1, 75},     {150528, 1, 1},     {16384, 3, 81},
    {4096, 4, 69},      {9216, 9, 9},       {16384, 14, 119},
    {150528, 14, 14},   {16384, 16, 125},   {4096, 17, 113},
    {9216, 21, 21},     {16384, 26, 172},   {150528, 26, 26},
    {16384, 28, 178},   {4096, 29, 166},    {9216, 33, 33},
    {16384, 38, 225},   {150528, 38, 38},   {16384, 40, 231},
    {4096, 41, 219},    {9216, 45, 45},     {4096, 50, 72},
    {9216, 59, 59},     {9216, 60, 60},     {4096, 70, 71},
    {16384, 72, 73},    {9408, 81, 417},    {150528, 81, 81},
    {16384, 82, 278},   {150528, 82, 82},   {16384, 84, 284},
    {4096, 85, 272},    {9216, 89, 89},     {4096, 92, 116},
    {9216, 103, 103},   {9216, 104, 104},   {4096, 114, 115},
    {16384, 116, 117},  {9408, 125, 126},   {150528, 125, 125},
    {16384, 135, 319},  {150528, 135, 135}, {16384, 137, 325},
    {4096, 138, 313},   {9216, 142, 142},   {4096, 145, 169},
    {9216, 156, 156},   {9216, 157, 157},   {4096, 167, 168},
    {16384, 169, 170},  {9408, 178, 179},   {150528, 178, 178},
    {16384, 188, 360},  {150528, 188, 188}, {16384, 190, 366},
    {4096, 191, 354},   {9216, 195, 195},   {4096, 198, 222},
    {9216, 209, 209},   {9216, 210, 210},   {4096, 220, 221},
    {16384, 222, 223},  {9408, 231, 232},   {150528, 231, 231},
    {16384, 241, 401},  {150528, 241, 241}, {16384, 243, 407},
    {4096, 244, 395},   {9216, 248, 248},   {4096, 251, 275},
    {9216, 262, 262},   {9216, 263, 263},   {4096, 273, 274},
    {16384, 275, 276},  {9408, 284, 285},   {150528, 284, 284},
    {4096, 294, 316},   {9216, 303, 303},   {9216, 304, 304},
    {4096, 314, 315},   {16384, 316, 317},  {9408, 325, 326},
    {150528, 325, 325}, {4096, 335, 357},   {9216, 344, 344},
    {9216, 345, 345},   {4096, 355, 356},   {16384, 357, 358},
    {9408, 366, 367},   {150528, 366, 366}, {4096, 376, 398},
    {9216, 385, 385},   {9216, 386, 386},   {4096, 396, 397},
    {16384, 398, 399},  {9408, 407, 408},   {150528, 407, 407}};

TEST(ArenaPacking, RepairMakesValuesChangePlacesAroundAWorkspace) {
  Packing packing = packArena(convolutions, 64);
  expectLegal(convolutions, packing, 64);
  EXPECT_LE(packing.peak, packing.lowerBound + packing.lowerBound / 50);
}

} // namespace
