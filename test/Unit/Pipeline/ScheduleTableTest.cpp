//===- ScheduleTableTest.cpp - What every schedule promises ---------------===//
//
// Part of parplan.
//
// One test for each schedule: its bubble, with a barrier between steps and
// without, in units of one pass (all passes equal, no latency), and what is in
// flight. For 2 to 8 positions and 1 to 24 micro-batches.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Pipeline/WaitingRooms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

using namespace parplan;
using namespace parplan::test;
using testing::Each;
using testing::Le;

namespace {

/// What is known of a schedule.
struct Outcome {
  int64_t positions, microBatches;
  /// p - m, 0 if there are more micro-batches.
  int64_t missing;
  double barrierBubble, freeBubble;
  std::vector<int64_t> peaks;

  int64_t getLargestPeak() const {
    return *std::max_element(peaks.begin(), peaks.end());
  }
};

void forAll(std::string_view name,
            const std::function<void(const Outcome &)> &check) {
  for (int64_t positions : {2, 3, 4, 6, 8})
    for (int64_t microBatches = 1; microBatches <= 24; ++microBatches) {
      ScheduleShape shape = makeShape(name, positions, microBatches);
      SCOPED_TRACE(describe(shape));
      PipelineSchedule schedule = makeSchedule(shape);
      EXPECT_EQ(verifySchedule(schedule), std::nullopt);
      StageTimes times = getEqualTimes(shape);
      Timeline timeline = simulate(schedule, times, {}, /*steps=*/5);
      auto passes = static_cast<double>(hasBackward(shape.kind) ? 3 : 1);
      auto work = passes * static_cast<double>(microBatches * shape.chunks);
      check({positions, microBatches,
             std::max<int64_t>(0, positions - microBatches),
             timeline.makespanSeconds - work, timeline.periodSeconds - work,
             timeline.inFlightPeaks});
    }
}

} // namespace

TEST(ScheduleTable, gpipe) {
  forAll("gpipe", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, 3 * (is.positions - 1));
    EXPECT_EQ(is.freeBubble, 3 * (is.positions - 1));
    EXPECT_THAT(is.peaks, Each(is.microBatches));
  });
}

TEST(ScheduleTable, oneForwardOneBackward) {
  forAll("1f1b", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, 3 * (is.positions - 1));
    EXPECT_EQ(is.freeBubble, 3 * (is.positions - 1));
    for (int64_t i = 0; i != is.positions; ++i)
      EXPECT_EQ(is.peaks[i], std::min(is.microBatches, is.positions - i));
  });
}

TEST(ScheduleTable, oneForwardOneBackwardEager) {
  forAll("1f1b-eager", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, 3 * (is.positions - 1));
    EXPECT_EQ(is.freeBubble, 3 * (is.positions - 1));
    for (int64_t i = 0; i != is.positions; ++i)
      EXPECT_EQ(is.peaks[i],
                std::min(is.microBatches, 2 * (is.positions - i) - 1));
  });
}

TEST(ScheduleTable, interleaved) {
  for (int64_t chunks : {2, 3, 4})
    forAll("interleaved:" + std::to_string(chunks), [&](const Outcome &is) {
      // Groups of nearly equal size, none below p: m need not be a multiple.
      int64_t groups = std::max<int64_t>(1, is.microBatches / is.positions);
      int64_t group = (is.microBatches + groups - 1) / groups;
      EXPECT_EQ(is.barrierBubble,
                3 * (is.positions - 1) + 3 * (chunks - 1) * is.missing);
      if (is.missing == 0) {
        EXPECT_EQ(is.freeBubble, is.barrierBubble);
      }
      for (int64_t i = 0; i != is.positions; ++i)
        EXPECT_EQ(is.peaks[i], std::min(is.microBatches * chunks,
                                        2 * (is.positions - 1 - i) +
                                            (chunks - 1) * group + 1));
    });
}

TEST(ScheduleTable, zbH1) {
  forAll("zb-h1", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, is.positions - 1 + is.missing);
    EXPECT_EQ(is.freeBubble, is.positions - 1 + is.missing);
    EXPECT_EQ(is.getLargestPeak(), std::min(is.microBatches, is.positions));
  });
}

