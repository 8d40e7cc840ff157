//===- PeakMomentsTest.cpp - When positions have most bytes ---------------===//

#include "lib/Planner/Joint/PeakMoments.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

/// Of stages that have so many bytes of each micro-batch.
std::vector<Moment> findMoments(const ScheduleShape &shape, double saved,
                                double waiting, const WaitingRoom &room = {}) {
  CostVector cost;
  cost.savedBytes = saved;
  cost.waitingBytes = waiting;
  return findPeakMoments(makeSchedule(shape, getEqualTimes(shape), {}, room),
                         std::vector<CostVector>(shape.getStageCount(), cost));
}

} // namespace

TEST(PeakMoments, AreBeforeTheFirstBackwardPassWhereThatIsOne) {
  for (ScheduleKind kind :
       {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward}) {
    ScheduleShape shape{kind, /*positions=*/4, /*microBatches=*/8};
    auto moments = findMoments(shape, /*saved=*/1, /*waiting=*/100);
    for (int64_t position = 0; position < shape.positions; ++position) {
      EXPECT_EQ(moments[position].inFlight,
                getFirstBackward(shape, position).inFlight);
      EXPECT_EQ(moments[position].waiting, std::vector<double>{0});
    }
  }
}

TEST(PeakMoments, AreThereTooWhereWhatWaitsNeedsLittle) {
  ScheduleShape shape{ScheduleKind::zbH1, /*positions=*/4, /*microBatches=*/8};
  for (const Moment &moment : findMoments(shape, /*saved=*/1, /*waiting=*/0))
    EXPECT_EQ(moment.waiting, std::vector<double>{0});
}

TEST(PeakMoments, AreInTheDrainWhereWhatWaitsNeedsMore) {
  ScheduleShape shape{ScheduleKind::zbH1, /*positions=*/4, /*microBatches=*/8};
  auto moments = findMoments(shape, /*saved=*/1, /*waiting=*/10);
  // The last position runs all its input gradients in a row at last.
  EXPECT_EQ(moments.back().inFlight, std::vector<double>{0});
  EXPECT_EQ(moments.back().waiting, std::vector<double>{4});
}

TEST(PeakMoments, FewerWaitWhereThereIsRoomForOne) {
  ScheduleShape shape{ScheduleKind::zbH1, /*positions=*/4, /*microBatches=*/8};
  WaitingRoom room;
  room.stages.assign(shape.getStageCount(), {1, 10, 1, 10, 10});
  room.positionBytes.assign(shape.positions, 14);
  auto moments = findMoments(shape, /*saved=*/1, /*waiting=*/10, room);
  EXPECT_EQ(moments.back().waiting.front(), 1);
}

TEST(PeakMoments, HaveAMeanInWhichAllCountAlike) {
  Moment mean{{4, 0}, {0, 2}};
  addToMean(mean, {{0, 2}, {0, 0}}, /*count=*/1);
  addToMean(mean, {{2, 1}, {3, 1}}, /*count=*/2);
  EXPECT_EQ(mean, (Moment{{2, 1}, {1, 1}}));
}
