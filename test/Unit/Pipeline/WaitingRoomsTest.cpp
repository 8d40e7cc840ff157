//===- WaitingRoomsTest.cpp - How much may wait ---------------------------===//

#include "RandomSchedule.h"

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Pipeline/WaitingRooms.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

class WaitingRooms : public testing::Test {
protected:
  WaitingRooms() {
    widest.stages.assign(shape.getStageCount(), {1, 4, 1, 4, 4});
    setLimit(1000);
  }

  void setLimit(int64_t bytes) {
    widest.positionBytes.assign(shape.positions, bytes);
  }
  PipelineSchedule makeWith(const WaitingRoom &room) const {
    return makeSchedule(shape, times, {}, room);
  }
  double getSeconds(const PipelineSchedule &schedule) const {
    return simulate(schedule, times).makespanSeconds;
  }
  WaitingRoom choose() const {
    return chooseRoom(
        shape, times, {}, widest,
        [&](const PipelineSchedule &of) { return getSeconds(of); });
  }

  ScheduleShape shape = makeShape("zb-v", 4, 12);
  StageTimes times = getEqualTimes(shape);
  WaitingRoom widest;
};

} // namespace

TEST_F(WaitingRooms, PeaksAreThoseOfOnePositionAfterTheOther) {
  ScheduleShape two = makeShape("zb-h1", 2, 2);
  auto schedule =
      parseSchedule(two, {"F0 F1 BI0 BI1 BW0 BW1", "F0 BI0 F1 BW0 BI1 BW1"});
  ASSERT_TRUE(schedule);
  // Two in flight and then two that wait; one of each.
  EXPECT_EQ(getPeakBytes(*schedule, {{3, 2, 3, 4, 2}, {3, 2, 3, 4, 7}}),
            (std::vector<int64_t>{7, 10}));
}

TEST_F(WaitingRooms, AreNoLargerThanWhatIsAsFast) {
  // All that would wait fits; of that no position needs all.
  PipelineSchedule free = makeWith({});
  WaitingRoom room = choose();
  ASSERT_TRUE(room.isLimited());
  PipelineSchedule chosen = makeWith(room);
  EXPECT_LE(getSeconds(chosen), getSeconds(free) * (1 + 1e-9));
  std::vector<int64_t> peaks = getPeakBytes(chosen, widest.stages),
                       all = getPeakBytes(free, widest.stages);
  for (size_t position = 0; position < all.size(); ++position)
    EXPECT_LE(peaks[position], all[position]);
  EXPECT_NE(peaks, all);
}

TEST_F(WaitingRooms, FitWhereAllThatWaitsDoesNot) {
  std::vector<int64_t> all = getPeakBytes(makeWith({}), widest.stages);
  setLimit(*std::max_element(all.begin(), all.end()) - 1);
  WaitingRoom room = choose();
  ASSERT_TRUE(room.isLimited());
  for (int64_t bytes : getPeakBytes(makeWith(room), widest.stages))
    EXPECT_LE(bytes, widest.positionBytes.front());
}

TEST_F(WaitingRooms, ExceedLeastWhereNothingFits) {
  setLimit(1);
  std::vector<int64_t> chosen = getPeakBytes(makeWith(choose()), widest.stages),
                       all = getPeakBytes(makeWith({}), widest.stages);
  EXPECT_LT(*std::max_element(chosen.begin(), chosen.end()),
            *std::max_element(all.begin(), all.end()));
}

TEST_F(WaitingRooms, AreSmallerWhereThatIsFaster) {
  // What a greedy order gains by running gradients of inputs early it loses
  // later: there are steps that are shorter with less room.
  bool isShorter = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomSchedule drawn(seed);
    if (!splitsBackward(drawn.shape.kind) || !drawn.room.isLimited())
      continue;
    drawn.room.positionBytes.assign(drawn.shape.positions, 1000);
    auto getSeconds = [&](const PipelineSchedule &schedule) {
      return simulate(schedule, drawn.times, drawn.latencies).makespanSeconds;
    };
    double free =
        getSeconds(makeSchedule(drawn.shape, drawn.times, drawn.latencies));
    WaitingRoom room = chooseRoom(drawn.shape, drawn.times, drawn.latencies,
                                  drawn.room, getSeconds);
    double seconds = getSeconds(
        makeSchedule(drawn.shape, drawn.times, drawn.latencies, room));
    EXPECT_LE(seconds, free * (1 + 1e-9));
    isShorter |= seconds < free * (1 - 1e-9);
  }
  EXPECT_TRUE(isShorter);
}
