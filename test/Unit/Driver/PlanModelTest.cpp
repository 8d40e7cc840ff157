//===- PlanModelTest.cpp - Why a sequence lies as it does -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/PlanModel.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

TEST(DescribeSequence, GivesNoReasonForZigzag) {
  SequenceSummary summary =
      describeSequence({1, 2}, {{{1, 1}, 4}, {{1, 2}, 3}}, std::nullopt);
  EXPECT_EQ(summary.zigzag, 2);
  EXPECT_EQ(summary.reason, "");
}

TEST(DescribeSequence, NamesTheLeastTimeInZigzagOrder) {
  SequenceSummary summary =
      describeSequence({2, 1},
                       {{{1, 8}, 1},
                        {{2, 1}, 1},
                        {{2, 2}, 3},
                        {{2, 4}, 2},
                        {{2, 8}, 4},
                        {{2, 8, SearchEffort::lastResorts}, 1}},
                       "16 ranks are too many");
  EXPECT_EQ(summary.zigzag, 1);
  EXPECT_EQ(summary.reason,
            "in zig-zag order over 4 ranks a step would take 2.00 s");
}

TEST(DescribeSequence, NamesTheObstacleWithoutATime) {
  EXPECT_EQ(describeSequence({1, 1}, {{{1, 1}, 1}}, "a slice").reason,
            "a slice");
  EXPECT_EQ(describeSequence({1, 1}, {{{1, 1}, 1}}, std::nullopt).reason,
            "no plan with another order was found");
}

} // namespace
