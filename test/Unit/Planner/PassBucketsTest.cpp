//===- PassBucketsTest.cpp - Gradients that passes reduce -----------------===//

#include "lib/Planner/Evaluation/PassBuckets.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

constexpr int64_t megabyte = 1 << 20;

/// A stage whose pass has four gradients of weights.
class PassBucketsTest : public testing::Test {
protected:
  PassBucketsTest() {
    for (int op = 0; op < 4; ++op)
      execution.runs.push_back({op, 0, Phase::weightGradient, false});
    timelines = StageTimeline::makeAll(execution, /*stageCount=*/1,
                                       /*isSplit=*/true, times);
  }

  int64_t getPeak(const PassBuckets &buckets) {
    StageTimeline &timeline = timelines.front();
    buckets.addTo(timeline, timeline.getEnd(Phase::weightGradient) - 1);
    return timeline.getPeaks()[static_cast<int>(Phase::weightGradient)].bytes;
  }

  Execution execution;
  std::vector<int> times;
  std::vector<StageTimeline> timelines;
};

} // namespace

TEST_F(PassBucketsTest, aBucketTakesGradientsUntilItIsFull) {
  PassBuckets buckets(256 * megabyte);
  for (int time : times)
    buckets.add(time, 60 * megabyte);
  EXPECT_EQ(getPeak(buckets), 240 * megabyte);
  EXPECT_EQ(buckets.getTrailingBytes(), 240 * megabyte);
}

TEST_F(PassBucketsTest, aBucketIsReducedWhileTheNextOneIsMade) {
  PassBuckets buckets(256 * megabyte);
  for (int time : times)
    buckets.add(time, 200 * megabyte);
  EXPECT_EQ(getPeak(buckets), 400 * megabyte);
  EXPECT_EQ(buckets.getTrailingBytes(), 200 * megabyte);
}

TEST_F(PassBucketsTest, aGradientLargerThanABucketHasOneOfItsOwn) {
  PassBuckets buckets(256 * megabyte);
  buckets.add(times[0], 300 * megabyte);
  buckets.add(times[1], 10 * megabyte);
  EXPECT_EQ(getPeak(buckets), 310 * megabyte);
  EXPECT_EQ(buckets.getTrailingBytes(), 10 * megabyte);
}

TEST_F(PassBucketsTest, aPassThatReducesNothingLeavesNothing) {
  PassBuckets buckets(256 * megabyte);
  EXPECT_EQ(getPeak(buckets), 0);
  EXPECT_EQ(buckets.getTrailingBytes(), 0);
}
