//===- CutBoundTest.cpp - The least step over all cuts --------------------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/CutRaising.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

TEST(CutBound, LooksBeyondAnEqualCutThatDoesNotFit) {
  BlockPlan plan;
  plan.cost.forward = plan.cost.inputGradient = plan.cost.weightGradient = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {plan});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/3, /*isEnd=*/false);
  ScheduleShape shape{ScheduleKind::oneForwardOneBackward, /*positions=*/2};
  CutBound::Options options;
  options.effort = CutBound::Effort::all;
  CutBound bound(chain, shape, oracles, options);
  constexpr double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bound.find(never).counts, std::vector<int64_t>({1, 2}));
  // Two blocks are too large for the last position.
  for (size_t form = 0; form < bound.getForms(1).size(); ++form)
    bound.raiseCentre(1, form, /*before=*/1, /*count=*/2, never);
  CutPath path = bound.find(never);
  EXPECT_EQ(path.counts, std::vector<int64_t>({2, 1}));
  EXPECT_LT(path.seconds, never);
}

TEST(CutBound, RaisesWhatHoldsARaisedCentre) {
  BlockPlan plan;
  plan.cost.forward = plan.cost.inputGradient = plan.cost.weightGradient = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {plan});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/8, /*isEnd=*/false);
  ScheduleShape shape{ScheduleKind::oneForwardOneBackward, /*positions=*/3};
  CutBound bound(chain, shape, oracles, CutBound::Options());
  constexpr int64_t middle = 1, last = 2;
  auto get = [&](int64_t position, int64_t before, int64_t count) {
    return bound.getCentre(position, /*form=*/0, before, count);
  };
  double plain = get(middle, 2, 2);
  bound.raiseCentre(middle, /*form=*/0, /*before=*/2, /*count=*/3, 1000);
  EXPECT_EQ(get(middle, 2, 3), 1000);
  EXPECT_EQ(get(middle, 2, 4), 1000);
  EXPECT_EQ(get(middle, 3, 3), 1000) << "as many of equal blocks are the same";
  EXPECT_EQ(get(middle, 2, 2), plain);
  double ofLast = get(last, 6, 2);
  bound.raiseCentre(last, /*form=*/0, /*before=*/5, /*count=*/3, 1000);
  EXPECT_EQ(get(last, 4, 4), 1000);
  EXPECT_EQ(get(last, 6, 2), ofLast);
}

TEST(CutRaising, EndsWhereTheCutoffIsReachedExactly) {
  // Keeps a byte in a second, or none in two.
  BlockPlan kept, made;
  kept.cost.forward = 1;
  kept.cost.savedBytes = 1;
  made.cost.forward = 2;
  made.mode = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {kept, made});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/2, /*isEnd=*/false);
  MemoryDual dual(chain, oracles);
  ScheduleShape shape{ScheduleKind::gpipe, /*positions=*/2, /*microBatches=*/4};
  CutBound::Options options;
  options.effort = CutBound::Effort::all;
  constexpr double never = std::numeric_limits<double>::infinity();
  CutBound free(chain, shape, oracles, options);
  double without = free.find(never).seconds;
  for (double freeBytes : {0.0, 1.0, 2.0, 4.0}) {
    CutBound bound(chain, shape, oracles, options);
    CutPath within = raiseCut(bound, shape, chain, dual, freeBytes, never);
    EXPECT_EQ(within.seconds > without, freeBytes < 4);
    for (double cutoff : {without, within.seconds}) {
      CutBound again(chain, shape, oracles, options);
      CutPath path = raiseCut(again, shape, chain, dual, freeBytes, cutoff);
      EXPECT_TRUE(path.counts.empty() || path.seconds <= cutoff);
    }
  }
}
