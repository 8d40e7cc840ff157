//===- WorkTest.cpp - What ops cost on one device -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The cost of a device that holds everything.
OpCost getWholeCost(mlir::Operation *op) {
  auto costed = mlir::cast<CostOpInterface>(op);
  llvm::SmallVector<int64_t> sizes;
  for (const Factor &factor :
       mlir::cast<ShardingRuleOpInterface>(op).getShardingRule().factors)
    sizes.push_back(factor.size);
  return costed.getLocalCost(sizes);
}

TEST(Work, OfAProductIsTwoOperationsPerPointOfItsFactors) {
  OpFixture fixture("parplan.matmul \"bsk,kn->bsn\" %0, %1 : "
                    "tensor<2x3x8xf32>, tensor<8x5xf32>",
                    {"2x3x8xf32", "8x5xf32"});
  OpCost whole = getWholeCost(fixture.getOp());
  EXPECT_EQ(whole.kind, WorkKind::matrix);
  EXPECT_EQ(whole.flops, 2.0 * 2 * 3 * 8 * 5);
  EXPECT_EQ(whole.bytesRead, 4 * (2 * 3 * 8 + 8 * 5));
  EXPECT_EQ(whole.bytesWritten, 4 * 2 * 3 * 5);
  EXPECT_EQ(whole.rows, 6);
  EXPECT_EQ(whole.columns, 5);
  EXPECT_EQ(whole.contracted, 8);
  EXPECT_EQ(whole.batch, 1);
  // Half of b, half of k.
  auto costed = mlir::cast<CostOpInterface>(fixture.getOp());
  OpCost part = costed.getLocalCost({1, 3, 4, 5});
  EXPECT_EQ(part.flops, 2.0 * 1 * 3 * 4 * 5);
  EXPECT_EQ(part.bytesRead, 4 * (1 * 3 * 4 + 4 * 5));
  EXPECT_EQ(part.bytesWritten, 4 * 1 * 3 * 5);
}

TEST(Work, OfCausalAttentionIsHalf) {
  std::string op = "parplan.attention %0, %0, %0 scale 1.0 ";
  std::string types =
      ": tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>";
  OpFixture plain(op + types, {"2x5x6x8xf32"});
  OpFixture causal(op + "causal " + types, {"2x5x6x8xf32"});
  double scores = 2.0 * 6 * 5 * 5;
  EXPECT_EQ(getWholeCost(plain.getOp()).flops, scores * (2 * 8 + 2 * 8 + 4));
  EXPECT_EQ(getWholeCost(causal.getOp()).flops,
            getWholeCost(plain.getOp()).flops / 2);
  EXPECT_EQ(getWholeCost(plain.getOp()).transcendentals, scores);
}

// Blocks of queries are contiguous: of c ranks the last one computes all scores
// of its queries but one half of the block on the diagonal.
TEST(Work, OfCausalAttentionIsThatOfTheLastQueries) {
  for (const char *mode : {"", "causal "}) {
    std::string types =
        ": tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>";
    OpFixture fixture("parplan.attention %0, %0, %0 scale 1.0 " +
                          std::string(mode) + types,
                      {"2x8x6x4xf32"});
    auto costed = mlir::cast<CostOpInterface>(fixture.getOp());
    ShardingRule rule =
        mlir::cast<ShardingRuleOpInterface>(fixture.getOp()).getShardingRule();
    auto getCost = [&](int64_t queries, int64_t keys) {
      llvm::SmallVector<int64_t> sizes;
      for (const Factor &factor : rule.factors)
        sizes.push_back(factor.size);
      sizes[*rule.findFactor("s")] = queries;
      sizes[*rule.findFactor("t")] = keys;
      return costed.getLocalCost(sizes);
    };
    double whole = getCost(8, 8).flops;
    // Causal: 1 - 1 / (2 c) of a c-th instead of one half of all.
    EXPECT_DOUBLE_EQ(getCost(4, 8).flops, whole * (*mode ? 0.75 : 0.5));
    EXPECT_DOUBLE_EQ(getCost(2, 8).flops, whole * (*mode ? 0.4375 : 0.25));
    // The panels of a ring add up to the same.
    EXPECT_DOUBLE_EQ(4 * getCost(2, 2).flops, getCost(2, 8).flops);
    EXPECT_DOUBLE_EQ(4 * getCost(2, 2).transcendentals,
                     getCost(2, 8).transcendentals);
  }
}