TEST(ScheduleTable, zbH2) {
  forAll("zb-h2", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, is.positions - 1 + is.missing);
    if (is.missing == 0) {
      EXPECT_EQ(is.freeBubble,
                std::max<int64_t>(0, 2 * is.positions - 1 - is.microBatches));
    }
    EXPECT_THAT(is.peaks,
                Each(Le(std::min(is.microBatches, 2 * is.positions - 1))));
  });
}

TEST(ScheduleTable, zbV) {
  forAll("zb-v", [](const Outcome &is) {
    if (is.missing == 0) {
      EXPECT_EQ(is.barrierBubble, is.positions - 1);
      EXPECT_EQ(is.freeBubble,
                std::max<int64_t>(0, 2 * is.positions - 1 - is.microBatches));
    }
    EXPECT_THAT(is.peaks,
                Each(Le(std::min(2 * is.microBatches, 2 * is.positions))));
  });
}

TEST(ScheduleTable, vHalf) {
  forAll("v-half", [](const Outcome &is) {
    if (is.positions >= 3 && is.microBatches >= 2 * is.positions) {
      EXPECT_EQ(is.barrierBubble, 3 * (is.positions - 1) - 1);
      EXPECT_EQ(is.freeBubble, 3 * (is.positions - 1) - 1);
    }
    EXPECT_THAT(is.peaks, Each(Le(is.positions + 2 - is.positions % 2)));
  });
}

TEST(ScheduleTable, vMin) {
  forAll("v-min", [](const Outcome &is) {
    if (is.positions >= 3 && is.microBatches >= 2 * is.positions) {
      int64_t more = is.positions % 3 == 0 ? 2 : 0;
      EXPECT_EQ(is.barrierBubble, 4 * (is.positions - 1) - 1 + more);
      EXPECT_EQ(is.freeBubble, 4 * (is.positions - 1) - 1 + more);
    }
    EXPECT_THAT(is.peaks, Each(Le((2 * is.positions + 2) / 3 + 2)));
  });
}

TEST(ScheduleTable, forwardOnly) {
  forAll("forward-only", [](const Outcome &is) {
    EXPECT_EQ(is.barrierBubble, is.positions - 1);
    EXPECT_THAT(is.peaks, Each(0));
  });
  // Chunks follow each other without a wait where micro-batches fill them.
  for (int64_t positions : {2, 4, 8})
    for (int64_t microBatches : {8, 16, 24}) {
      ScheduleShape shape{ScheduleKind::forwardOnly, positions, microBatches,
                          2};
      Timeline timeline = simulate(makeSchedule(shape), getEqualTimes(shape));
      EXPECT_EQ(timeline.makespanSeconds, 2 * microBatches + positions - 1)
          << describe(shape);
    }
}

TEST(ScheduleTable, peaksOfSplitSchedulesAreReached) {
  // With micro-batches to spare, as many as the limit allows, on every
  // position: these schedules hold more on late positions than 1f1b does.
  for (std::string_view name : {"zb-h1", "zb-h2", "zb-v"})
    for (int64_t positions : {2, 3, 4, 6, 8}) {
      ScheduleShape shape = makeShape(name, positions, 24);
      PipelineSchedule schedule = makeSchedule(shape);
      for (int64_t position = 0; position != positions; ++position)
        EXPECT_EQ(getInFlightPeak(schedule, position),
                  getInFlightLimit(shape, position))
            << describe(shape) << " position " << position;
    }
}

TEST(ScheduleTable, zbH1WithUnequalPasses) {
  // (p - 1)(tF + tB - tW) wherever tW <= tF.
  for (int64_t positions : {2, 3, 4, 8})
    for (PassTimes pass : {PassTimes{1.5, 1.25, 0.5}, PassTimes{1, 2, 1},
                           PassTimes{2, 1, 0.75}}) {
      ScheduleShape shape = makeShape("zb-h1", positions, 2 * positions + 1);
      StageTimes times(positions, pass);
      Timeline timeline = simulate(makeSchedule(shape, times), times);
      double work = static_cast<double>(shape.microBatches) * pass.getSeconds();
      EXPECT_NEAR(timeline.makespanSeconds - work,
                  static_cast<double>(positions - 1) *
                      (pass.forwardSeconds + pass.inputGradientSeconds -
                       pass.weightGradientSeconds),
                  1e-9);
    }
}

