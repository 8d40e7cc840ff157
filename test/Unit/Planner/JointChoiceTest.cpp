//===- JointChoiceTest.cpp - Joint searches among candidates --------------===//

#include "GivenPrices.h"

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(ListCandidates, HasOneJointCandidatePerOrder) {
  EXPECT_EQ(listJointCandidates({1, 4}), CandidateRound({{0, 1}, {0, 4}}));
}

/// A search over all numbers of micro-batches, whose plan has four.
void addJoint(GivenPrices &prices, std::vector<Price> plans) {
  prices.add({PlanCandidate::any}, std::move(plans));
  prices.entries[{PlanCandidate::any}].microBatches = 4;
  prices.add({4}, prices.entries[{PlanCandidate::any}].plans);
}

TEST(ChoosePlan, TakesTheNumberOfAJointSearch) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.add({1}, {{2, 10, 10}});
  PlanChoice choice = prices.choose({{{PlanCandidate::any}}, {{1}, {4}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(prices.lowered, CandidateRound({{4}}));
  EXPECT_EQ(choice.searched, PlanCandidate({PlanCandidate::any}));
  EXPECT_EQ(choice.seconds.at({PlanCandidate::any}), 3);
  // Its bound is that of all numbers.
  EXPECT_EQ(prices.searched.size(), 1u);
  EXPECT_TRUE(choice.plan.certificate.exact);
}

const PlanCandidate joint = {PlanCandidate::any};

TEST(ChoosePlan, TakesWhatIsFasterThanAJointPlan) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.entries[{4}].plans = {{2, 20, 20}};
  prices.compared = {{4}};
  PlanChoice choice = prices.choose({{joint}, {{1}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.searched, PlanCandidate({4}));
  // The joint search bounds other plans.
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 2);
}

TEST(ChoosePlan, BoundsWhatIsComparedByTheLeastOfBothSearches) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.entries[joint].lowerBoundSeconds = 1;
  prices.entries[{4}].plans = {{2, 20, 20}};
  prices.compared = {{4}};
  PlanChoice choice = prices.choose({{joint}, {{1}}});
  EXPECT_EQ(choice.searched, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
}

TEST(ChoosePlan, KeepsAJointPlanThatIsFasterThanWhatItIsComparedWith) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.entries[{4}].plans = {{5, 10, 10}};
  prices.compared = {{4}};
  PlanChoice choice = prices.choose({{joint}, {{1}}});
  EXPECT_EQ(choice.searched, joint);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 3);
}

TEST(ChoosePlan, KeepsTheBoundOfAJointPlanThatIsHardlySlower) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.compared = {{4}};
  for (auto [seconds, isTaken] : {std::pair(2.98, false), {2.96, true}}) {
    prices.entries[{4}].plans = {{seconds, 20, 20}, {3, 10, 10}};
    EXPECT_EQ(prices.choose({{joint}}).searched,
              isTaken ? PlanCandidate({4}) : joint);
  }
}

TEST(ChoosePlan, FallsBackOnTheJointPlanWhereComparedProgramsAreTooLarge) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.entries[{4}].plans = {
      {2, 90, 101}, {2.1, 89, 101}, {2.2, 88, 101}, {2.3, 87, 87}, {3, 10, 10}};
  prices.compared = {{4}};
  EXPECT_EQ(prices.choose({{joint}, {{1}}}).searched, joint);
  // The fourth would have been smaller.
  EXPECT_EQ(prices.searched.size(), 4u);
}

TEST(ChoosePlan, CountsWhatWasComparedWhereAnotherRoundFits) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 1000}});
  prices.entries[{4}].plans = {{2, 90, 110}, {3, 10, 1000}};
  prices.compared = {{4}};
  prices.add({8}, {{6, 10, 10}});
  PlanChoice choice = prices.choose({{joint}, {{8}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({8}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 2);
}

const PlanCandidate onHost = {PlanCandidate::any, 1,
                              SearchEffort::updatesOnHost};

/// The same with updates on the host.
void addOnHost(GivenPrices &prices, std::vector<Price> plans) {
  PlanCandidate planned = onHost;
  planned.microBatches = prices.entries[onHost].microBatches = 4;
  prices.add(planned, plans);
  prices.add(onHost, std::move(plans));
  prices.compared = {onHost};
}

TEST(ChoosePlan, SearchesWithUpdatesOnTheHostWhereAJointSearchFindsNothing) {
  GivenPrices prices;
  addJoint(prices, {});
  addOnHost(prices, {{5, 10, 10}});
  prices.add({1}, {{6, 10, 10}});
  PlanChoice choice = prices.choose({{joint}, {{1}}});
  EXPECT_EQ(choice.searched, onHost);
  EXPECT_EQ(choice.candidate->microBatches, 4);
  EXPECT_EQ(prices.lowered, CandidateRound({*choice.candidate}));
}

TEST(ChoosePlan, ComparesWhatUpdatesOnTheHostAreComparedWith) {
  GivenPrices prices;
  addJoint(prices, {});
  addOnHost(prices, {{5, 10, 10}});
  const PlanCandidate resort = {4, 1, SearchEffort::lastResorts};
  prices.comparedWithHost = {resort};
  prices.add(resort, {{4, 10, 10}});
  EXPECT_EQ(prices.choose({{joint}}).searched, resort);
  prices.add(resort, {{6, 10, 10}});
  EXPECT_EQ(prices.choose({{joint}}).searched, onHost);
}

TEST(ChoosePlan, GivesUpdatesOnTheHostHalfOfTheTimeThatIsLeft) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  addOnHost(prices, {{2, 10, 10}});
  prices.choose({{joint}}, /*seconds=*/90);
  EXPECT_NEAR(prices.budgets[1], 45, 1);
}

TEST(ChoosePlan, BoundsUpdatesOnTheHostWhereTheyAreTheChoice) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  addOnHost(prices, {{2, 10, 10}});
  prices.entries[onHost].lowerBoundSeconds = 1;
  PlanChoice choice = prices.choose({{joint}});
  EXPECT_EQ(choice.searched, onHost);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
  // They are outside of what a usual joint search says.
  addOnHost(prices, {{4, 10, 10}});
  choice = prices.choose({{joint}});
  EXPECT_EQ(choice.searched, joint);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 3);
}

