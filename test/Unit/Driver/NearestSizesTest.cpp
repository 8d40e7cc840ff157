//===- NearestSizesTest.cpp - Requests near an impossible one -------------===//

#include "lib/Driver/NearestSizes.h"

#include "gmock/gmock.h"

using namespace parplan;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(NearestDivisors, AreOnBothSides) {
  EXPECT_THAT(getNearestDivisors(3, 4), ElementsAre(2, 4));
  EXPECT_THAT(getNearestDivisors(5, 36), ElementsAre(4, 6));
}

TEST(NearestDivisors, OfADivisorIsItself) {
  EXPECT_THAT(getNearestDivisors(4, 12), ElementsAre(4));
  EXPECT_THAT(getNearestDivisors(1, 7), ElementsAre(1));
}

TEST(NearestDivisors, AreAtMostTheTotal) {
  EXPECT_THAT(getNearestDivisors(100, 6), ElementsAre(6));
}

TEST(NearestMultiple, IsOneAtLeast) {
  EXPECT_EQ(getNearestMultiple(6, 4), 6);
  EXPECT_EQ(getNearestMultiple(9, 4), 9);
  EXPECT_EQ(getNearestMultiple(3, 4), 3);
  EXPECT_EQ(getNearestMultiple(3, 5), 6);
  EXPECT_EQ(getNearestMultiple(4, 6), 8) << "the larger of two as near";
}

TEST(NearestGrid, HasTheProductThatIsAskedFor) {
  EXPECT_THAT(getNearestGrid({3, 3}, 4, /*divides=*/false), ElementsAre(2, 2));
  EXPECT_THAT(getNearestGrid({2, 2}, 12, /*divides=*/false), ElementsAre(3, 4));
  EXPECT_THAT(getNearestGrid({8, 2}, 12, /*divides=*/false), ElementsAre(6, 2));
  EXPECT_THAT(getNearestGrid({2, 2, 2}, 16, /*divides=*/false),
              ElementsAre(2, 2, 4));
}

TEST(NearestGrid, MayLeaveDevicesToOthers) {
  EXPECT_THAT(getNearestGrid({2, 3}, 4, /*divides=*/true), ElementsAre(2, 2));
  EXPECT_THAT(getNearestGrid({2, 3}, 8, /*divides=*/true), ElementsAre(2, 4));
  EXPECT_THAT(getNearestGrid({3, 4}, 8, /*divides=*/true), ElementsAre(2, 4));
}

TEST(NearestGrid, NeedsTwoRanksPerSize) {
  EXPECT_THAT(getNearestGrid({2, 2}, 7, /*divides=*/true), IsEmpty());
  EXPECT_THAT(getNearestGrid({2, 2, 2}, 4, /*divides=*/true), IsEmpty());
}

TEST(AdviseRequests, JoinsThem) {
  EXPECT_EQ(adviseRequests({}), "");
  EXPECT_EQ(adviseRequests({"a"}), "try a");
  EXPECT_EQ(adviseRequests({"a", "b", "c"}), "try a, b or c");
}

} // namespace
