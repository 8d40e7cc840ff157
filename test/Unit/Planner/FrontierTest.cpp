//===- FrontierTest.cpp - What is left of all configurations --------------===//

#include "lib/Planner/Joint/Frontier.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of spaces 0, 1, ... with these bounds.
Frontier makeFrontier(llvm::ArrayRef<double> bounds) {
  Frontier frontier;
  for (auto [space, bound] : llvm::enumerate(bounds))
    frontier.add({{static_cast<int>(space), 1, {}}, BoundLevel::none, bound});
  return frontier;
}

TEST(Frontier, HasTheLeastBoundFirstAndEqualOnesInOrder) {
  Frontier frontier = makeFrontier({3, 2, 2, 4});
  std::vector<size_t> order;
  for (auto [bound, number] : frontier.getOpen())
    order.push_back(number);
  EXPECT_EQ(order, (std::vector<size_t>{1, 2, 0, 3}));
  EXPECT_EQ(frontier.getLeastOpen(), 2);
}

TEST(Frontier, DoesNotOpenWhatIsImpossible) {
  Frontier frontier = makeFrontier({infinity});
  EXPECT_EQ(frontier.getLeastOpen(), infinity);
  EXPECT_EQ(frontier.getPrunedCount(), 0);
}

TEST(Frontier, RaisesWhatIsTaken) {
  Frontier frontier = makeFrontier({1, 2});
  frontier.take(0);
  frontier.raise(0, 3);
  frontier.giveBack(0);
  EXPECT_EQ(frontier[0].level, BoundLevel::scaled);
  EXPECT_EQ(frontier.getLeastOpen(), 2);
  frontier.take(0);
  frontier.raise(0, 1);
  EXPECT_EQ(frontier[0].bound, 3) << "a lower bound says nothing";
}

TEST(Frontier, IsBoundedByWhatIsClosed) {
  Frontier frontier = makeFrontier({1, 2});
  frontier.take(0);
  frontier.close(1.5, 0, /*isCutOff=*/false);
  Frontier::LeastBound least = frontier.getLeastBound(/*planSeconds=*/3);
  EXPECT_EQ(least.seconds, 1.5);
  ASSERT_TRUE(least.of);
  EXPECT_EQ(least.of->space, 0);
}

TEST(Frontier, IsBoundedByAPlanThatNothingBeats) {
  Frontier frontier = makeFrontier({3, 4});
  Frontier::LeastBound least = frontier.getLeastBound(/*planSeconds=*/3);
  EXPECT_EQ(least.seconds, 3);
  EXPECT_FALSE(least.of);
}

TEST(Frontier, CountsWhatNobodyPlanned) {
  Frontier frontier = makeFrontier({1, 2, 3, 4});
  frontier.take(0);
  frontier.close(1, 0, /*isCutOff=*/false);
  frontier.take(1);
  frontier.close(2, 1, /*isCutOff=*/true);
  frontier.take(2);
  frontier.close(infinity, 2, /*isCutOff=*/true);
  EXPECT_EQ(frontier.getPrunedCount(), 2) << "one is cut off, one is open";
}

/// What is open of a space with so many micro-batches, at a level.
struct Open {
  int space;
  int64_t microBatches;
  BoundLevel level;
};

/// Their bounds are 1, 2, ...
Frontier makeFrontierOf(llvm::ArrayRef<Open> all) {
  Frontier frontier;
  double bound = 0;
  for (const Open &open : all)
    frontier.add({{open.space, open.microBatches, {}}, open.level, ++bound});
  return frontier;
}

constexpr BoundLevel early = BoundLevel::relaxed, ofState = BoundLevel::blocks,
                     beforePlan = BoundLevel::path;
using Numbers = std::vector<size_t>;

TEST(Frontier, TakesAllThatAStateHasBelowTheCutoff) {
  Frontier frontier = makeFrontierOf(
      {{0, 1, ofState}, {0, 1, ofState}, {1, 1, ofState}, {0, 1, ofState}});
  EXPECT_EQ(frontier.takeBest(/*cutoff=*/4), (Numbers{0, 1, 2}));
  EXPECT_EQ(frontier.getOpen().size(), 1u);
}

TEST(Frontier, TakesOneOfEachStateWithoutACutoff) {
  Frontier frontier =
      makeFrontierOf({{0, 1, ofState}, {0, 1, ofState}, {0, 2, ofState}});
  EXPECT_EQ(frontier.takeBest(infinity), (Numbers{0, 2}));
}

TEST(Frontier, TakesBoundsOfFourStates) {
  Frontier frontier = makeFrontierOf({{0, 1, ofState},
                                      {1, 1, ofState},
                                      {2, 1, ofState},
                                      {3, 1, ofState},
                                      {4, 1, ofState},
                                      {0, 1, ofState}});
  EXPECT_EQ(frontier.takeBest(/*cutoff=*/10), (Numbers{0, 1, 2, 3, 5}));
}

TEST(Frontier, TakesAloneWhatNeedsMoreThanAState) {
  Frontier frontier = makeFrontierOf({{0, 1, early}, {1, 1, ofState}});
  EXPECT_EQ(frontier.takeBest(/*cutoff=*/10), (Numbers{0}));
}

TEST(Frontier, LeavesWhatNeedsMoreThanAState) {
  Frontier frontier =
      makeFrontierOf({{0, 1, ofState}, {0, 2, early}, {1, 1, ofState}});
  EXPECT_EQ(frontier.takeBest(/*cutoff=*/10), (Numbers{0, 2}));
}

TEST(Frontier, TakesPlansOrBoundsOfAState) {
  Frontier frontier = makeFrontierOf({{0, 1, beforePlan},
                                      {0, 1, ofState},
                                      {1, 1, ofState},
                                      {1, 1, beforePlan},
                                      {1, 1, ofState}});
  EXPECT_EQ(frontier.takeBest(/*cutoff=*/10), (Numbers{0, 2, 4}));
}

TEST(Frontier, TakesFourPlansAndBoundsOfEightStatesBesideThem) {
  std::vector<Open> all;
  for (int space = 0; space < 6; ++space)
    all.push_back({space, 1, beforePlan});
  for (int space = 6; space < 16; ++space)
    all.push_back({space, 1, ofState});
  EXPECT_EQ(makeFrontierOf(all).takeBest(/*cutoff=*/100),
            (Numbers{0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13}));
}

TEST(Frontier, LooksAtTheBestSixtyFour) {
  std::vector<Open> all(100, {0, 1, ofState});
  EXPECT_EQ(makeFrontierOf(all).takeBest(/*cutoff=*/1000).size(), 64u);
}

TEST(FrontierDeathTest, KeepsWhatIsOpenAndWhatIsTakenApart) {
  Frontier frontier = makeFrontier({1});
  EXPECT_DEATH(frontier.giveBack(0), "is open already");
  frontier.take(0);
  EXPECT_DEATH(frontier.take(0), "is not open");
}

} // namespace
