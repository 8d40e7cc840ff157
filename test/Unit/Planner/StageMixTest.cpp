//===- StageMixTest.cpp - The plans of the units of a position ------------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/StageMix.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Blocks in a row, one micro-batch in flight.
class StageMixTest : public testing::Test {
protected:
  StageMixTest()
      : oracle(1, 1, {keep, half, none}), oracles({&oracle}, allModes),
        dual(chain, oracles), mixer(chain, oracles, dual) {
    chain.add(/*type=*/0, /*count=*/8, /*isEnd=*/false);
  }

  static PositionPart makePart(int blocks) {
    Weights weights;
    weights.forward = 1;
    return {{{0, blocks}}, {weights}, {{1}, {0}}};
  }
  static ChainStates makeStates() {
    return {std::vector<int>(8, 0), std::vector<int>(8, 0)};
  }
  std::optional<StageMix> find(int blocks, double freeBytes) {
    mixer.collect(makePart(blocks), makeStates(), {0.1, 0.4, 0.6, 2});
    return mixer.find(makePart(blocks), makeStates(), freeBytes,
                      /*countsWork=*/true);
  }

  const BlockPlan keep = makeKeepingPlan(0, 1, 4),
                  half = makeKeepingPlan(1, 2, 2),
                  none = makeKeepingPlan(2, 4, 0);
  ListOracle oracle;
  AskedOracles oracles;
  UnitChain chain;
  MemoryDual dual;
  StageMixer mixer;
};

} // namespace

TEST_F(StageMixTest, IsTheCheapestThatFits) {
  std::optional<StageMix> mix = find(/*blocks=*/2, /*freeBytes=*/7);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->weighted, 3);
  EXPECT_EQ(mix->bytes, 6);
}

TEST_F(StageMixTest, LeavesFreeWhatPassesNeed) {
  oracle.work = [](const BlockPlan &plan) { return plan.mode == 0 ? 10 : 1; };
  std::optional<StageMix> mix = find(/*blocks=*/1, /*freeBytes=*/10);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->weighted, half.cost.forward);
  EXPECT_EQ(mix->workBytes, 1);
}

TEST_F(StageMixTest, WhatNeedsMostComesFirst) {
  // When its backward pass comes to it, the others keep nothing any more.
  oracle.work = [](const BlockPlan &plan) { return plan.mode == 2 ? 6 : 0; };
  oracle.plans = {keep, none};
  std::optional<StageMix> mix = find(/*blocks=*/3, /*freeBytes=*/8);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->bytes, 8);
  EXPECT_EQ(mix->workBytes, 0);
  EXPECT_EQ(mix->plans.front().front()->mode, none.mode);
}

TEST_F(StageMixTest, WhatABlockNeedsMayBeHiddenBehindOthers) {
  // The first unit needs most of all, but not beside what comes behind it.
  ListOracle head(1, 1, {half});
  head.work = [](const BlockPlan &) { return 9; };
  oracle.plans = {keep, half};
  oracle.work = [](const BlockPlan &plan) { return plan.mode == 0 ? 7 : 1; };
  AskedOracles both({&head, &oracle}, allModes);
  UnitChain row;
  row.add(/*type=*/0, /*count=*/1, /*isEnd=*/false);
  row.add(/*type=*/1, /*count=*/2, /*isEnd=*/false);
  StageMixer ofBoth(row, both, dual);
  ofBoth.collect(makePart(3), makeStates(), {0.1, 2});
  auto mix = ofBoth.find(makePart(3), makeStates(), /*freeBytes=*/11, true);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->weighted, 3 * half.cost.forward);
}

TEST_F(StageMixTest, SearchesPricesWhereNoneSeemedToBeNeeded) {
  PositionPart part = makePart(2);
  mixer.collect(part, makeStates(), /*prices=*/{});
  EXPECT_FALSE(mixer.find(part, makeStates(), /*freeBytes=*/6, true));
  auto price = mixer.collectFitting(part, makeStates(), 6, true);
  ASSERT_TRUE(price);
  EXPECT_GT(*price, 0);
  auto mix = mixer.find(part, makeStates(), 6, true);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->weighted, 3);
}

TEST_F(StageMixTest, NoPriceMakesSmallerThanTheSmallest) {
  oracle.plans = {keep, half};
  EXPECT_FALSE(mixer.collectFitting(makePart(2), makeStates(), 3, true));
}

TEST_F(StageMixTest, NoPriceHelpsWhereThereIsOnePlan) {
  oracle.plans = {keep};
  oracle.work = [](const BlockPlan &) { return 100; };
  EXPECT_EQ(mixer.collectFitting(makePart(2), makeStates(), 8, true), 0);
  EXPECT_FALSE(mixer.find(makePart(2), makeStates(), 8, true));
}

TEST_F(StageMixTest, WhatPassesNeedMayCountAsNothing) {
  oracle.work = [](const BlockPlan &) { return 100; };
  EXPECT_FALSE(find(/*blocks=*/2, /*freeBytes=*/8));
  auto mix = mixer.find(makePart(2), makeStates(), 8, /*countsWork=*/false);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->weighted, 2);
  EXPECT_EQ(mix->workBytes, 0);
}
