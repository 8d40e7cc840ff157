//===- MemoryDualTest.cpp - What a position costs within its memory -------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/MemoryDual.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A row of blocks that keep 4 bytes in a second, 2 in two or none in four.
class MemoryDualTest : public testing::Test {
protected:
  MemoryDualTest()
      : oracle(1, 1,
               {makeKeepingPlan(0, 1, 4), makeKeepingPlan(1, 2, 2),
                makeKeepingPlan(2, 4, 0)}),
        oracles({&oracle}, allModes), dual(chain, oracles) {
    chain.add(/*type=*/0, /*count=*/8, /*isEnd=*/false);
  }

  static PositionPart makePart(int blocks, double inFlight,
                               double forward = 1) {
    Weights weights;
    weights.forward = forward;
    return {{{0, blocks}}, {weights}, {{inFlight}, {0}}};
  }

  ListOracle oracle;
  AskedOracles oracles;
  UnitChain chain;
  MemoryDual dual;
};

} // namespace

TEST_F(MemoryDualTest, CostsTheFewestSecondsWhereMemoryIsFree) {
  MemoryDual::Result result =
      dual.solve(makePart(2, 3), /*freeBytes=*/24, never);
  EXPECT_TRUE(result.isFree);
  EXPECT_DOUBLE_EQ(result.value, 2);
  EXPECT_DOUBLE_EQ(result.most, 2);
}

TEST_F(MemoryDualTest, EnclosesWhatTheBestPriceGives) {
  // One block keeps 4 bytes and the other one 2.
  MemoryDual::Result result =
      dual.solve(makePart(2, 3), /*freeBytes=*/18, never);
  EXPECT_FALSE(result.isFree);
  EXPECT_NEAR(result.value, 3, 1e-3);
  EXPECT_GE(result.most * (1 + 1e-9), result.value);
  EXPECT_LE(result.most * (1 - MemoryDual::tolerance), result.value);
}

TEST_F(MemoryDualTest, GoesNoFurtherThanToWhatIsIgnored) {
  MemoryDual::Result result =
      dual.solve(makePart(2, 3), /*freeBytes=*/18, never, /*ignored=*/4);
  EXPECT_LE(result.value, 3 * (1 + 1e-9));
  EXPECT_GE(result.most, 3 * (1 - 1e-9));
  EXPECT_LE(result.most, 4);
}

TEST_F(MemoryDualTest, IsTheSameWhateverWasAskedBefore) {
  oracle.plans = {makeKeepingPlan(0, 1, 10), makeKeepingPlan(0, 2, 6),
                  makeKeepingPlan(0, 4, 3), makeKeepingPlan(0, 8, 1)};
  PositionPart part = makePart(1, 1);
  dual.solve(part, /*freeBytes=*/2, never);
  // A quarter of a second a byte, as from 10 bytes to 6.
  MemoryDual::Result result = dual.solve(part, /*freeBytes=*/7, never);
  EXPECT_NEAR(result.value, 1.75, 1e-3);
  EXPECT_NEAR(result.most, 1.75, 1e-3);
}

TEST_F(MemoryDualTest, IsTheSameWithWhateverPriceOthersHad) {
  oracle.plans = {makeKeepingPlan(0, 1, 10), makeKeepingPlan(0, 2, 6),
                  makeKeepingPlan(0, 4, 3), makeKeepingPlan(0, 8, 1)};
  // A fifth of the price, and eighty times as much.
  for (auto [forward, freeBytes] : {std::pair(0.2, 7.0), std::pair(8.0, 2.0)}) {
    dual.solve(makePart(1, 1, forward), freeBytes, never);
    MemoryDual::Result result =
        dual.solve(makePart(1, 1), /*freeBytes=*/7, never);
    EXPECT_NEAR(result.value, 1.75, 1e-3);
    EXPECT_NEAR(result.most, 1.75, 1e-3);
  }
}

TEST_F(MemoryDualTest, AsksLessWhereOthersHadTheSamePrice) {
  auto countCalls = [&](int64_t inFlight) {
    int64_t before = oracles.getCallCount();
    dual.solve(makePart(2, static_cast<double>(inFlight)),
               static_cast<double>(6 * inFlight), /*enough=*/2.9);
    return oracles.getCallCount() - before;
  };
  int64_t first = countCalls(/*inFlight=*/100);
  EXPECT_LT(countCalls(/*inFlight=*/101), first);
}

TEST_F(MemoryDualTest, IsInfiniteWhereNothingFits) {
  oracle.plans.pop_back();
  EXPECT_EQ(dual.solve(makePart(2, 3), /*freeBytes=*/11, never).value, never);
  // With a price of others, too.
  dual.solve(makePart(2, 3), /*freeBytes=*/18, never);
  EXPECT_EQ(dual.solve(makePart(2, 4), /*freeBytes=*/11, never).value, never);
}

TEST_F(MemoryDualTest, MoreOfAnythingCostsNoLess) {
  PositionPart part = makePart(3, 2);
  EXPECT_TRUE(costsNoLess(chain, part, part));
  for (const PositionPart &more :
       {makePart(4, 2), makePart(3, 3), makePart(3, 2, /*forward=*/2)}) {
    EXPECT_TRUE(costsNoLess(chain, more, part));
    EXPECT_FALSE(costsNoLess(chain, part, more));
    EXPECT_GE(dual.solve(more, /*freeBytes=*/20, never).most * (1 + 1e-9),
              dual.solve(part, /*freeBytes=*/20, never).value);
  }
  EXPECT_FALSE(costsNoLess(chain, makePart(4, 1), part));
}
