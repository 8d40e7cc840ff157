//===- PathBoundTest.cpp - Steps take the longest path at least -----------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/CutRaising.h"
#include "lib/Planner/Joint/PathBound.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double messageSeconds = 0.2;

/// Sixteen equal blocks on four positions, each as one of a few plans.
class PathBoundTest : public testing::Test {
protected:
  double getBound(std::vector<BlockPlan> plans, double freeBytes,
                  Meeting meeting = Meeting::always) {
    ListOracle oracle(/*inCount=*/1, /*outCount=*/1, std::move(plans));
    AskedOracles oracles({&oracle}, allModes);
    UnitChain chain;
    chain.add(/*type=*/0, /*count=*/16, /*isEnd=*/false);
    MemoryDual dual(chain, oracles);
    CutBound::Options options;
    options.effort = CutBound::Effort::all;
    options.meeting = meeting;
    options.leastMessageSeconds = messageSeconds;
    CutBound cuts(chain, shape, oracles, options);
    CutPath likely = raiseCut(cuts, shape, chain, dual, freeBytes, never);
    busyBound = likely.seconds;
    return PathBound(cuts, likely, chain, shape, dual,
                     {meeting, messageSeconds, freeBytes})
        .find(never);
  }

  /// With so much for each block.
  double simulateEqual(const CostVector &cost) const {
    PassTimes times{cost.forward, cost.inputGradient, cost.weightGradient};
    return simulate(makeSchedule(shape), StageTimes(16, times), messageSeconds)
        .makespanSeconds;
  }

  ScheduleShape shape{ScheduleKind::interleaved, /*positions=*/4,
                      /*microBatches=*/8, /*chunks=*/4};
  /// What formulas with one busy position say.
  double busyBound = 0;
};

BlockPlan makePlan(double seconds, double savedBytes, int mode) {
  BlockPlan plan;
  plan.cost.forward = plan.cost.inputGradient = plan.cost.weightGradient =
      seconds;
  plan.cost.savedBytes = savedBytes;
  plan.mode = mode;
  return plan;
}

} // namespace

TEST_F(PathBoundTest, SeesMessagesThatHoldUpEveryChunk) {
  BlockPlan plan = makePlan(1, 0, 0);
  double bound = getBound({plan}, 0), seconds = simulateEqual(plan.cost);
  EXPECT_NEAR(bound, seconds, 1e-9 * seconds);
  EXPECT_LT(busyBound, 0.98 * seconds);
}

TEST_F(PathBoundTest, EveryPositionHasToFit) {
  BlockPlan kept = makePlan(1, 1, 0), made = makePlan(1.5, 0, 1);
  double fast = simulateEqual(kept.cost), slow = simulateEqual(made.cost);
  double all = getBound({kept, made}, 100), none = getBound({kept, made}, 0);
  EXPECT_NEAR(all, fast, 1e-9 * fast);
  EXPECT_NEAR(none, slow, 1e-9 * slow);
}

TEST_F(PathBoundTest, CountsOnceWhatPositionsDoOncePerStep) {
  BlockPlan plan = makePlan(1, 0, 0);
  double passes = getBound({plan}, 0);
  // Four blocks of each position.
  plan.cost.meeting = 0.5;
  plan.cost.ends = 0.25;
  EXPECT_NEAR(getBound({plan}, 0, Meeting::always), passes + 2 + 1, 1e-9);
  EXPECT_NEAR(getBound({plan}, 0, Meeting::never), passes + 2 + 1, 1e-9);
  EXPECT_NEAR(getBound({plan}, 0, Meeting::bySomeCuts), passes + 2 + 1, 1e-9);
}
