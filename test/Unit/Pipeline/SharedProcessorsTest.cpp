//===- SharedProcessorsTest.cpp - Positions that share processors ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Timeline.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Of stages with forwards of one second and backwards of two.
Timeline run(const std::string &name, int64_t positions, int64_t microBatches,
             double sharing, int64_t steps = 1, double latency = 0) {
  ScheduleShape shape = makeShape(name, positions, microBatches);
  StageTimes times(shape.getStageCount(), PassTimes{1, 1, 1});
  return simulate(makeSchedule(shape, times, latency), times, latency, steps,
                  sharing);
}

} // namespace

TEST(SharedProcessors, OneAfterTheOtherEachHasThemAll) {
  // Four passes of one micro-batch, at twice the speed of four at once.
  EXPECT_DOUBLE_EQ(run("gpipe", 2, 1, /*sharing=*/2).makespanSeconds, 3);
  EXPECT_DOUBLE_EQ(run("gpipe", 2, 1, /*sharing=*/1).makespanSeconds, 6);
}

TEST(SharedProcessors, AllAtWorkHaveTheirPart) {
  // Three of four positions idle for a part of the time only.
  double work = 8 * 3;
  Timeline shared = run("1f1b", 4, 8, /*sharing=*/4);
  EXPECT_NEAR(shared.makespanSeconds, work, 1e-9);
  EXPECT_GT(run("1f1b", 4, 8, /*sharing=*/1).makespanSeconds, work);
}

TEST(SharedProcessors, NoPositionIsFasterThanItsProcessors) {
  // Half of the path of one micro-batch, and half of all the work.
  Timeline shared = run("1f1b", 4, 4, /*sharing=*/2);
  EXPECT_GE(shared.makespanSeconds, 4 * 3);
  EXPECT_GE(shared.makespanSeconds, (4 + 3) * 3 / 2.0);
  EXPECT_LT(shared.makespanSeconds,
            run("1f1b", 4, 4, /*sharing=*/1).makespanSeconds);
}

TEST(SharedProcessors, WaitForMessagesAsOthersDo) {
  EXPECT_DOUBLE_EQ(
      run("gpipe", 2, 1, /*sharing=*/2, /*steps=*/1, /*latency=*/0.5)
          .makespanSeconds,
      4);
}

TEST(SharedProcessors, StepsThatDoNotMeetLeaveNoneIdle) {
  EXPECT_DOUBLE_EQ(run("1f1b", 4, 8, /*sharing=*/2, /*steps=*/5).periodSeconds,
                   8 * 3);
}
