//===- OrderChoiceTest.cpp - Which of several orders is taken -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/OrderChoice.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

TEST(OrderChoice, TakesTheLeastTime) {
  OrderChoice choice;
  EXPECT_TRUE(choice.addPlan(/*zigzag=*/1, /*seconds=*/4, /*bound=*/4));
  EXPECT_TRUE(choice.addPlan(2, 3, 3));
  EXPECT_FALSE(choice.addPlan(4, 5, 5));
  EXPECT_EQ(choice.getOrder().zigzag, 2);
  EXPECT_EQ(choice.getOrder().reason, "");
}

TEST(OrderChoice, TakesZigzagOfEqualTimes) {
  OrderChoice choice;
  choice.addPlan(1, 3, 3);
  EXPECT_TRUE(choice.addPlan(2, 3 * (1 + 1e-12), 3));
  // The first, of several.
  EXPECT_FALSE(choice.addPlan(4, 3, 3));
  EXPECT_EQ(choice.getOrder().zigzag, 2);
}

TEST(OrderChoice, KeepsTheModelsOrderWhereItIsFasterAtAll) {
  OrderChoice choice;
  choice.addPlan(1, 3, 3);
  EXPECT_FALSE(choice.addPlan(2, 3.001, 3));
  EXPECT_EQ(choice.getOrder().zigzag, 1);
}

TEST(OrderChoice, NamesTheLeastTimeInZigzagOrder) {
  OrderChoice choice;
  choice.addPlan(1, 1, 1);
  choice.addPlan(2, 3, 3);
  choice.addPlan(4, 2, 2);
  choice.addPlan(8, 4, 4);
  choice.addObstacle("8 ranks are too many");
  EXPECT_EQ(choice.getOrder().reason,
            "in zig-zag order over 4 ranks a step would take 2.00 s");
}

TEST(OrderChoice, NamesTheFirstObstacleWithoutATime) {
  OrderChoice choice;
  choice.addPlan(1, 1, 1);
  EXPECT_EQ(choice.getOrder().reason, "no plan with another order was found");
  choice.addObstacle("a slice");
  choice.addObstacle("8 ranks are too many");
  EXPECT_EQ(choice.getOrder().reason, "a slice");
}

TEST(OrderChoice, BoundsAllOtherOrders) {
  OrderChoice choice;
  choice.addPlan(1, 4, 2);
  choice.addPlan(2, 3, 1);
  EXPECT_EQ(choice.getOthersBound(), 2);
  choice.addPlan(4, 5, 1.5);
  EXPECT_EQ(choice.getOthersBound(), 1.5);
}

TEST(OrderChoice, IsBoundedByOrdersWithoutAPlan) {
  OrderChoice choice;
  choice.addPlan(1, 4, 4);
  EXPECT_EQ(choice.getOthersBound(), std::numeric_limits<double>::infinity());
  // None fits, but one might be as fast as that.
  choice.addLack(0.5);
  EXPECT_EQ(choice.getOthersBound(), 0.5);
}

} // namespace