TEST(Work, OfAConvolutionCountsGroupsOnce) {
  OpFixture fixture("parplan.conv %0, %1 strides [1] pads [1, 1] dilations [1] "
                    "groups 2 : tensor<2x8x5xf32>, tensor<6x4x3xf32>",
                    {"2x8x5xf32", "6x4x3xf32"});
  OpCost cost = getWholeCost(fixture.getOp());
  EXPECT_EQ(cost.flops, 2.0 * 2 * 6 * 4 * 3 * 5);
  EXPECT_EQ(cost.batch, 2);
  EXPECT_EQ(cost.columns, 3);
  EXPECT_EQ(cost.contracted, 12);
  EXPECT_EQ(cost.rows, 10);
}

TEST(Work, OfReshapesAndParametersIsNothing) {
  OpFixture reshape("parplan.reshape %0 : tensor<6xf32> to tensor<2x3xf32>",
                    {"6xf32"});
  EXPECT_EQ(getWholeCost(reshape.getOp()).kind, WorkKind::none);
  EXPECT_EQ(getWholeCost(reshape.getOp()).flops, 0);
  OpFixture parameter(
      "parplan.parameter @w : tensor<2xf32>", {},
      "parplan.initializer @w \"w\" : tensor<2xf32> in \"\" at 0 length 8");
  EXPECT_EQ(getWholeCost(parameter.getOp()).kind, WorkKind::none);
}

TEST(Work, OfElementwiseOpsCountsElementsOfTheResult) {
  OpFixture add("parplan.add %0, %1 : tensor<2x3xf32>, tensor<3xf32>",
                {"2x3xf32", "3xf32"});
  EXPECT_EQ(getWholeCost(add.getOp()).flops, 6);
  EXPECT_EQ(getWholeCost(add.getOp()).transcendentals, 0);
  EXPECT_EQ(getWholeCost(add.getOp()).bytesRead, 4 * 9);
  OpFixture exp("parplan.exp %0 : tensor<6xbf16>", {"6xbf16"});
  EXPECT_EQ(getWholeCost(exp.getOp()).transcendentals, 6);
  EXPECT_EQ(getWholeCost(exp.getOp()).bytesRead, 12);
}

/// Of 8 experts tokens have 2.
TEST(Work, OfRowsOfExpertsIsThatOfTheRowsThatCount) {
  OpFixture fixture("parplan.matmul \"etk,enk->etn\" %0, %1 experts %2 : "
                    "tensor<12x2xi64> of 8 tokens \"t\" : "
                    "tensor<8x12x5xf32>, tensor<8x6x5xf32>",
                    {"8x12x5xf32", "8x6x5xf32", "12x2xi64"});
  OpCost cost = getWholeCost(fixture.getOp());
  EXPECT_EQ(cost.kind, WorkKind::expertMatrix);
  EXPECT_EQ(cost.flops, 2.0 * (12 * 2) * 5 * 6);
  EXPECT_EQ(cost.rows, 3);
  EXPECT_EQ(cost.batch, 8);
}

/// Multiples of vectors, and their sums over tokens: no matrices, no panels.
TEST(Work, OfVectorsOfExpertsIsOneKernel) {
  for (const char *spec :
       {"\"etk,ekn->etn\" %0, %1", "\"etk,etn->ekn\" %0, %2"}) {
    OpFixture fixture(
        std::string("parplan.matmul ") + spec +
            " experts %3 : tensor<12x2xi64> of 8 tokens \"t\" : "
            "tensor<8x12x1xf32>, " +
            (spec[6] == 'k' ? "tensor<8x1x6xf32>" : "tensor<8x12x6xf32>"),
        {"8x12x1xf32", "8x1x6xf32", "8x12x6xf32", "12x2xi64"});
    OpCost cost = getWholeCost(fixture.getOp());
    EXPECT_EQ(cost.kind, WorkKind::reduction);
    EXPECT_EQ(cost.flops, 2.0 * (12 * 2) * 6);
    EXPECT_TRUE(mlir::cast<ShardingRuleOpInterface>(fixture.getOp())
                    .getShardingRule()
                    .panelFactors.empty());
  }
}

} // namespace
