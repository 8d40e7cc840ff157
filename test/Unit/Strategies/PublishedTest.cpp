//===- PublishedTest.cpp - Beside the published formulas ------------------===//
//
// Part of parplan. Published formulas of 1D, 2D, 2.5D and 3D products count in
// units of S, where |X| = |W| = |Y| = S, on grids of q ranks a side.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// What a rank sends in the ring algorithm in one forward and backward pass, in
/// units of S.
Fraction measure(llvm::StringRef name, const Mesh &mesh) {
  int64_t size = mesh.getRankCount();
  Random random(5);
  Step step = makeLinear(getLinearStrategy(name), mesh, size, size, size,
                         /*withBackward=*/true, random);
  std::string fault;
  LocalProgram program(step, fault);
  EXPECT_EQ(fault, "");
  return program.schedule().traffic.ring * Fraction(1, size * size);
}

TEST(Published, OneDimensionIsAsPublished) {
  for (int64_t p : {2, 4, 8}) {
    Fraction published(2 * (p - 1), p);
    EXPECT_EQ(measure("Column", Mesh({{"t", p}})), published);
    EXPECT_EQ(measure("Row", Mesh({{"t", p}})), published);
  }
}

TEST(Published, TwoDimensionsAreTheQthPart) {
  for (int64_t q : {2, 3}) {
    Fraction published(6 * (q - 1), q);
    EXPECT_EQ(measure("Gather2d", Mesh({{"x", q}, {"y", q}})) * Fraction(q),
              published);
    EXPECT_EQ(measure("Summa2d", Mesh({{"x", q}, {"y", q}})) * Fraction(q),
              published);
    EXPECT_EQ(measure("Gather2dKept", Mesh({{"x", q}, {"y", q}})),
              Fraction(4 * (q - 1), q * q));
  }
}

TEST(Published, DepthLacksTheReductionOfTheWeightGradient) {
  for (int64_t q : {2, 3})
    for (int64_t d : {2, 3}) {
      Mesh mesh({{"z", d}, {"x", q}, {"y", q}});
      Fraction published(3 * (q - 1) * (d + 1), d * q);
      Fraction reduction(2 * (d - 1), d * q * q);
      for (const char *name : {"Gather25d", "Summa25d"})
        EXPECT_EQ(measure(name, mesh), published * Fraction(1, q) + reduction);
    }
}

TEST(Published, ThreeDimensionsKeepWhatTheyGathered) {
  for (int64_t q : {2, 3}) {
    Mesh mesh({{"x", q}, {"y", q}, {"z", q}});
    Fraction published(6 * (q - 1), q * q * q);
    EXPECT_EQ(measure("Tensor3dKept", mesh), published);
    EXPECT_EQ(measure("Tensor3d", mesh), Fraction(8 * (q - 1), q * q * q));
  }
}

/// 1D and 2D tie at four ranks; from 3x3 on 2D moves less.
TEST(Published, TwoDimensionsPayFromNineRanks) {
  auto getRatio = [](int64_t q) {
    return std::pair(measure("Gather2d", Mesh({{"x", q}, {"y", q}})),
                     measure("Column", Mesh({{"t", q * q}})));
  };
  auto [grid, line] = getRatio(2);
  EXPECT_EQ(grid, Fraction(3, 2));
  EXPECT_EQ(line, Fraction(3, 2));
  std::tie(grid, line) = getRatio(3);
  EXPECT_EQ(grid, Fraction(12, 9));
  EXPECT_EQ(line, Fraction(16, 9));
}

} // namespace
