//===- LookaheadTest.cpp --------------------------------------------------===//

#include "lib/Planner/Exact/Lookahead.h"

#include "gtest/gtest.h"

#include <atomic>

using namespace parplan;

TEST(Lookahead, GivesTheItemsInOrder) {
  Lookahead<size_t> squares(20, [](size_t number) { return number * number; });
  for (size_t number = 0; number < 20; ++number)
    EXPECT_EQ(squares.take(), number * number);
}

TEST(Lookahead, MakesItemsOnOtherThreads) {
  Lookahead<std::thread::id> makers(
      1, [](size_t) { return std::this_thread::get_id(); });
  EXPECT_NE(makers.take(), std::this_thread::get_id());
}

TEST(Lookahead, EndsWhileTheLastItemsAreMade) {
  Lookahead<size_t> items(20, [](size_t number) { return number; });
  items.take();
  EXPECT_FALSE(items.isEnding());
  for (size_t number = 1; number < 19; ++number)
    items.take();
  // A single processor has nothing else to do.
  EXPECT_EQ(items.isEnding(), std::thread::hardware_concurrency() > 1);
  items.take();
  EXPECT_FALSE(items.isEnding());
}

TEST(Lookahead, MakesNothingBeforeTheFirstIsTaken) {
  std::atomic<size_t> made = 0;
  {
    Lookahead<size_t> items(3, [&](size_t) { return ++made; });
  }
  EXPECT_EQ(made, 0u);
}

TEST(Lookahead, MakesFarLessThanAllWhereOneIsTaken) {
  std::atomic<size_t> made = 0;
  {
    Lookahead<size_t> items(100, [&](size_t) { return ++made; });
    items.take();
  }
  EXPECT_LE(made, 4u);
}
