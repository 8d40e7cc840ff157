//===- PlanChoiceTest.cpp - Which of several problems is planned ----------===//

#include "parplan/Planner/PlanChoice.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

constexpr SearchEffort resorts = SearchEffort::lastResorts;

/// A plan of a candidate: what it takes, what it seems to need, and what its
/// program needs.
struct Price {
  double seconds = 0;
  int64_t estimate = 0;
  int64_t program = 0;
};

/// Plans with given prices; a search finds the fastest that seems to fit.
class GivenPrices : public CandidateOracle {
public:
  struct Entry {
    std::vector<Price> plans;
    double leastSeconds = 0;
    /// Why nothing is found, where it is not memory.
    std::string refusal;
    /// Of every plan, where none is found for that.
    int64_t leastBytes = PlanChoice::unknown;
    /// Of the plans of a joint search.
    int64_t microBatches = 0;
    /// Nothing: as long as each plan.
    std::optional<double> lowerBoundSeconds = std::nullopt;
  };
  std::map<PlanCandidate, Entry> entries;
  std::vector<PlanCandidate> searched, lowered;
  std::vector<double> budgets;
  std::optional<std::string> tierRefusal;
  /// With the plan of a joint search.
  std::vector<PlanCandidate> compared;
  /// Stopped as soon as something was searched.
  bool isEnding = false;
  bool fails = false;

  void add(PlanCandidate candidate, std::vector<Price> plans) {
    entries[candidate].plans = std::move(plans);
  }

  bool prepare(const PlanCandidate &candidate) override {
    return entries.count(candidate) > 0;
  }

  PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                    double seconds) override {
    searched.push_back(candidate);
    budgets.push_back(seconds);
    const Entry &entry = entries.at(candidate);
    PlanResult result;
    result.leastBytes = entry.leastBytes;
    if (!entry.refusal.empty()) {
      result.refusals = {entry.refusal};
      return result;
    }
    for (const Price &price : entry.plans) {
      result.smallestBytes = std::min(result.smallestBytes, price.estimate);
      result.boundWithoutLimitSeconds =
          std::min(result.boundWithoutLimitSeconds, price.seconds);
      if (price.estimate > limitBytes ||
          (result.answer && price.seconds >= result.evaluation.stepTimeSeconds))
        continue;
      result.answer.emplace();
      result.microBatches = entry.microBatches;
      result.evaluation.stepTimeSeconds = price.seconds;
      result.evaluation.peakBytes = price.estimate;
      double lower = entry.lowerBoundSeconds.value_or(price.seconds);
      result.certificate = {price.seconds, lower, lower == price.seconds, 1, 0};
    }
    return result;
  }

  std::vector<PlanCandidate> listCompared(const PlanCandidate &,
                                          const PlanResult &) override {
    return compared;
  }

  bool isStopped() const override { return isEnding && !searched.empty(); }

  std::optional<ProgramNeed> lower(const PlanCandidate &candidate,
                                   const PlanResult &plan) override {
    lowered.push_back(candidate);
    if (fails)
      return std::nullopt;
    for (const Price &price : entries[candidate].plans)
      if (price.estimate == plan.evaluation.peakBytes)
        return ProgramNeed{price.program, tierRefusal};
    ADD_FAILURE() << "a plan that nobody made";
    return std::nullopt;
  }

  double getLeastSeconds(const PlanCandidate &candidate,
                         double seconds) override {
    // Nobody makes the problem where there is no time for it.
    return seconds > 0 ? entries.at(candidate).leastSeconds : 0;
  }

  PlanChoice choose(llvm::ArrayRef<CandidateRound> rounds,
                    double seconds = 60) {
    return choosePlan(rounds, /*limitBytes=*/100, seconds, *this);
  }
};

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
  for (auto [seconds, isTaken] : {std::pair(2.99, false), {2.98, true}}) {
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

TEST(ChoosePlan, ComparesNothingWithoutAJointPlan) {
  GivenPrices prices;
  addJoint(prices, {});
  prices.compared = {{4}};
  prices.add({1}, {{6, 10, 10}});
  PlanChoice choice = prices.choose({{joint}, {{1}}});
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
}

TEST(ChoosePlan, ComparesAJointPlanAboutAsLongAsItTook) {
  GivenPrices prices;
  addJoint(prices, {{3, 10, 10}});
  prices.compared = {{4}};
  prices.choose({{joint}}, /*seconds=*/90);
  EXPECT_NEAR(prices.budgets[0], 45, 1);
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

TEST(ChoosePlan, LeavesTimeForWhatFollowsAJointSearch) {
  GivenPrices prices;
  addJoint(prices, {{3, 200, 200}});
  prices.add({1}, {{2, 10, 10}});
  PlanChoice choice =
      prices.choose({{{PlanCandidate::any}}, {{1}}}, /*seconds=*/90);
  EXPECT_EQ(choice.candidate, PlanCandidate({1}));
  EXPECT_NEAR(prices.budgets[0], 45, 1);
}

} // namespace
