//===- BoundsTest.cpp - Bounds of a step are never on the wrong side ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

StageTimes makeTimes(std::mt19937 &random, int64_t stages, double spread) {
  std::uniform_real_distribution<double> seconds(1, 1 + spread);
  StageTimes times;
  for (int64_t stage = 0; stage != stages; ++stage)
    times.push_back({seconds(random), seconds(random), seconds(random)});
  return times;
}

Latencies makeLatencies(std::mt19937 &random, int64_t stages) {
  std::uniform_real_distribution<double> seconds(0, 0.5);
  std::vector<double> boundaries;
  for (int64_t boundary = 0; boundary + 1 < stages; ++boundary)
    boundaries.push_back(seconds(random));
  return boundaries;
}

double getMakespan(const ScheduleShape &shape, const StageTimes &times,
                   const Latencies &latencies = {}) {
  return simulate(makeSchedule(shape, times, latencies), times, latencies)
      .makespanSeconds;
}

} // namespace

TEST(Bounds, simulationLiesBetweenThem) {
  std::mt19937 random(1);
  for (const std::string &name : getTestNames())
    for (int64_t positions : {1, 2, 3, 4, 8})
      for (int64_t microBatches : {int64_t{1}, positions, positions + 1,
                                   2 * positions, 3 * positions + 1})
        for (double spread : {0.0, 0.1, 1.0, 5.0}) {
          ScheduleShape shape = makeShape(name, positions, microBatches);
          if (getRefusal(shape))
            continue;
          StageTimes times = makeTimes(random, shape.getStageCount(), spread);
          for (const Latencies &latencies :
               {Latencies(0), Latencies(0.3),
                makeLatencies(random, shape.getStageCount())}) {
            SCOPED_TRACE(describe(shape));
            double makespan = getMakespan(shape, times, latencies);
            EXPECT_LE(getLowerBound(shape, times, latencies), makespan + 1e-9);
            if (auto upper = getUpperBound(shape, times, latencies)) {
              EXPECT_GE(*upper, makespan - 1e-9);
            }
          }
        }
}

TEST(Bounds, gpipeAndForwardOnlyAreExact) {
  std::mt19937 random(2);
  for (std::string_view name : {"gpipe", "forward-only"})
    for (int64_t positions : {1, 2, 3, 8})
      for (int64_t microBatches : {1, 3, 8, 17}) {
        ScheduleShape shape = makeShape(name, positions, microBatches);
        StageTimes times = makeTimes(random, positions, 1);
        EXPECT_NEAR(getUpperBound(shape, times).value(),
                    getMakespan(shape, times), 1e-9)
            << describe(shape);
      }
}

TEST(Bounds, oneForwardOneBackwardIsExactWhenTheLastStageIsTheSlowest) {
  std::mt19937 random(3);
  for (int64_t positions : {2, 3, 4, 8})
    for (int64_t microBatches : {1, 3, 8, 17, 40}) {
      ScheduleShape shape = makeShape("1f1b", positions, microBatches);
      StageTimes times = makeTimes(random, positions, 1);
      std::swap(
          times.back(),
          *std::max_element(times.begin(), times.end(),
                            [](const PassTimes &left, const PassTimes &right) {
                              return left.getSeconds() < right.getSeconds();
                            }));
      EXPECT_NEAR(getUpperBound(shape, times).value(),
                  getMakespan(shape, times), 1e-9)
          << describe(shape);
    }
}

TEST(Bounds, placeOfTheSlowStageCounts) {
  // One stage 1.3 times slower: the warm-up hides it at the front.
  ScheduleShape shape = makeShape("1f1b", 8, 32);
  auto getSeconds = [&](int64_t slow) {
    StageTimes times(8);
    times[slow] = {1.3, 1.3, 1.3};
    return getMakespan(shape, times);
  };
  EXPECT_NEAR(getSeconds(0), 139.5, 0.05);
  EXPECT_NEAR(getSeconds(4), 143.1, 0.05);
  EXPECT_NEAR(getSeconds(7), 145.8, 0.05);
}

TEST(Bounds, theKnownFormulaIsNoLowerBound) {
  // (m - 1) * max t + sum t: above what is possible when the slow stage is
  // early, below it with latency.
  ScheduleShape shape = makeShape("1f1b", 8, 32);
  StageTimes times(8);
  times[0] = {1.3, 1.3, 1.3};
  double known = 31 * 3.9 + 24.9;
  EXPECT_GT(known, getMakespan(shape, times));
  EXPECT_LT(31 * 3.0 + 24.0, getMakespan(shape, StageTimes(8), 0.1));
}

TEST(Bounds, latencyCosts) {
  // Time above the ideal of 96, as 8 positions and 32 micro-batches have it.
  struct Row {
    std::string_view name;
    double none, tenth, fifth;
  };
  for (const Row &row :
       {Row{"1f1b", 21.9, 29.0, 36.0}, Row{"1f1b-eager", 21.9, 23.3, 24.8},
        Row{"interleaved:2", 10.9, 14.1, 17.2},
        Row{"interleaved:4", 5.5, 11.9, 18.4}, Row{"zb-h1", 7.3, 10.2, 13.1},
        Row{"zb-h2", 7.3, 8.0, 8.8}, Row{"zb-v", 3.6, 6.0, 9.0},
        Row{"v-half", 10.4, 19.2, 25.0}, Row{"v-min", 14.1, 33.6, 53.2}}) {
    ScheduleShape shape = makeShape(row.name, 8, 32);
    // A chunk takes its part of a stage's time.
    double part = 1.0 / static_cast<double>(shape.chunks);
    StageTimes times(shape.getStageCount(), {part, part, part});
    auto getExcess = [&](double latency) {
      return 100 * (getMakespan(shape, times, latency) / 96 - 1);
    };
    EXPECT_NEAR(getExcess(0), row.none, 0.06) << row.name;
    EXPECT_NEAR(getExcess(0.1), row.tenth, 0.06) << row.name;
    EXPECT_NEAR(getExcess(0.2), row.fifth, 0.06) << row.name;
  }
}
