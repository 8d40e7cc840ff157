//===- RuleTest.cpp - Sharding rules and padding of every family ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

struct Case {
  const char *name;
  std::string op;
  std::vector<std::string> arguments;
  /// Factors with sizes and kinds, dimensions of operands and results, and how
  /// the op is linear.
  std::string rule;
  /// Factors that keep padding zero (S4).
  std::string kept;
};

void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

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
            std::to_string(factor.size) + printKind(factor.kind);
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

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, HaveTheFactorsThatTheMathematicsHas) {
  const Case &one = GetParam();
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

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Rules,
    testing::Values(
        Case{"neg",
             "parplan.neg %0 : tensor<2x1x3xf32>",
             {"2x1x3xf32"},
             "d0=2, d2=3 : [d0, -, d2] -> [d0, -, d2] jointly flat",
             "d0 d2"},
        Case{"exp",
             "parplan.exp %0 : tensor<2xf32>",
             {"2xf32"},
             "d0=2 : [d0] -> [d0]",
             ""},
        Case{"add_with_bias",
             "parplan.add %0, %1 : tensor<2x3xf32>, tensor<3xf32>",
             {"2x3xf32", "3xf32"},
             "d0=2, d1=3 : [d0, d1], [d1] -> [d0, d1] jointly",
             "d1"},
        Case{"mul_broadcasting",
             "parplan.mul %0, %1 : tensor<2x1xf32>, tensor<1x3xf32>",
             {"2x1xf32", "1x3xf32"},
             "d0=2, d1=3 : [d0, -], [-, d1] -> [d0, d1] separately",
             "d0 d1"},
        Case{"div",
             "parplan.div %0, %1 : tensor<2x3xf32>, tensor<3xf32>",
             {"2x3xf32", "3xf32"},
             "d0=2, d1=3 : [d0, d1], [d1] -> [d0, d1]",
             ""},
        Case{"equal",
             "parplan.compare eq %0, %0 : tensor<2xf32>, tensor<2xf32>",
             {"2xf32"},
             "d0=2 : [d0], [d0] -> [d0]",
             ""},
        Case{"less",
             "parplan.compare lt %0, %0 : tensor<2xf32>, tensor<2xf32>",
             {"2xf32"},
             "d0=2 : [d0], [d0] -> [d0]",
             "d0"},
        Case{"select",
             "parplan.select %0, %1, %2 : tensor<2x1xi1>, tensor<f32>, "
             "tensor<2x3xf32>",
             {"2x1xi1", "f32", "2x3xf32"},
             "d0=2, d1=3 : [d0, -], [], [d0, d1] -> [d0, d1]",
             "d0"},
        Case{"widening_cast",
             "parplan.cast %0 : tensor<2xbf16> to tensor<2xf32>",
             {"2xbf16"},
             "d0=2 : [d0] -> [d0] jointly flat",
             "d0"},
        Case{"narrowing_cast",
             "parplan.cast %0 : tensor<2xf32> to tensor<2xbf16>",
             {"2xf32"},
             "d0=2 : [d0] -> [d0] flat",
             "d0"},
        Case{"scaling",
             "parplan.mul %0, %1 : tensor<2xf32>, tensor<f32>",
             {"2xf32", "f32"},
             "d0=2 : [d0], [] -> [d0] separately flat",
             "d0"},
        Case{"shift",
             "parplan.add %0, %1 : tensor<2xf32>, tensor<f32>",
             {"2xf32", "f32"},
             "d0=2 : [d0], [] -> [d0] jointly",
             ""},
        Case{"difference",
             "parplan.sub %0, %0 : tensor<2xf32>, tensor<2xf32>",
             {"2xf32"},
             "d0=2 : [d0], [d0] -> [d0] jointly flat",
             "d0"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    ShapeAndIndexing, Rules,
    testing::Values(
        Case{"heads",
             "parplan.reshape %0 : tensor<2x3x8xf32> to tensor<2x3x4x2xf32>",
             {"2x3x8xf32"},
             "f0=2, f1=3, f2=4, f3=2 : [f0, f1, f2 f3] -> [f0, f1, f2, f3] "
             "jointly",
             "f0 f1 f2 f3"},
        Case{"broadcast",
             "parplan.broadcast %0 : tensor<3x1xf32> to tensor<2x3x4xf32>",
             {"3x1xf32"},
             "d0=2, d1=3, d2=4 : [d1, -] -> [d0, d1, d2] jointly",
             "d1"},
        Case{"transpose",
             "parplan.transpose %0 [1, 0] : tensor<2x3xf32>",
             {"2x3xf32"},
             "d1=3, d0=2 : [d0, d1] -> [d1, d0] jointly",
             "d1 d0"},
        Case{"slice",
             "parplan.slice %0 dims [1] from [0] to [3] step [2] : "
             "tensor<2x4xf32>",
             {"2x4xf32"},
             "d0=2, in0_1=4 blocked, out0_1=2 blocked : [d0, in0_1] -> [d0, "
             "out0_1] jointly",
             "d0 in0_1 out0_1"},
        Case{"concat",
             "parplan.concat %0, %1 dim 0 : tensor<2x3xf32>, tensor<4x3xf32>",
             {"2x3xf32", "4x3xf32"},
             "d1=3, in0_0=2 blocked, in1_0=4 blocked, out0_0=6 blocked : "
             "[in0_0, d1], [in1_0, d1] -> [out0_0, d1] jointly",
             "d1 in0_0 in1_0 out0_0"},
        Case{"pad_with_ones",
             "parplan.pad %0 dims [0] low [1] high [0] value 1.0 : "
             "tensor<2x3xf32>",
             {"2x3xf32"},
             "d1=3, in0_0=2 blocked, out0_0=3 blocked : [in0_0, d1] -> "
             "[out0_0, d1]",
             ""},
        Case{"embedding",
             "parplan.embedding %0, %1 : tensor<2x3xi64>, tensor<7x4xf32>",
             {"2x3xi64", "7x4xf32"},
             "b=2, s=3, v=7 sum, d=4 : [b, s], [v, d] -> [b, s, d]",
             "v d"},
        Case{"gather",
             "parplan.gather %0, %1 dim 1 : tensor<2x7xf32>, tensor<3xi64>",
             {"2x7xf32", "3xi64"},
             "d0=2, i0=3, in0_1=7 blocked : [d0, in0_1], [i0] -> [d0, i0]",
             "d0 in0_1"},
        Case{"gather_elements",
             "parplan.gather_elements %0, %1 dim 1 : tensor<2x7xf32>, "
             "tensor<2x3xi64>",
             {"2x7xf32", "2x3xi64"},
             "d0=2, d1=3, in0_1=7 blocked : [d0, in0_1], [d0, d1] -> [d0, d1]",
             "d0 in0_1"},
        Case{"gather_nd",
             "parplan.gather_nd %0, %1 batch_dims 1 : tensor<2x7x5xf32>, "
             "tensor<2x3x1xi64>",
             {"2x7x5xf32", "2x3x1xi64"},
             "i0=2, i1=3, d2=5, in0_1=7 blocked : [i0, in0_1, d2], [i0, i1, -] "
             "-> [i0, i1, d2]",
             "i0 d2 in0_1"},
        Case{"topk",
             "parplan.topk %0 k 2 dim 1 largest true : tensor<3x4xf32>",
             {"3x4xf32"},
             "d0=3, in0_1=4 blocked, out0_1=2 blocked, out1_1=2 blocked : [d0, "
             "in0_1] -> [d0, out0_1], [d0, out1_1]",
             ""},
        Case{"cumsum",
             "parplan.cumsum %0 dim 1 : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 blocked : [d0, d1] -> [d0, d1] jointly",
             "d0 d1"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Products, Rules,
    testing::Values(
        Case{"sum",
             "parplan.reduce sum %0 dims [1] : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 sum : [d0, d1] -> [d0] jointly",
             "d0 d1"},
        Case{"maximum",
             "parplan.reduce max %0 dims [1] keep_dims : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 max : [d0, d1] -> [d0, -]",
             "d0"},
        Case{"product",
             "parplan.reduce prod %0 dims [1] : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 blocked : [d0, d1] -> [d0]",
             "d0"},
        Case{"matmul",
             "parplan.matmul \"bsk,kn->bsn\" %0, %1 : tensor<2x1x8xf32>, "
             "tensor<8x4xf32>",
             {"2x1x8xf32", "8x4xf32"},
             "b=2, k=8 sum, n=4 : [b, -, k], [k, n] -> [b, -, n] separately",
             "b k n"},
        Case{"grouped_conv",
             "parplan.conv %0, %1 strides [1] pads [1, 1] dilations [1] groups "
             "2 : tensor<2x8x5xf32>, tensor<6x4x3xf32>",
             {"2x8x5xf32", "6x4x3xf32"},
             "n=2, g=2, co=3, ci=4 sum, x0=5 blocked, w0=3 blocked, y0=5 "
             "blocked : [n, g ci, x0], [g co, ci, w0] -> [n, g co, y0] "
             "separately",
             "n g co ci x0 w0 y0"},
        Case{"conv_with_bias",
             "parplan.conv %0, %1, %2 strides [1] pads [0, 0] dilations [1] "
             "groups 1 : tensor<2x8x5xf32>, tensor<6x8x3xf32>, tensor<6xf32>",
             {"2x8x5xf32", "6x8x3xf32", "6xf32"},
             "n=2, co=6, ci=8 coupled, x0=5 blocked, w0=3 blocked, y0=3 "
             "blocked : [n, ci, x0], [co, ci, w0], [co] -> [n, co, y0]",
             "co ci x0 w0 y0"},
        Case{"pooling",
             "parplan.max_pool %0 window [2] strides [2] pads [0, 0] dilations "
             "[1] : tensor<2x8x4xf32>",
             {"2x8x4xf32"},
             "n=2, c=8, x0=4 blocked, y0=2 blocked : [n, c, x0] -> [n, c, y0]",
             "n c x0 y0"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Composites, Rules,
    testing::Values(
        Case{"softmax",
             "parplan.softmax %0 dim 1 : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 coupled : [d0, d1] -> [d0, d1]",
             ""},
        Case{"layer_norm",
             "parplan.layer_norm %0 scale %1 : tensor<3xf32> dim 1 epsilon "
             "1.0e-5 : tensor<2x3xf32>",
             {"2x3xf32", "3xf32"},
             "d0=2, d1=3 coupled : [d0, d1], [d1] -> [d0, d1]",
             "d0"},
        Case{"layer_norm_with_bias",
             "parplan.layer_norm %0 bias %1 : tensor<3xf32> dim 1 epsilon "
             "1.0e-5 : tensor<2x3xf32>",
             {"2x3xf32", "3xf32"},
             "d0=2, d1=3 coupled : [d0, d1], [d1] -> [d0, d1]",
             ""},
        Case{"rms_norm_without_epsilon",
             "parplan.rms_norm %0 dim 1 epsilon 0.0 : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 coupled : [d0, d1] -> [d0, d1]",
             ""},
        Case{"batch_norm",
             "parplan.batch_norm %0, %1, %1, %1, %1 epsilon 1.0e-5 : "
             "tensor<2x3x4xf32>, tensor<3xf32>",
             {"2x3x4xf32", "3xf32"},
             "n=2, c=3, d2=4 : [n, c, d2], [c], [c], [c], [c] -> [n, c, d2]",
             "c"},
        Case{"rope",
             "parplan.rope %0 cos %1 sin %1 : tensor<2x3x5x8xf32>, "
             "tensor<3x1x4xf32>, tensor<3x1x4xf32>",
             {"2x3x5x8xf32", "3x1x4xf32"},
             "d0=2, d1=3, d2=5, d3=8 blocked, in1_2=4 blocked, in2_2=4 blocked "
             ": [d0, d1, d2, d3], [d1, -, in1_2], [d1, -, in2_2] -> [d0, d1, "
             "d2, d3]",
             "d0 d1 d2 d3"},
        Case{
            "grouped_attention",
            "parplan.attention %0, %1, %2 mask %3 : tensor<6x5x7xi1> scale 1.0 "
            ": tensor<2x5x6x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>",
            {"2x5x6x8xf32", "2x7x3x8xf32", "2x7x3x4xf32", "6x5x7xi1"},
            "b=2, s=5, t=7 coupled, g=3, r=2, e=8 coupled, f=4 : [b, s, g r, "
            "e], [b, t, g, e], [b, t, g, f], [g r, s, t] -> [b, s, g r, f]",
            "b e f"},
        Case{"attention_of_equal_heads",
             "parplan.attention %0, %0, %0 scale 1.0 causal : "
             "tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>",
             {"2x5x6x8xf32"},
             "b=2, s=5, t=5 coupled, g=6, e=8 coupled, f=8 : [b, s, g, e], [b, "
             "t, g, e], [b, t, g, f] -> [b, s, g, f]",
             "b g e f"},
        // Equal keys and values of padded heads count, too.
        Case{"attention_with_statistics",
             "parplan.attention %0, %0, %0 scale 1.0 statistics : "
             "tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>",
             {"2x5x6x8xf32"},
             "b=2, s=5, t=5 coupled, g=6, e=8 coupled, f=8 : [b, s, g, e], [b, "
             "t, g, e], [b, t, g, f] -> [b, s, g, f], [b, g, s]",
             "e f"},
        // With its statistics given, keys are summed over as queries are.
        Case{"attention_gradient",
             "parplan.attention_gradient %0, %1, %2 result %3, %4 gradient %3 "
             "mask %5 : tensor<5x7xi1> scale 1.0 : tensor<2x5x6x8xf32>, "
             "tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>, tensor<2x5x6x4xf32>, "
             "tensor<2x6x5xf32>",
             {"2x5x6x8xf32", "2x7x3x8xf32", "2x7x3x4xf32", "2x5x6x4xf32",
              "2x6x5xf32", "5x7xi1"},
             "b=2, s=5 sum, t=7 sum, g=3, r=2 sum, e=8 coupled, f=4 sum : [b, "
             "s, g r, e], [b, t, g, e], [b, t, g, f], [b, s, g r, f], [b, g r, "
             "s], [b, s, g r, f], [s, t] -> [b, s, g r, e], [b, t, g, e], [b, "
             "t, g, f]",
             "b s g r e f"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Training, Rules,
    testing::Values(
        Case{"accumulate",
             "parplan.accumulate %0 : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2, d1=3 : [d0, d1] -> [d0, d1] jointly flat",
             "d0 d1"},
        Case{"accumulate_scalar",
             "parplan.accumulate %0 : tensor<f32>",
             {"f32"},
             " : [] -> [] jointly",
             ""},
        Case{"sum_of_three",
             "parplan.sum %0, %1, %0 : tensor<2x3xf32>",
             {"2x3xf32", "2x3xf32"},
             "d0=2, d1=3 : [d0, d1], [d0, d1], [d0, d1] -> [d0, d1] jointly "
             "flat",
             "d0 d1"},
        Case{"square_sum",
             "parplan.square_sum %0 : tensor<2x3xf32>",
             {"2x3xf32"},
             "d0=2 sum, d1=3 sum : [d0, d1] -> [] flat",
             "d0 d1"},
        Case{"sgd",
             "parplan.optimizer_update sgd %0, %0 learning_rate %1 betas 0.0, "
             "0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2x3xf32>, "
             "tensor<2x3xf32>, tensor<f32>",
             {"2x3xf32", "f32"},
             "d0=2, d1=3 : [d0, d1], [d0, d1], [] -> [d0, d1] flat",
             "d0 d1"},
        Case{"adam",
             "parplan.optimizer_update adam %0, %0 states %0, %0 learning_rate "
             "%1 step_size %1 bias_correction2_sqrt %1 scale %1 skip %2 betas "
             "0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0 : "
             "tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, "
             "tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>",
             {"2xf32", "f32", "i1"},
             "d0=2 : [d0], [d0], [d0], [d0], [], [], [], [], [] -> [d0], [d0], "
             "[d0] flat",
             "d0"},
        Case{
            "cross_entropy",
            "parplan.cross_entropy %0, %1 : tensor<2x3x7xf32>, tensor<2x3xi64>",
            {"2x3x7xf32", "2x3xi64"},
            "d0=2, d1=3, v=7 coupled : [d0, d1, v], [d0, d1] -> [d0, d1], "
            "[d0, d1]",
            ""},
        Case{"embedding_gradient",
             "parplan.embedding_gradient %0, %1 : tensor<2x3xi64>, "
             "tensor<2x3x4xf32> to tensor<7x4xf32>",
             {"2x3xi64", "2x3x4xf32"},
             "b=2 sum, s=3 sum, v=7, d=4 : [b, s], [b, s, d] -> [v, d]",
             "b s d"},
        Case{"gather_gradient",
             "parplan.gather_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
             "tensor<3xi64> to tensor<2x7xf32>",
             {"2x3xf32", "3xi64"},
             "d0=2, i0=3 sum, out0_1=7 blocked : [d0, i0], [i0] -> [d0, "
             "out0_1]",
             "d0 i0 out0_1"},
        Case{"gather_elements_gradient",
             "parplan.gather_elements_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
             "tensor<2x3xi64> to tensor<2x7xf32>",
             {"2x3xf32", "2x3xi64"},
             "d0=2, d1=3 sum, out0_1=7 blocked : [d0, d1], [d0, d1] -> [d0, "
             "out0_1]",
             "d0 d1 out0_1"},
        Case{"gather_elements_gradient_of_a_part",
             "parplan.gather_elements_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
             "tensor<2x3xi64> to tensor<5x7xf32>",
             {"2x3xf32", "2x3xi64"},
             "d0=2 blocked, d1=3 sum, out0_0=5 blocked, out0_1=7 blocked : "
             "[d0, d1], [d0, d1] -> [out0_0, out0_1]",
             "d0 d1 out0_0 out0_1"},
        Case{"gather_nd_gradient",
             "parplan.gather_nd_gradient %0, %1 batch_dims 1 : "
             "tensor<2x3x5xf32>, tensor<2x3x1xi64> to tensor<2x7x5xf32>",
             {"2x3x5xf32", "2x3x1xi64"},
             "i0=2, i1=3 sum, d2=5, out0_1=7 blocked : [i0, i1, d2], [i0, i1, "
             "-] -> [i0, out0_1, d2]",
             "i0 i1 d2 out0_1"},
        Case{"conv_input_gradient",
             "parplan.conv_input_gradient %0, %1 strides [1] pads [1, 1] "
             "dilations [1] groups 2 : tensor<2x6x5xf32>, tensor<6x4x3xf32> to "
             "tensor<2x8x5xf32>",
             {"2x6x5xf32", "6x4x3xf32"},
             "n=2, g=2, co=3 sum, ci=4, x0=5 blocked, w0=3 blocked, y0=5 "
             "blocked : [n, g co, y0], [g co, ci, w0] -> [n, g ci, x0] "
             "separately",
             "n g co ci x0 w0 y0"},
        Case{"conv_weight_gradient",
             "parplan.conv_weight_gradient %0, %1 strides [1] pads [1, 1] "
             "dilations [1] groups 2 : tensor<2x8x5xf32>, tensor<2x6x5xf32> to "
             "tensor<6x4x3xf32>",
             {"2x8x5xf32", "2x6x5xf32"},
             "n=2 sum, g=2, co=3, ci=4, x0=5 blocked, w0=3 blocked, y0=5 "
             "blocked : [n, g ci, x0], [n, g co, y0] -> [g co, ci, w0] "
             "separately",
             "n g co ci x0 w0 y0"},
        Case{"max_pool_gradient",
             "parplan.max_pool_gradient %0, %1 window [2] strides [2] pads [0, "
             "0] dilations [1] : tensor<2x8x4xf32>, tensor<2x8x2xf32>",
             {"2x8x4xf32", "2x8x2xf32"},
             "n=2, c=8, in0_2=4 blocked, in1_2=2 blocked, out0_2=4 blocked : "
             "[n, c, in0_2], [n, c, in1_2] -> [n, c, out0_2]",
             "n c in0_2 in1_2 out0_2"},
        Case{"average_pool_gradient",
             "parplan.average_pool_gradient %0 window [2] strides [2] pads [0, "
             "0] dilations [1] : tensor<2x8x2xf32> to tensor<2x8x4xf32>",
             {"2x8x2xf32"},
             "n=2, c=8, in0_2=2 blocked, out0_2=4 blocked : [n, c, in0_2] -> "
             "[n, c, out0_2] jointly",
             "n c in0_2 out0_2"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Experts, Rules,
    testing::Values(
        Case{"moe_dispatch",
             "parplan.moe_dispatch %0, %1 weights %2 : tensor<7x2xf32> : "
             "tensor<7x4xf32>, tensor<7x2xi64> to tensor<3x7x4xf32>",
             {"7x4xf32", "7x2xi64", "7x2xf32"},
             "e=3, t=7, d=4, in1_1=2 blocked, in2_1=2 blocked : [t, d], "
             "[t, in1_1], [t, in2_1] -> [e, t, d] separately",
             "t d"},
        Case{"moe_combine",
             "parplan.moe_combine %0, %1 : tensor<3x5x7x4xf32>, "
             "tensor<5x7x2xi64>",
             {"3x5x7x4xf32", "5x7x2xi64"},
             "e=3 sum, t0=5, t1=7, d=4, in1_2=2 blocked : [e, t0, t1, d], "
             "[t0, t1, in1_2] -> [t0, t1, d] separately",
             "e t0 t1 d in1_2"},
        Case{"moe_weight_gradient",
             "parplan.moe_weight_gradient %0, %1, %2 : tensor<3x7x4xf32>, "
             "tensor<7x4xf32>, tensor<7x1xi64>",
             {"3x7x4xf32", "7x4xf32", "7x1xi64"},
             "e=3 sum, t=7, d=4 sum : [e, t, d], [t, d], [t, -] -> [t, -] "
             "separately",
             "e t d"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Structure, Rules,
    testing::Values(Case{"splat",
                         "parplan.constant dense<0.0> : tensor<2x3xf32>",
                         {},
                         "d0=2, d1=3 :  -> [d0, d1]",
                         "d0 d1"},
                    Case{"splat_of_ones",
                         "parplan.constant dense<1> : tensor<2xi64>",
                         {},
                         "d0=2 :  -> [d0]",
                         ""},
                    Case{"dense",
                         "parplan.constant dense<[1, 2]> : tensor<2xi64>",
                         {},
                         "d0=2 blocked :  -> [d0]",
                         "d0"},
                    Case{"iota",
                         "parplan.iota 0 : tensor<2x3xi64>",
                         {},
                         "d0=2, d1=3 :  -> [d0, d1]",
                         ""},
                    Case{"mask",
                         "parplan.affine_mask [0, 1] + 0 : tensor<2x3xi1>",
                         {},
                         "d0=2, d1=3 coupled :  -> [d0, d1]",
                         ""}),
    [](const auto &info) { return info.param.name; });

} // namespace
