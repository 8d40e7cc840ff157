//===- EarlyProgramTest.cpp - A program that is made beside a search ------===//

#include "lib/Driver/EarlyProgram.h"

#include <gtest/gtest.h>

#include <future>

using namespace parplan;

namespace {

EarlyProgram::Plan makePlan(int64_t microBatches) {
  EarlyProgram::Plan plan;
  plan.candidate.microBatches = microBatches;
  plan.answer.mesh = Mesh({{"dp0", microBatches, AxisRole::data}});
  return plan;
}

/// The program says which plan it is of.
LoweredProgram makeProgram(const EarlyProgram::Plan &plan) {
  LoweredProgram program;
  program.prediction.ranks.resize(plan.candidate.microBatches);
  return program;
}

} // namespace

TEST(EarlyProgram, IsThatOfThePlanThatWasBegun) {
  EarlyProgram early(
      [](const EarlyProgram::Plan &plan, const std::atomic<bool> &) {
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan plan = makePlan(4);
  early.begin(plan);
  early.settle(&plan);
  std::optional<LoweredProgram> program = early.take(plan);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->prediction.ranks.size(), 4u);
  EXPECT_FALSE(early.take(plan)) << "taken once";
}

TEST(EarlyProgram, IsMadeBesideWhoeverBegan) {
  std::promise<void> isBegun;
  EarlyProgram early(
      [&](const EarlyProgram::Plan &plan, const std::atomic<bool> &) {
        isBegun.get_future().wait();
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan plan = makePlan(2);
  early.begin(plan);
  isBegun.set_value();
  early.settle(&plan);
  EXPECT_TRUE(early.take(plan));
}

TEST(EarlyProgram, StopsForABetterPlan) {
  std::vector<int64_t> begun;
  EarlyProgram early(
      [&](const EarlyProgram::Plan &plan, const std::atomic<bool> &stop) {
        begun.push_back(plan.candidate.microBatches);
        while (plan.candidate.microBatches == 1 && !stop)
          std::this_thread::yield();
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan worse = makePlan(1), better = makePlan(2);
  early.begin(worse);
  early.begin(better);
  early.settle(&better);
  EXPECT_EQ(begun.back(), 2);
  EXPECT_TRUE(early.take(better));
}

TEST(EarlyProgram, StopsWhereTheSearchEndsWithAnotherPlan) {
  EarlyProgram early(
      [](const EarlyProgram::Plan &plan, const std::atomic<bool> &stop) {
        while (!stop)
          std::this_thread::yield();
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan begun = makePlan(1), found = makePlan(2);
  early.begin(begun);
  early.settle(&found);
  EXPECT_FALSE(early.take(begun));
  EXPECT_FALSE(early.take(found));
}

TEST(EarlyProgram, TellsPlansApartByAllThatTheyDecide) {
  EarlyProgram early(
      [](const EarlyProgram::Plan &plan, const std::atomic<bool> &) {
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan begun = makePlan(2), found = begun;
  found.answer.recomputed = {true};
  early.begin(begun);
  early.settle(&begun);
  EXPECT_FALSE(early.take(found));
}

TEST(EarlyProgram, IsDroppedForAnotherPlan) {
  EarlyProgram early(
      [](const EarlyProgram::Plan &plan, const std::atomic<bool> &) {
        return std::optional(makeProgram(plan));
      });
  EarlyProgram::Plan begun = makePlan(2);
  early.begin(begun);
  early.settle(&begun);
  EXPECT_FALSE(early.take(makePlan(4)));
  EXPECT_FALSE(early.take(begun));
}

TEST(EarlyProgram, MayHaveNone) {
  EarlyProgram early([](const EarlyProgram::Plan &, const std::atomic<bool> &) {
    return std::optional<LoweredProgram>();
  });
  EarlyProgram::Plan plan = makePlan(1);
  early.begin(plan);
  early.settle(&plan);
  EXPECT_FALSE(early.take(plan));
}

TEST(EarlyProgram, BeginsAgainAfterItWasSettled) {
  EarlyProgram early(
      [](const EarlyProgram::Plan &plan, const std::atomic<bool> &) {
        return std::optional(makeProgram(plan));
      });
  for (int64_t count : {1, 2}) {
    EarlyProgram::Plan plan = makePlan(count);
    early.begin(plan);
    early.settle(&plan);
    EXPECT_TRUE(early.take(plan));
  }
}
