//===- PlanChoiceTest.cpp - Which of several problems is planned ----------===//

#include "GivenPrices.h"

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(ListCandidates, HasAsFewMicroBatchesAsFit) {
  std::vector<CandidateRound> rounds =
      listCandidates({1, 2, 4}, {1, 2}, /*positions=*/1, /*isTraining=*/true);
  EXPECT_EQ(rounds, (std::vector<CandidateRound>{{{1, 1}, {1, 2}},
                                                 {{2, 1}, {2, 2}},
                                                 {{4, 1}, {4, 2}},
                                                 {{1, 1, resorts},
                                                  {1, 2, resorts},
                                                  {2, 1, resorts},
                                                  {2, 2, resorts},
                                                  {4, 1, resorts},
                                                  {4, 2, resorts}}}));
}

TEST(ListCandidates, HasEveryNumberOfRanksOfExperts) {
  std::vector<CandidateRound> rounds = listCandidates(
      {1}, 1, /*positions=*/1, /*isTraining=*/true, /*experts=*/{1, 4});
  EXPECT_EQ(rounds.front(), CandidateRound({{1, 1, SearchEffort::usual, 1},
                                            {1, 1, SearchEffort::usual, 4}}));
}

TEST(PlanCandidate, IsOfTheRanksOfExpertsOfItsPlan) {
  PlanningAnswer answer;
  PlanCandidate joint{PlanCandidate::any};
  EXPECT_EQ(joint.getPlanned(8, answer), PlanCandidate({8}));
  answer.mesh =
      Mesh({{"dp0", 2, AxisRole::data}, {"ep0", 4, AxisRole::expert}});
  EXPECT_EQ(joint.getPlanned(8, answer),
            PlanCandidate({8, 1, SearchEffort::usual, 4}));
}

TEST(ListCandidates, ComparesNumbersOfMicroBatchesOfAPipeline) {
  auto getFirst = [](llvm::ArrayRef<int64_t> counts, bool isTraining) {
    std::vector<CandidateRound> rounds =
        listCandidates(counts, 1, /*positions=*/4, isTraining);
    std::vector<int64_t> first;
    for (const PlanCandidate &candidate : rounds.front())
      first.push_back(candidate.microBatches);
    return first;
  };
  using Counts = std::vector<int64_t>;
  EXPECT_EQ(getFirst({1, 2, 4, 8, 16, 32, 64}, true), Counts({4, 8, 16, 32}));
  EXPECT_EQ(getFirst({1, 2, 4, 8, 16, 32, 64}, false),
            Counts({1, 2, 4, 8, 16, 32}));
  // None is in the range: the next, or the most there are.
  EXPECT_EQ(getFirst({1, 64}, true), Counts({64}));
  EXPECT_EQ(getFirst({1, 3}, true), Counts({3}));
  std::vector<CandidateRound> rounds =
      listCandidates({1, 4, 8, 64}, 1, /*positions=*/4, /*isTraining=*/true);
  ASSERT_EQ(rounds.size(), 4u);
  EXPECT_EQ(rounds[1], CandidateRound({{1, 1}}));
  EXPECT_EQ(rounds[2], CandidateRound({{64, 1}}));
  EXPECT_EQ(rounds[3].size(), 4u);
}

