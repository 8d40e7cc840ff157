//===- RuleTest.cpp - Sharding rules and padding of every family ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"
#include "RuleCase.h"

using namespace parplan;
using namespace parplan::test;

namespace {

const char *printKind(FactorKind kind) {
  switch (kind) {
  case FactorKind::parallel:
    return "";
  case FactorKind::reduceSum:
    return " sum";
  case FactorKind::reduceMax:
    return " max";
  case FactorKind::coupled:
    return " coupled";
  case FactorKind::blocked:
    return " blocked";
  }
  return " ?";
}

std::string printRule(const ShardingRule &rule) {
  std::string text;
  for (const Factor &factor : rule.factors)
    text += (text.empty() ? "" : ", ") + factor.name + "=" +
            std::to_string(factor.size) + printKind(factor.kind) +
            (factor.isNumbered ? " numbered" : "");
  auto printTensors = [&](auto &tensors) {
    std::string list;
    for (const TensorFactors &tensor : tensors) {
      list += list.empty() ? "[" : ", [";
      for (auto [dim, factors] : llvm::enumerate(tensor)) {
        list += dim ? ", " : "";
        for (auto [index, factor] : llvm::enumerate(factors))
          list += (index ? " " : "") + rule.factors[factor].name;
        if (factors.empty())
          list += "-";
      }
      list += "]";
    }
    return list;
  };
  text +=
      " : " + printTensors(rule.operands) + " -> " + printTensors(rule.results);
  if (rule.linearity == Linearity::jointly)
    text += " jointly";
  if (rule.linearity == Linearity::separately)
    text += " separately";
  if (rule.flat)
    text += " flat";
  return text;
}

} // namespace

