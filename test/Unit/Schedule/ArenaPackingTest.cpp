//===- ArenaPackingTest.cpp - Offsets of buffers with known lifetimes -----===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaPacking.h"
#include "passes/Schedule/ArenaSearch.h"

#include <gtest/gtest.h>

#include <algorithm>
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

} // namespace
