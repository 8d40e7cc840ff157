//===- CriticalPathTest.cpp - No step ends before its critical path -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/CriticalPath.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

double getSeconds(const CriticalPath &path, const StageTimes &times,
                  double messageSeconds) {
  double sum = static_cast<double>(path.messages) * messageSeconds;
  for (size_t stage = 0; stage < times.size(); ++stage)
    sum += static_cast<double>(path.stages[stage].forwards) *
               times[stage].forwardSeconds +
           static_cast<double>(path.stages[stage].backwards) *
               times[stage].getBackwardSeconds();
  return sum;
}

StageTimes makeTimes(std::mt19937 &random, int64_t stages) {
  std::uniform_real_distribution<double> seconds(0.2, 2);
  StageTimes times;
  for (int64_t stage = 0; stage != stages; ++stage)
    times.push_back({seconds(random), seconds(random), seconds(random)});
  return times;
}

class CriticalPathTest : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(CriticalPathTest, IsAsLongAsTheFirstPositionTakes) {
  std::mt19937 random(1);
  for (int64_t positions : {1, 2, 3, 5})
    for (int64_t microBatches : {positions, 2 * positions, 3 * positions + 1}) {
      ScheduleShape shape = makeShape(GetParam(), positions, microBatches);
      if (getRefusal(shape))
        continue;
      SCOPED_TRACE(describe(shape));
      StageTimes times = makeTimes(random, shape.getStageCount());
      constexpr double messageSeconds = 0.3;
      PipelineSchedule schedule = makeSchedule(shape);
      CriticalPath path = findCriticalPath(schedule, times, messageSeconds);
      Timeline timeline = simulate(schedule, times, messageSeconds);
      double end = timeline.passes.front().back().endSeconds;
      EXPECT_NEAR(getSeconds(path, times, messageSeconds), end, 1e-9 * end);
    }
}

TEST_P(CriticalPathTest, IsNoLongerThanStepsWithOtherTimes) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    ScheduleShape shape = makeShape(GetParam(), /*positions=*/2 + round % 3,
                                    /*microBatches=*/12);
    SCOPED_TRACE(describe(shape));
    PipelineSchedule schedule = makeSchedule(shape);
    CriticalPath path = findCriticalPath(
        schedule, makeTimes(random, shape.getStageCount()), Latencies(0.3));
    StageTimes others = makeTimes(random, shape.getStageCount());
    constexpr double messageSeconds = 0.1;
    Timeline timeline = simulate(schedule, others, messageSeconds, /*steps=*/5);
    double seconds = getSeconds(path, others, messageSeconds);
    EXPECT_LE(seconds, timeline.makespanSeconds * (1 + 1e-9));
    EXPECT_LE(seconds, timeline.periodSeconds * (1 + 1e-9));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CriticalPathTest,
                         testing::Values("gpipe", "1f1b", "1f1b-eager",
                                         "interleaved:2", "interleaved:4"));