TEST(ChoosePlan, TakesTheFastestOfARound) {
  GivenPrices prices;
  prices.add({4}, {{5, 10, 10}});
  prices.add({8}, {{3, 10, 10}});
  prices.add({16}, {{4, 10, 10}});
  PlanChoice choice = prices.choose({{{4}, {8}, {16}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({8}));
  // The plan that was compared is the one that is lowered.
  EXPECT_EQ(prices.searched.size(), 3u);
  EXPECT_EQ(prices.lowered, CandidateRound({{8}}));
  EXPECT_TRUE(choice.plan.certificate.exact);
  EXPECT_EQ(choice.seconds.at({4}), 5);
}

TEST(ChoosePlan, LooksAtTheNextRoundOnlyWhereNothingFits) {
  GivenPrices prices;
  prices.add({1}, {{1, 300, 300}});
  prices.add({2}, {{2, 90, 90}});
  prices.add({4}, {{3, 50, 50}});
  PlanChoice choice = prices.choose({{{1}}, {{2}}, {{4}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({2}));
  EXPECT_EQ(prices.searched, CandidateRound({{1}, {2}}));
}

TEST(ChoosePlan, TakesZigzagOfEqualTimes) {
  GivenPrices prices;
  prices.add({1, 1}, {{3, 10, 10}});
  prices.add({1, 2}, {{3 * (1 + 1e-12), 10, 10}});
  prices.add({1, 4}, {{3, 10, 10}});
  // The first of several.
  PlanChoice choice = prices.choose({{{1, 1}, {1, 2}, {1, 4}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1, 2}));
  EXPECT_TRUE(choice.plan.certificate.exact);
  prices.add({1, 2}, {{3.001, 10, 10}});
  EXPECT_EQ(prices.choose({{{1, 1}, {1, 2}}}).candidate, PlanCandidate({1, 1}));
}

TEST(ChoosePlan, PlansAgainWithLessWhereAProgramIsTooLarge) {
  GivenPrices prices;
  prices.add({1}, {{1, 95, 110}, {2, 86, 101}, {3, 80, 99}});
  PlanChoice choice = prices.choose({{{1}}});
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.plan.evaluation.stepTimeSeconds, 3);
  EXPECT_EQ(prices.lowered.size(), 3u);
  // The program of the first might have fitted: estimates bound nothing.
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
  EXPECT_FALSE(choice.plan.certificate.exact);
}

TEST(ChoosePlan, GoesOnWithTheFastestOfAllCandidates) {
  // In zig-zag order what fits is slower than in the model's.
  GivenPrices prices;
  prices.add({1, 1}, {{2, 90, 95}});
  prices.add({1, 2}, {{1, 95, 110}, {3, 80, 80}});
  PlanChoice choice = prices.choose({{{1, 1}, {1, 2}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1, 1}));
  EXPECT_EQ(prices.lowered, CandidateRound({{1, 2}, {1, 1}}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
}

TEST(ChoosePlan, GivesUpAPlanAfterEightPrograms) {
  GivenPrices prices;
  std::vector<Price> plans;
  for (int64_t number = 0; number < 20; ++number)
    plans.push_back({1.0 + double(number), 100 - number, 101});
  prices.add({1}, plans);
  PlanChoice choice = prices.choose({{{1}}});
  EXPECT_FALSE(choice.candidate);
  EXPECT_EQ(prices.lowered.size(), 8u);
  EXPECT_EQ(choice.describeLack(), "the smallest that was lowered takes 101 B");
}

TEST(ChoosePlan, LowersTheSmallestWhereNoEstimateFits) {
  GivenPrices prices;
  prices.add({1, 1}, {{1, 160, 120}, {2, 120, 105}});
  prices.add({1, 2}, {{3, 110, 95}});
  prices.add({1, 4}, {{1, 105, 101}});
  PlanChoice choice = prices.choose({{{1, 1}, {1, 2}, {1, 4}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1, 2}));
  EXPECT_EQ(prices.lowered, CandidateRound({{1, 4}, {1, 2}}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
  EXPECT_FALSE(choice.plan.certificate.exact);
}

TEST(ChoosePlan, LowersNoPlanTwice) {
  GivenPrices prices;
  prices.add({1}, {{1, 100, 130}});
  EXPECT_FALSE(prices.choose({{{1}}}).candidate);
  EXPECT_EQ(prices.lowered.size(), 1u);
}

TEST(ChoosePlan, LowersNothingThatNeedsTwiceTheLimit) {
  GivenPrices prices;
  prices.add({1}, {{1, 260, 90}});
  prices.add({2}, {{1, 240, 90}});
  prices.add({4}, {{1, 250, 90}});
  PlanChoice choice = prices.choose({{{1}}, {{2}}, {{4}}});
  EXPECT_TRUE(prices.lowered.empty());
  // The least need of all of them.
  EXPECT_EQ(choice.describeLack(), "the smallest that was found needs 240 B");
}

TEST(ChoosePlan, StatesTheLeastProgramOfAllCandidates) {
  GivenPrices prices;
  prices.add({1}, {{1, 100, 130}});
  prices.add({2}, {{1, 100, 110}});
  prices.add({4}, {{1, 100, 120}});
  PlanChoice choice = prices.choose({{{1}}, {{2}}, {{4}}});
  EXPECT_FALSE(choice.candidate);
  EXPECT_EQ(choice.describeLack(), "the smallest that was lowered takes 110 B");
}

TEST(ChoosePlan, BoundsAllThatItCompared) {
  GivenPrices prices;
  prices.add({4}, {{4, 10, 10}});
  // Does not fit, but one might be as fast as that.
  prices.add({8}, {{1, 300, 300}});
  PlanChoice choice = prices.choose({{{4}, {8}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.certificate.upperBoundSeconds, 4);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
  EXPECT_FALSE(choice.plan.certificate.exact);
}

TEST(ChoosePlan, CountsWhatItDidNotSearchWithItsLeastTime) {
  GivenPrices prices;
  prices.add({4}, {{4, 10, 10}});
  prices.add({2}, {});
  prices.entries[{2}].leastSeconds = 1;
  // Cuts a step further that was searched: outside of the bound.
  prices.add({8}, {});
  PlanChoice choice = prices.choose({{{4}}, {{2}}, {{8}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
  prices.entries[{2}].leastSeconds = 5;
  choice = prices.choose({{{4}}, {{2}}, {{8}}});
  EXPECT_TRUE(choice.plan.certificate.exact);
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 4);
}

TEST(ChoosePlan, LeavesLastResortsOutOfTheBoundUnlessOneIsTaken) {
  GivenPrices prices;
  prices.add({1}, {{4, 100, 100}});
  prices.add({1, 1, resorts}, {{3, 50, 50}});
  PlanChoice choice = prices.choose({{{1}}, {{1, 1, resorts}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
  EXPECT_TRUE(choice.plan.certificate.exact);
  prices.add({1}, {{1, 300, 300}});
  choice = prices.choose({{{1}}, {{1, 1, resorts}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1, 1, resorts}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 1);
}

TEST(ChoosePlan, ComparesLastResortsOfAllNumbers) {
  GivenPrices prices;
  for (int64_t count : {1, 2, 4})
    prices.add({count}, {{1, 300, 300}});
  prices.add({1, 1, resorts}, {{9, 50, 50}});
  prices.add({2, 1, resorts}, {{7, 50, 50}});
  prices.add({4, 1, resorts}, {{8, 50, 50}});
  EXPECT_EQ(prices.choose(listCandidates({1, 2, 4}, 1, 1, true)).candidate,
            PlanCandidate({2, 1, resorts}));
}

TEST(ChoosePlan, EndsWhereMemoryIsNotWhatLacks) {
  GivenPrices prices;
  prices.entries[{1}].refusal = "no mesh";
  prices.add({2}, {{1, 10, 10}});
  PlanChoice choice = prices.choose({{{1}}, {{2}}});
  EXPECT_FALSE(choice.candidate);
  EXPECT_EQ(choice.describeLack(), std::nullopt);
  EXPECT_EQ(prices.searched.size(), 1u);
}

TEST(ChoosePlan, CutsNoFurtherThanPossible) {
  GivenPrices prices;
  prices.add({1}, {{1, 300, 300}});
  prices.add({1, 1, resorts}, {{2, 50, 50}});
  PlanChoice choice = prices.choose(listCandidates({1, 2, 4}, 1, 1, true));
  EXPECT_EQ(choice.candidate, PlanCandidate({1, 1, resorts}));
  EXPECT_EQ(prices.searched, CandidateRound({{1}, {1, 1, resorts}}));
}

TEST(ChoosePlan, SharesTheTimeOnce) {
  GivenPrices prices;
  prices.add({4}, {{4, 10, 10}});
  prices.add({8}, {{3, 10, 10}});
  prices.choose({{{4}, {8}}}, /*seconds=*/90);
  ASSERT_EQ(prices.budgets.size(), 2u);
  // A third is for what follows.
  EXPECT_NEAR(prices.budgets[0], 30, 1);
  EXPECT_NEAR(prices.budgets[1], 45, 1);
  // Alone it has almost all of it: bounds of others need some.
  prices.choose({{{4}}}, 90);
  EXPECT_NEAR(prices.budgets[2], 82, 1);
}

TEST(ChoosePlan, SearchesOneCandidateWithoutTime) {
  GivenPrices prices;
  prices.add({4}, {{4, 10, 10}});
  prices.add({6}, {{3, 10, 10}});
  PlanChoice choice = prices.choose({{{4}, {6}}, {{4, 1, resorts}}}, 0);
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 0);
  EXPECT_FALSE(choice.plan.certificate.exact);
}

TEST(ChoosePlan, BoundsWhatTheFirstSearchLeftNoTimeFor) {
  GivenPrices prices;
  prices.add({4}, {{4, 10, 10}});
  prices.add({6}, {{3, 10, 10}});
  prices.entries[{6}].leastSeconds = 2;
  // A twentieth of that for bounds is long enough on a busy machine, too.
  prices.searchSeconds = 2;
  PlanChoice choice = prices.choose({{{4}, {6}}}, /*seconds=*/2);
  EXPECT_EQ(prices.searched.size(), 1u);
  EXPECT_EQ(choice.candidate, PlanCandidate({4}));
  EXPECT_EQ(choice.plan.certificate.lowerBoundSeconds, 2);
}

TEST(ChoosePlan, SaysWhetherTimeWasOverWhereNothingFits) {
  GivenPrices prices;
  prices.add({1}, {{5, 1000, 1000}});
  prices.add({2}, {{5, 900, 900}});
  EXPECT_FALSE(prices.choose({{{1}}, {{2}}}).isCutShort);
  // The second candidate was not looked at.
  PlanChoice choice = prices.choose({{{1}}, {{2}}}, /*seconds=*/0);
  EXPECT_FALSE(choice.candidate);
  EXPECT_TRUE(choice.isCutShort);
}

TEST(ChoosePlan, EndsWithAFault) {
  GivenPrices prices;
  prices.add({1}, {{1, 10, 10}});
  prices.fails = true;
  PlanChoice choice = prices.choose({{{1}}});
  EXPECT_TRUE(choice.isFault);
  EXPECT_FALSE(choice.candidate);
}

TEST(ChoosePlan, NamesATierThatIsTooSmall) {
  GivenPrices prices;
  prices.add({1}, {{1, 10, 10}});
  prices.tierRefusal = "it needs more of the host";
  EXPECT_EQ(prices.choose({{{1}}}).describeLack(), "it needs more of the host");
}

} // namespace