namespace parplan::test {

TEST_P(Rules, HaveTheFactorsThatTheMathematicsHas) {
  const RuleCase &one = GetParam();
  OpFixture fixture(one.op, one.arguments);
  ASSERT_TRUE(fixture.module);
  auto op = mlir::cast<ShardingRuleOpInterface>(fixture.getOp());
  ShardingRule rule = op.getShardingRule();
  EXPECT_EQ(printRule(rule), one.rule);
  std::string kept;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (op.keepsZeroPadding(static_cast<int>(index)))
      kept += (kept.empty() ? "" : " ") + factor.name;
  EXPECT_EQ(kept, one.kept);
}

/// What an integer of another tensor names lies in one piece, or says that its
/// blocks must know where they start.
TEST_P(Rules, SayWhichElementsOthersName) {
  const RuleCase &one = GetParam();
  OpFixture fixture(one.op, one.arguments);
  ASSERT_TRUE(fixture.module);
  mlir::Operation *op = fixture.getOp();
  auto has = [&](auto isType) {
    return llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
      return isType(mlir::getElementTypeOrSelf(operand.getType()));
    });
  };
  bool hasNames = has(
      [](mlir::Type type) { return type.isInteger() && !type.isInteger(1); });
  if (!hasNames || !has([](mlir::Type type) { return type.isF32(); }))
    return;
  ShardingRule rule = mlir::cast<ShardingRuleOpInterface>(op).getShardingRule();
  EXPECT_TRUE(llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.isNumbered || factor.kind == FactorKind::blocked;
  }));
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Rules,
    testing::Values(
        RuleCase{"neg",
                 "parplan.neg %0 : tensor<2x1x3xf32>",
                 {"2x1x3xf32"},
                 "d0=2, d2=3 : [d0, -, d2] -> [d0, -, d2] jointly flat",
                 "d0 d2"},
        RuleCase{"exp",
                 "parplan.exp %0 : tensor<2xf32>",
                 {"2xf32"},
                 "d0=2 : [d0] -> [d0]",
                 ""},
        RuleCase{"add_with_bias",
                 "parplan.add %0, %1 : tensor<2x3xf32>, tensor<3xf32>",
                 {"2x3xf32", "3xf32"},
                 "d0=2, d1=3 : [d0, d1], [d1] -> [d0, d1] jointly",
                 "d1"},
        RuleCase{"mul_broadcasting",
                 "parplan.mul %0, %1 : tensor<2x1xf32>, tensor<1x3xf32>",
                 {"2x1xf32", "1x3xf32"},
                 "d0=2, d1=3 : [d0, -], [-, d1] -> [d0, d1] separately",
                 "d0 d1"},
        RuleCase{"div",
                 "parplan.div %0, %1 : tensor<2x3xf32>, tensor<3xf32>",
                 {"2x3xf32", "3xf32"},
                 "d0=2, d1=3 : [d0, d1], [d1] -> [d0, d1]",
                 ""},
        RuleCase{"equal",
                 "parplan.compare eq %0, %0 : tensor<2xf32>, tensor<2xf32>",
                 {"2xf32"},
                 "d0=2 : [d0], [d0] -> [d0]",
                 ""},
        RuleCase{"less",
                 "parplan.compare lt %0, %0 : tensor<2xf32>, tensor<2xf32>",
                 {"2xf32"},
                 "d0=2 : [d0], [d0] -> [d0]",
                 "d0"},
        RuleCase{"select",
                 "parplan.select %0, %1, %2 : tensor<2x1xi1>, tensor<f32>, "
                 "tensor<2x3xf32>",
                 {"2x1xi1", "f32", "2x3xf32"},
                 "d0=2, d1=3 : [d0, -], [], [d0, d1] -> [d0, d1]",
                 "d0"},
        RuleCase{"widening_cast",
                 "parplan.cast %0 : tensor<2xbf16> to tensor<2xf32>",
                 {"2xbf16"},
                 "d0=2 : [d0] -> [d0] jointly flat",
                 "d0"},
        RuleCase{"narrowing_cast",
                 "parplan.cast %0 : tensor<2xf32> to tensor<2xbf16>",
                 {"2xf32"},
                 "d0=2 : [d0] -> [d0] flat",
                 "d0"},
        RuleCase{"scaling",
                 "parplan.mul %0, %1 : tensor<2xf32>, tensor<f32>",
                 {"2xf32", "f32"},
                 "d0=2 : [d0], [] -> [d0] separately flat",
                 "d0"},
        RuleCase{"shift",
                 "parplan.add %0, %1 : tensor<2xf32>, tensor<f32>",
                 {"2xf32", "f32"},
                 "d0=2 : [d0], [] -> [d0] jointly",
                 ""},
        RuleCase{"difference",
                 "parplan.sub %0, %0 : tensor<2xf32>, tensor<2xf32>",
                 {"2xf32"},
                 "d0=2 : [d0], [d0] -> [d0] jointly flat",
                 "d0"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    ShapeAndIndexing, Rules,
    testing::Values(
        RuleCase{
            "heads",
            "parplan.reshape %0 : tensor<2x3x8xf32> to tensor<2x3x4x2xf32>",
            {"2x3x8xf32"},
            "f0=2, f1=3, f2=4, f3=2 : [f0, f1, f2 f3] -> [f0, f1, f2, f3] "
            "jointly",
            "f0 f1 f2 f3"},
        RuleCase{"broadcast",
                 "parplan.broadcast %0 : tensor<3x1xf32> to tensor<2x3x4xf32>",
                 {"3x1xf32"},
                 "d0=2, d1=3, d2=4 : [d1, -] -> [d0, d1, d2] jointly",
                 "d1"},
        RuleCase{"transpose",
                 "parplan.transpose %0 [1, 0] : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d1=3, d0=2 : [d0, d1] -> [d1, d0] jointly",
                 "d1 d0"},
        RuleCase{
            "slice",
            "parplan.slice %0 dims [1] from [0] to [3] step [2] : "
            "tensor<2x4xf32>",
            {"2x4xf32"},
            "d0=2, in0_1=4 blocked, out0_1=2 blocked : [d0, in0_1] -> [d0, "
            "out0_1] jointly",
            "d0 in0_1 out0_1"},
        RuleCase{
            "concat",
            "parplan.concat %0, %1 dim 0 : tensor<2x3xf32>, tensor<4x3xf32>",
            {"2x3xf32", "4x3xf32"},
            "d1=3, in0_0=2 blocked, in1_0=4 blocked, out0_0=6 blocked : "
            "[in0_0, d1], [in1_0, d1] -> [out0_0, d1] jointly",
            "d1 in0_0 in1_0 out0_0"},
        RuleCase{"pad_with_ones",
                 "parplan.pad %0 dims [0] low [1] high [0] value 1.0 : "
                 "tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d1=3, in0_0=2 blocked, out0_0=3 blocked : [in0_0, d1] -> "
                 "[out0_0, d1]",
                 ""},
        RuleCase{
            "embedding",
            "parplan.embedding %0, %1 : tensor<2x3xi64>, tensor<7x4xf32>",
            {"2x3xi64", "7x4xf32"},
            "b=2, s=3, v=7 sum numbered, d=4 : [b, s], [v, d] -> [b, s, d]",
            "v d"},
        RuleCase{"gather",
                 "parplan.gather %0, %1 dim 1 : tensor<2x7xf32>, tensor<3xi64>",
                 {"2x7xf32", "3xi64"},
                 "d0=2, i0=3, in0_1=7 blocked : [d0, in0_1], [i0] -> [d0, i0]",
                 "d0 in0_1"},
        RuleCase{
            "gather_elements",
            "parplan.gather_elements %0, %1 dim 1 : tensor<2x7xf32>, "
            "tensor<2x3xi64>",
            {"2x7xf32", "2x3xi64"},
            "d0=2, d1=3, in0_1=7 blocked : [d0, in0_1], [d0, d1] -> [d0, d1]",
            "d0 in0_1"},
        RuleCase{
            "gather_nd",
            "parplan.gather_nd %0, %1 batch_dims 1 : tensor<2x7x5xf32>, "
            "tensor<2x3x1xi64>",
            {"2x7x5xf32", "2x3x1xi64"},
            "i0=2, i1=3, d2=5, in0_1=7 blocked : [i0, in0_1, d2], [i0, i1, -] "
            "-> [i0, i1, d2]",
            "i0 d2 in0_1"},
        RuleCase{
            "topk",
            "parplan.topk %0 k 2 dim 1 largest true : tensor<3x4xf32>",
            {"3x4xf32"},
            "d0=3, in0_1=4 blocked, out0_1=2 blocked, out1_1=2 blocked : [d0, "
            "in0_1] -> [d0, out0_1], [d0, out1_1]",
            ""},
        RuleCase{"cumsum",
                 "parplan.cumsum %0 dim 1 : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 blocked : [d0, d1] -> [d0, d1] jointly",
                 "d0 d1"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Products, Rules,
    testing::Values(
        RuleCase{"sum",
                 "parplan.reduce sum %0 dims [1] : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 sum : [d0, d1] -> [d0] jointly",
                 "d0 d1"},
        RuleCase{"maximum",
                 "parplan.reduce max %0 dims [1] keep_dims : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 max : [d0, d1] -> [d0, -]",
                 "d0"},
        RuleCase{"product",
                 "parplan.reduce prod %0 dims [1] : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 blocked : [d0, d1] -> [d0]",
                 "d0"},
        RuleCase{
            "matmul",
            "parplan.matmul \"bsk,kn->bsn\" %0, %1 : tensor<2x1x8xf32>, "
            "tensor<8x4xf32>",
            {"2x1x8xf32", "8x4xf32"},
            "b=2, k=8 sum, n=4 : [b, -, k], [k, n] -> [b, -, n] separately",
            "b k n"},
        RuleCase{
            "grouped_conv",
            "parplan.conv %0, %1 strides [1] pads [1, 1] dilations [1] groups "
            "2 : tensor<2x8x5xf32>, tensor<6x4x3xf32>",
            {"2x8x5xf32", "6x4x3xf32"},
            "n=2, g=2, co=3, ci=4 sum, x0=5 blocked, w0=3 blocked, y0=5 "
            "blocked : [n, g ci, x0], [g co, ci, w0] -> [n, g co, y0] "
            "separately",
            "n g co ci x0 w0 y0"},
        RuleCase{
            "conv_with_bias",
            "parplan.conv %0, %1, %2 strides [1] pads [0, 0] dilations [1] "
            "groups 1 : tensor<2x8x5xf32>, tensor<6x8x3xf32>, tensor<6xf32>",
            {"2x8x5xf32", "6x8x3xf32", "6xf32"},
            "n=2, co=6, ci=8 coupled, x0=5 blocked, w0=3 blocked, y0=3 "
            "blocked : [n, ci, x0], [co, ci, w0], [co] -> [n, co, y0]",
            "co ci x0 w0 y0"},
        RuleCase{
            "pooling",
            "parplan.max_pool %0 window [2] strides [2] pads [0, 0] dilations "
            "[1] : tensor<2x8x4xf32>",
            {"2x8x4xf32"},
            "n=2, c=8, x0=4 blocked, y0=2 blocked : [n, c, x0] -> [n, c, y0]",
            "n c x0 y0"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Structure, Rules,
    testing::Values(RuleCase{"splat",
                             "parplan.constant dense<0.0> : tensor<2x3xf32>",
                             {},
                             "d0=2, d1=3 :  -> [d0, d1]",
                             "d0 d1"},
                    RuleCase{"splat_of_ones",
                             "parplan.constant dense<1> : tensor<2xi64>",
                             {},
                             "d0=2 :  -> [d0]",
                             ""},
                    RuleCase{"dense",
                             "parplan.constant dense<[1, 2]> : tensor<2xi64>",
                             {},
                             "d0=2 blocked :  -> [d0]",
                             "d0"},
                    RuleCase{"iota",
                             "parplan.iota 0 : tensor<2x3xi64>",
                             {},
                             "d0=2 numbered, d1=3 :  -> [d0, d1]",
                             ""},
                    RuleCase{"mask",
                             "parplan.affine_mask [0, 1] + 0 : tensor<2x3xi1>",
                             {},
                             "d0=2, d1=3 coupled numbered :  -> [d0, d1]",
                             ""}),
    [](const auto &info) { return info.param.name; });

} // namespace parplan::test
