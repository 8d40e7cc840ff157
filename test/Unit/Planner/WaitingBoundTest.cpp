//===- WaitingBoundTest.cpp - What waiting weight gradients save ----------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/WaitingBound.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A block of three seconds a micro-batch, whose weight gradients wait with
/// four bytes, or with one if two seconds more are spent.
class WaitingBoundTest : public testing::Test {
protected:
  WaitingBoundTest()
      : oracle(1, 1, {makePlan(0, 1, 4), makePlan(1, 3, 1)}),
        oracles({&oracle}, allModes), dual(chain, oracles) {
    chain.add(/*type=*/0, /*count=*/1, /*isEnd=*/false);
  }

  static BlockPlan makePlan(int mode, double inputGradient, double waiting) {
    BlockPlan plan;
    plan.mode = mode;
    plan.cost.forward = plan.cost.weightGradient = 1;
    plan.cost.inputGradient = inputGradient;
    plan.cost.waitingBytes = waiting;
    return plan;
  }

  /// Seconds of all micro-batches until the last input gradient.
  double getSeconds(double freeBytes, double ignored = 0) {
    PositionPart part{
        {{0, 1}}, {Weights()}, getFirstBackward(shape, /*position=*/0)};
    auto batches = static_cast<double>(shape.microBatches);
    return WaitingBound(shape, dual, freeBytes)
               .find(/*position=*/0, part, /*mostWaiting=*/4, never,
                     ignored / batches) *
           batches;
  }

  ScheduleShape shape{ScheduleKind::zbH1, /*positions=*/4, /*microBatches=*/8};
  ListOracle oracle;
  AskedOracles oracles;
  UnitChain chain;
  MemoryDual dual;
};

} // namespace

TEST_F(WaitingBoundTest, AsManyWaitAsMay) {
  EXPECT_DOUBLE_EQ(getSeconds(/*freeBytes=*/16), 8 + 8 + 4);
}

TEST_F(WaitingBoundTest, FewerWaitThanNeedMoreMemory) {
  EXPECT_DOUBLE_EQ(getSeconds(/*freeBytes=*/8), 8 + 8 + 6);
  EXPECT_DOUBLE_EQ(getSeconds(/*freeBytes=*/4), 8 + 8 + 7);
}

TEST_F(WaitingBoundTest, PlansThatTakeLongerLetMoreWait) {
  // One waits in any case.
  double seconds = getSeconds(/*freeBytes=*/1);
  EXPECT_GT(seconds, 8 + 8 + 7);
  EXPECT_LE(seconds, 8 + 3 * 8 + 7);
}

TEST_F(WaitingBoundTest, WhatIsIgnoredIsNotFound) {
  EXPECT_EQ(getSeconds(/*freeBytes=*/8, /*ignored=*/23), 0);
}

TEST_F(WaitingBoundTest, NothingFitsWhereNotEvenOneMayWait) {
  EXPECT_EQ(getSeconds(/*freeBytes=*/0.5), never);
}
