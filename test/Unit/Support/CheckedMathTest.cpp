//===- CheckedMathTest.cpp - Overflow is an answer ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/CheckedMath.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace parplan;

constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr int64_t least = std::numeric_limits<int64_t>::min();

TEST(CheckedMath, givesResultsThatFit) {
  EXPECT_EQ(checkedAdd(most - 1, 1), most);
  EXPECT_EQ(checkedSubtract(least + 1, 1), least);
  EXPECT_EQ(checkedMultiply(most / 3, 3), most / 3 * 3);
  EXPECT_EQ(checkedDivide(int64_t{-7}, 2), -3);
}

TEST(CheckedMath, givesNothingOnOverflow) {
  EXPECT_EQ(checkedAdd(most, 1), std::nullopt);
  EXPECT_EQ(checkedSubtract(least, 1), std::nullopt);
  EXPECT_EQ(checkedMultiply(most / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checkedMultiply(least, -1), std::nullopt);
  EXPECT_EQ(checkedAdd(uint32_t{0xffffffff}, 1), std::nullopt);
  EXPECT_EQ(checkedDivide(int64_t{1}, 0), std::nullopt);
  EXPECT_EQ(checkedDivide(least, -1), std::nullopt);
}

TEST(CheckedMath, productOfSizes) {
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{}), 1);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{2, 3, 4}), 24);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{2, 0, 4}), 0);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{2, -1}), std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{most, 2}), std::nullopt);
}

TEST(CheckedMath, productThatOverflowsBesideAZeroIsRefusedInAnyOrder) {
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{most, 2, 0}), std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{0, most, 2}), std::nullopt);
}

TEST(CheckedMath, alignment) {
  EXPECT_EQ(checkedAlign(0, 64), 0);
  EXPECT_EQ(checkedAlign(1, 64), 64);
  EXPECT_EQ(checkedAlign(64, 64), 64);
  EXPECT_EQ(checkedAlign(most, 64), std::nullopt);
  EXPECT_EQ(checkedAlign(-1, 64), std::nullopt);
  EXPECT_EQ(checkedAlign(1, 0), std::nullopt);
}
