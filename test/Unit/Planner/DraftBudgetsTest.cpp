//===- DraftBudgetsTest.cpp - What a draft may have -----------------------===//

#include "lib/Planner/Joint/DraftBudgets.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

/// One position of one chunk, with four micro-batches in flight and 100 bytes.
class DraftBudgetsTest : public testing::Test {
protected:
  DraftBudgetsTest()
      : budgets({{100}, {moment}}, /*freeBytes=*/100, /*hasRoom=*/false) {}

  /// Of units that keep so much of each micro-batch.
  static DraftBudgets::Plan makePlan(double savedBytes, double excessBytes,
                                     bool isLimited = true) {
    CostVector cost;
    cost.savedBytes = savedBytes;
    return {{{cost}, excessBytes, isLimited, moment}};
  }
  double getBudget() const { return budgets.getLimits().budgets.front(); }

  static inline const Moment moment{{4}, {0}};
  DraftBudgets budgets;
};

} // namespace

TEST_F(DraftBudgetsTest, WhatWasLeftOutIsLeftFree) {
  // 80 bytes were expected, and 110 needed.
  EXPECT_TRUE(budgets.learn(makePlan(20, 10)));
  EXPECT_EQ(getBudget(), 70);
}

TEST_F(DraftBudgetsTest, WhatAPassNeedsIsNotLeftOut) {
  // 80 bytes of the units, 10 of a pass, and 20 more.
  DraftBudgets::Plan plan = makePlan(20, 10);
  plan.front().workBytes = 10;
  EXPECT_TRUE(budgets.learn(plan));
  EXPECT_EQ(getBudget(), 80);
}

TEST_F(DraftBudgetsTest, APassMayNeedLessThanItSeems) {
  // 88 bytes of the units, 20 of a pass, and 102 in all.
  DraftBudgets::Plan plan = makePlan(22, 2);
  plan.front().workBytes = 20;
  EXPECT_TRUE(budgets.learn(plan));
  EXPECT_EQ(getBudget(), 106);
  // But units need what they keep.
  plan = makePlan(30, 2);
  plan.front().workBytes = 5;
  EXPECT_TRUE(budgets.learn(plan));
  EXPECT_EQ(getBudget(), 105);
}

TEST_F(DraftBudgetsTest, TheMostThatWasLeftOutCounts) {
  budgets.learn(makePlan(20, 10));
  EXPECT_TRUE(budgets.learn(makePlan(15, 5)));
  EXPECT_EQ(getBudget(), 55);
  EXPECT_TRUE(budgets.learn(makePlan(10, 5)));
  EXPECT_EQ(getBudget(), 35);
  EXPECT_TRUE(budgets.learn(makePlan(24, 5)));
  EXPECT_EQ(getBudget(), 35);
}

TEST_F(DraftBudgetsTest, APlanThatFitsGetsBackWhatItHasToSpare) {
  budgets.learn(makePlan(20, 10));
  // 60 bytes of the units, and 20 to spare.
  EXPECT_TRUE(budgets.learn(makePlan(15, -20)));
  EXPECT_GT(getBudget(), 79);
  EXPECT_LT(getBudget(), 80);
}

TEST_F(DraftBudgetsTest, NothingIsGainedByAFullMemoryOrWithoutAPrice) {
  EXPECT_FALSE(budgets.learn(makePlan(20, -0.5)));
  EXPECT_FALSE(budgets.learn(makePlan(20, -50, /*isLimited=*/false)));
}

TEST_F(DraftBudgetsTest, WhereNoDraftIsFoundLessIsLeftFree) {
  budgets.learn(makePlan(20, 20));
  EXPECT_EQ(getBudget(), 60);
  EXPECT_TRUE(budgets.relax());
  EXPECT_EQ(getBudget(), 80);
  // That was too little.
  EXPECT_TRUE(budgets.learn(makePlan(20, 10)));
  EXPECT_EQ(getBudget(), 70);
}

TEST_F(DraftBudgetsTest, NothingIsRelaxedBeforeAPlanOrForEver) {
  EXPECT_FALSE(budgets.relax());
  budgets.learn(makePlan(20, 20));
  int count = 0;
  while (budgets.relax())
    ++count;
  EXPECT_EQ(count, 4);
}

TEST(DraftBudgets, AreForTheMeanOfTheMomentsWithMost) {
  // Before the first backward pass the first chunk has most in flight, later
  // the second one.
  Moment early{{4, 0}, {0, 0}}, late{{0, 4}, {0, 0}};
  CostVector small, large;
  small.savedBytes = 5;
  large.savedBytes = 30;
  DraftBudgets budgets({{100}, {early}}, /*freeBytes=*/100, /*hasRoom=*/false);
  EXPECT_TRUE(budgets.learn({{{small, large}, 20, true, late}}));
  const DraftLimits &limits = budgets.getLimits();
  EXPECT_EQ(limits.moments.front(), (Moment{{2, 2}, {0, 0}}));
  // 120 bytes at the peak are 70 at the mean.
  EXPECT_EQ(limits.budgets.front(), 50);
}

TEST(DraftBudgets, OfRoomsCountWhatTheirFullMomentLeavesOut) {
  // Four in flight have 80 bytes, what waits later 95, and the plan 98.
  Moment inFlight{{4}, {0}}, waiting{{0}, {19}};
  CostVector cost;
  cost.savedBytes = 20;
  cost.waitingBytes = 5;
  DraftBudgets budgets({{100}, {inFlight}}, /*freeBytes=*/100,
                       /*hasRoom=*/true);
  DraftBudgets::Plan fits = {
      {{cost}, /*excessBytes=*/-2, /*isLimited=*/true, waiting}};
  budgets.learn(fits);
  // Too large without anything that waits.
  DraftBudgets::Plan exceeds = {{{cost}, 8, true, inFlight}};
  EXPECT_TRUE(budgets.learn(exceeds));
  EXPECT_LT(budgets.getLimits().budgets.front(), 100);
}
