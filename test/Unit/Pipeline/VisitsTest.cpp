//===- VisitsTest.cpp - Runs of backward passes of one chunk --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Visits.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(Visits, aStepOfOneChunkIsOne) {
  for (const char *name : {"gpipe", "1f1b", "zb-h1"}) {
    PipelineSchedule schedule = makeSchedule(makeShape(name, 4, 8));
    for (int64_t position = 0; position < 4; ++position) {
      std::vector<Visit> visits = findVisits(schedule, position);
      ASSERT_EQ(visits.size(), 1u) << name;
      EXPECT_EQ(visits[0].passes.size(), 8u);
      EXPECT_EQ(countVisits(schedule, position), 1);
    }
  }
}

TEST(Visits, interleavedSchedulesHaveOnePerGroupAndChunk) {
  for (int64_t count : {4, 8, 12, 16}) {
    PipelineSchedule schedule =
        makeSchedule(makeShape("interleaved:2", 4, count));
    for (int64_t stage = 0; stage < 8; ++stage)
      EXPECT_EQ(countVisits(schedule, stage), count / 4) << stage;
  }
}

TEST(Visits, haveEveryPassOnce) {
  PipelineSchedule schedule = makeSchedule(makeShape("interleaved:3", 2, 5));
  for (int64_t position = 0; position < 2; ++position) {
    size_t count = 0;
    int64_t last = -1;
    for (const Visit &visit : findVisits(schedule, position)) {
      EXPECT_GT(visit.getFirst(), last);
      last = visit.getLast();
      count += visit.passes.size();
      for (int64_t pass : visit.passes)
        EXPECT_EQ(schedule.passes[position][pass].chunk, visit.chunk);
    }
    EXPECT_EQ(count, 15u);
  }
}

} // namespace