/// Chunks of a position that wait for weight gradients, at most.
static int64_t countWaiting(const std::vector<Pass> &passes) {
  int64_t waiting = 0, most = 0;
  for (const Pass &pass : passes) {
    waiting += pass.kind == PassKind::inputGradient;
    most = std::max(most, waiting);
    waiting -= pass.kind == PassKind::weightGradient;
  }
  return most;
}

TEST(ScheduleTable, theLessRoomTheLessWaitsForWeightGradients) {
  for (const char *name : {"zb-h1", "zb-h2", "zb-v"}) {
    SCOPED_TRACE(name);
    ScheduleShape shape = makeShape(name, 8, 24);
    WaitingRoom room;
    room.stages.assign(shape.getStageCount(), {0, 1, 0, 1, 1});
    auto countOfLast = [&](int64_t most) {
      room.positionBytes.assign(shape.positions, most);
      return countWaiting(
          makeSchedule(shape, getEqualTimes(shape), {}, room).passes.back());
    };
    // At the end, when no forward pass asks for room any more.
    int64_t all = countOfLast(24);
    EXPECT_GE(all, 4);
    for (int64_t most = all - 1; most > 0; --most)
      EXPECT_EQ(countOfLast(most), most);
    // One waits at least: that of the gradient of the last input.
    EXPECT_EQ(countOfLast(0), 1);
  }
}

TEST(ScheduleTable, weightGradientsHaveRoomToRun) {
  ScheduleShape shape = makeShape("zb-h1", 4, 8);
  WaitingRoom room;
  // What waits needs ten times as much while its weight gradient runs.
  room.stages.assign(shape.getStageCount(), {0, 1, 0, 1, 10});
  room.positionBytes.assign(shape.positions, 12);
  PipelineSchedule schedule =
      makeSchedule(shape, getEqualTimes(shape), {}, room);
  for (int64_t bytes : getPeakBytes(schedule, room.stages))
    EXPECT_LE(bytes, 12);
  EXPECT_EQ(countWaiting(schedule.passes.back()), 3);
}

TEST(ScheduleTable, ofOnePassOrAnotherShapeHasNoRoom) {
  WaitingRoom room;
  room.stages.assign(4, {});
  room.positionBytes.assign(4, 1);
  EXPECT_EQ(getRefusal(makeShape("zb-h1", 4, 8), room), std::nullopt);
  EXPECT_EQ(getRefusal(makeShape("1f1b", 4, 8), room),
            "nothing waits for weight gradients in schedule 1f1b: it has no "
            "room for that");
  EXPECT_EQ(getRefusal(makeShape("zb-v", 4, 8), room),
            "the room is for 4 positions and 4 stages, schedule zb-v has 4 "
            "and 8");
  room.stages.back().waiting = -1;
  EXPECT_EQ(getRefusal(makeShape("zb-h1", 4, 8), room),
            "a room with -1 bytes: it is not between 0 and 2199023255552");
}

TEST(ScheduleTable, spanIsOfOnePosition) {
  // 1F1B: the first position is busy from the start to the end; the last one
  // starts p - 1 passes later and ends 2(p - 1) earlier.
  ScheduleShape shape = makeShape("zb-h2", 4, 16);
  Timeline timeline = simulate(makeSchedule(shape), getEqualTimes(shape));
  EXPECT_EQ(timeline.makespanSeconds, 48 + 3);
  EXPECT_EQ(timeline.spanSeconds, 48);
}

TEST(ScheduleTable, textIsReadAsItIsPrinted) {
  ScheduleShape shape = makeShape("zb-v", 2, 3);
  PipelineSchedule schedule = makeSchedule(shape);
  std::vector<std::string> positions;
  for (const std::vector<Pass> &passes : schedule.passes) {
    std::string &text = positions.emplace_back();
    for (const Pass &pass : passes)
      text += printPass(shape, pass) + ' ';
  }
  EXPECT_EQ(parseSchedule(shape, positions), schedule);
  for (const char *word :
       {"F", "3", "G0", "F3", "F0.2", "F-1", "F0.", "F0.0.0"})
    EXPECT_EQ(parseSchedule(shape, {word}), std::nullopt) << word;
}
