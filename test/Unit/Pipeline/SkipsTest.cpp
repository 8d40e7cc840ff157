//===- SkipsTest.cpp - Values that skip stages ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Skips.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

class Skips : public testing::Test {
protected:
  SkipPrice price(const std::vector<StageEdge> &edges) {
    return priceSkips(schedule, timeline, edges, /*bytes=*/100);
  }

  ScheduleShape shape = makeShape("1f1b", 4, 8);
  PipelineSchedule schedule = makeSchedule(shape);
  Timeline timeline = simulate(schedule, getEqualTimes(shape));
};

TEST_F(Skips, relaysGoFromStageToStage) {
  EXPECT_EQ(getRelayEdges(shape, {{0, 3}}),
            (std::vector<StageEdge>{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(getRelayEdges(shape, {{3, 2}, {3, 1}}),
            (std::vector<StageEdge>{{3, 2}, {2, 1}}));
}

TEST_F(Skips, aPositionIsHandedAValueOnce) {
  // Stages 0 and 2 share a position, and so do 1 and 3.
  EXPECT_EQ(getRelayEdges(makeShape("interleaved:2", 2, 4), {{0, 3}}),
            (std::vector<StageEdge>{{0, 1}}));
}

TEST_F(Skips, directMessagesMoveLessAndWaitLonger) {
  SkipPrice direct = price({{0, 3}}),
            relay = price(getRelayEdges(shape, {{0, 3}}));
  EXPECT_EQ(direct.sentBytes, (std::vector<int64_t>{100, 0, 0, 0}));
  EXPECT_EQ(relay.sentBytes, (std::vector<int64_t>{100, 100, 100, 0}));
  EXPECT_EQ(direct.waitingBytes[3], 300);
  EXPECT_EQ(relay.waitingBytes[3], 100);
  EXPECT_FALSE(isRelayCheaper(direct, relay));
  // Where there is no room for three of them.
  EXPECT_TRUE(isRelayCheaper(direct, relay, /*mostWaitingBytes=*/200));
  EXPECT_FALSE(isRelayCheaper(direct, relay, /*mostWaitingBytes=*/300));
}

TEST_F(Skips, whatAllStagesReadIsHandedOn) {
  std::vector<StageEdge> skips = {{0, 1}, {0, 2}, {0, 3}};
  SkipPrice direct = price(skips), relay = price(getRelayEdges(shape, skips));
  EXPECT_EQ(direct.getBusiestBytes(), 300);
  EXPECT_EQ(relay.getBusiestBytes(), 100);
  EXPECT_TRUE(isRelayCheaper(direct, relay));
}

} // namespace