TEST(ChoosePlan, ComparesAJointPlanAboutAsLongAsItTook) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.compared = {{4}};
  prices.choose({{joint}}, /*seconds=*/90);
  EXPECT_NEAR(prices.budgets[0], 90 / 1.25, 1);
  // That took no time; ten seconds are worth a look.
  EXPECT_NEAR(prices.budgets[1], 10, 1e-9);
}

TEST(ChoosePlan, ComparesNothingWhenTimeIsOver) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.compared = {{4}};
  prices.isEnding = true;
  EXPECT_EQ(prices.choose({{joint}}).searched, joint);
  EXPECT_EQ(prices.searched.size(), 1u);
}

TEST(ChoosePlan, SearchesJointlyWithLessWhereAProgramIsTooLarge) {
  GivenPrices prices;
  addJoint(prices, {{3, 90, 110}, {4, 70, 80}});
  PlanChoice choice = prices.choose({{{PlanCandidate::any}}, {{1}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.evaluation.stepTimeSeconds, 4);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 3);
}

TEST(ChoosePlan, BoundsTheOrderOfAJointSearchAlone) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.add({1}, {{4, 10, 10}});
  prices.add({1, 2}, {{4, 10, 10}});
  prices.entries[{1, 2}].leastSeconds = 1;
  PlanChoice choice = prices.choose({{{PlanCandidate::any}}, {{1}, {1, 2}}});
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 3);
}

TEST(ChoosePlan, AsksAJointSearchForLessMemory) {
  GivenPrices prices;
  addJoint(prices, {{3, 90, 104}, {4, 83, 99}});
  PlanChoice choice =
      prices.choose({{{PlanCandidate::any}}, {{1}}}, /*seconds=*/1);
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
}

TEST(ChoosePlan, GoesOnWhereAJointSearchFindsNothing) {
  GivenPrices prices;
  prices.entries[{PlanCandidate::any}].refusal = "too wide";
  prices.add({1}, {{5, 10, 10}});
  prices.add({3}, {{4, 10, 10}});
  prices.entries[{3}].leastSeconds = 2;
  PlanChoice choice = prices.choose({{{PlanCandidate::any}}, {{1}}, {{3}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 5);
  // Nor does it where there is no time.
  choice = prices.choose({{{PlanCandidate::any}}, {{1}}}, /*seconds=*/0);
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
}

TEST(ChoosePlan, TriesLastResortsWhereMemoryKeepsAJointSearchFromAPlan) {
  const PlanCandidate joint = {PlanCandidate::any},
                      resort = {1, 1, SearchEffort::lastResorts};
  GivenPrices prices;
  prices.entries[joint].leastBytes = 200;
  prices.add({1}, {{2, 10, 10}});
  prices.add(resort, {{3, 10, 10}});
  EXPECT_EQ(prices.choose({{joint}, {{1}}, {resort}}).candidate, resort);
  // It need not have judged any.
  prices.entries[joint] = {};
  EXPECT_EQ(prices.choose({{joint}, {{1}}, {resort}}).candidate, resort);
  // Not where it is something else.
  prices.entries[joint] = {};
  prices.entries[joint].refusal = "too wide";
  EXPECT_EQ(prices.choose({{joint}, {{1}}, {resort}}).candidate,
            PlanCandidate({1}));
}

TEST(ChoosePlan, LeavesALittleTimeForWhatFollowsAJointSearch) {
  GivenPrices prices;
  addJoint(prices, {{3, 200, 200}});
  prices.add({1}, {{2, 10, 10}});
  PlanChoice choice =
      prices.choose({{{PlanCandidate::any}}, {{1}}}, /*seconds=*/90);
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
  EXPECT_NEAR(prices.budgets[0], 90 / 1.25, 1);
}

} // namespace
