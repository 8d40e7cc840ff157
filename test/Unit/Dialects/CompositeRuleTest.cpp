//===- CompositeRuleTest.cpp - Rules of composites and of training --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RuleCase.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Composites, Rules,
    testing::Values(
        RuleCase{"softmax",
                 "parplan.softmax %0 dim 1 : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 coupled : [d0, d1] -> [d0, d1]",
                 ""},
        RuleCase{"layer_norm",
                 "parplan.layer_norm %0 scale %1 : tensor<3xf32> dim 1 epsilon "
                 "1.0e-5 : tensor<2x3xf32>",
                 {"2x3xf32", "3xf32"},
                 "d0=2, d1=3 coupled : [d0, d1], [d1] -> [d0, d1]",
                 "d0"},
        RuleCase{"layer_norm_with_bias",
                 "parplan.layer_norm %0 bias %1 : tensor<3xf32> dim 1 epsilon "
                 "1.0e-5 : tensor<2x3xf32>",
                 {"2x3xf32", "3xf32"},
                 "d0=2, d1=3 coupled : [d0, d1], [d1] -> [d0, d1]",
                 ""},
        RuleCase{"rms_norm_without_epsilon",
                 "parplan.rms_norm %0 dim 1 epsilon 0.0 : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 coupled : [d0, d1] -> [d0, d1]",
                 ""},
        RuleCase{
            "batch_norm",
            "parplan.batch_norm %0, %1, %1, %1, %1 epsilon 1.0e-5 : "
            "tensor<2x3x4xf32>, tensor<3xf32>",
            {"2x3x4xf32", "3xf32"},
            "n=2, c=3, d2=4 : [n, c, d2], [c], [c], [c], [c] -> [n, c, d2]",
            "c"},
        RuleCase{
            "rope",
            "parplan.rope %0 cos %1 sin %1 : tensor<2x3x5x8xf32>, "
            "tensor<3x1x4xf32>, tensor<3x1x4xf32>",
            {"2x3x5x8xf32", "3x1x4xf32"},
            "d0=2, d1=3, d2=5, d3=8 blocked, in1_2=4 blocked, in2_2=4 blocked "
            ": [d0, d1, d2, d3], [d1, -, in1_2], [d1, -, in2_2] -> [d0, d1, "
            "d2, d3]",
            "d0 d1 d2 d3"},
        RuleCase{
            "grouped_attention",
            "parplan.attention %0, %1, %2 mask %3 : tensor<6x5x7xi1> scale 1.0 "
            ": tensor<2x5x6x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>",
            {"2x5x6x8xf32", "2x7x3x8xf32", "2x7x3x4xf32", "6x5x7xi1"},
            "b=2, s=5, t=7 coupled, g=3, r=2, e=8 coupled, f=4 : [b, s, g r, "
            "e], [b, t, g, e], [b, t, g, f], [g r, s, t] -> [b, s, g r, f]",
            "b e f"},
        RuleCase{
            "attention_of_equal_heads",
            "parplan.attention %0, %0, %0 scale 1.0 causal : "
            "tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>",
            {"2x5x6x8xf32"},
            "b=2, s=5 numbered, t=5 coupled numbered, g=6, e=8 coupled, f=8 : "
            "[b, s, g, e], [b, t, g, e], [b, t, g, f] -> [b, s, g, f]",
            "b g e f"},
        // Equal keys and values of padded heads count, too.
        RuleCase{
            "attention_with_statistics",
            "parplan.attention %0, %0, %0 scale 1.0 statistics : "
            "tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>",
            {"2x5x6x8xf32"},
            "b=2, s=5, t=5 coupled, g=6, e=8 coupled, f=8 : [b, s, g, e], [b, "
            "t, g, e], [b, t, g, f] -> [b, s, g, f], [b, g, s]",
            "e f"},
        RuleCase{
            "attention_with_a_sink",
            "parplan.attention %0, %1, %1 mask %2 : tensor<5x7xi1> sink %3 : "
            "tensor<6xf32> scale 1.0 : tensor<2x5x6x8xf32>, "
            "tensor<2x7x3x8xf32>, tensor<2x7x3x8xf32>",
            {"2x5x6x8xf32", "2x7x3x8xf32", "5x7xi1", "6xf32"},
            "b=2, s=5, t=7 coupled, g=3, r=2, e=8 coupled, f=8 : [b, s, g r, "
            "e], [b, t, g, e], [b, t, g, f], [s, t], [g r] -> [b, s, g r, f]",
            "e f"},
        // With its statistics given, keys are summed over as queries are.
        RuleCase{
            "attention_gradient",
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
        RuleCase{"accumulate",
                 "parplan.accumulate %0 : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2, d1=3 : [d0, d1] -> [d0, d1] jointly flat",
                 "d0 d1"},
        RuleCase{"accumulate_scalar",
                 "parplan.accumulate %0 : tensor<f32>",
                 {"f32"},
                 " : [] -> [] jointly",
                 ""},
        RuleCase{
            "sum_of_three",
            "parplan.sum %0, %1, %0 : tensor<2x3xf32>",
            {"2x3xf32", "2x3xf32"},
            "d0=2, d1=3 : [d0, d1], [d0, d1], [d0, d1] -> [d0, d1] jointly "
            "flat",
            "d0 d1"},
        RuleCase{"square_sum",
                 "parplan.square_sum %0 : tensor<2x3xf32>",
                 {"2x3xf32"},
                 "d0=2 sum, d1=3 sum : [d0, d1] -> [] flat",
                 "d0 d1"},
        RuleCase{
            "sgd",
            "parplan.optimizer_update sgd %0, %0 learning_rate %1 betas 0.0, "
            "0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2x3xf32>, "
            "tensor<2x3xf32>, tensor<f32>",
            {"2x3xf32", "f32"},
            "d0=2, d1=3 : [d0, d1], [d0, d1], [] -> [d0, d1] flat",
            "d0 d1"},
        RuleCase{
            "adam",
            "parplan.optimizer_update adam %0, %0 states %0, %0 learning_rate "
            "%1 step_size %1 bias_correction2_sqrt %1 scale %1 skip %2 betas "
            "0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0 : "
            "tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, "
            "tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>",
            {"2xf32", "f32", "i1"},
            "d0=2 : [d0], [d0], [d0], [d0], [], [], [], [], [] -> [d0], [d0], "
            "[d0] flat",
            "d0"},
        RuleCase{
            "cross_entropy",
            "parplan.cross_entropy %0, %1 : tensor<2x3x7xf32>, tensor<2x3xi64>",
            {"2x3x7xf32", "2x3xi64"},
            "d0=2, d1=3, v=7 coupled numbered : [d0, d1, v], [d0, d1] -> [d0, "
            "d1], "
            "[d0, d1]",
            ""},
        RuleCase{
            "embedding_gradient",
            "parplan.embedding_gradient %0, %1 : tensor<2x3xi64>, "
            "tensor<2x3x4xf32> to tensor<7x4xf32>",
            {"2x3xi64", "2x3x4xf32"},
            "b=2 sum, s=3 sum, v=7 numbered, d=4 : [b, s], [b, s, d] -> [v, d]",
            "b s d"},
        RuleCase{"gather_gradient",
                 "parplan.gather_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
                 "tensor<3xi64> to tensor<2x7xf32>",
                 {"2x3xf32", "3xi64"},
                 "d0=2, i0=3 sum, out0_1=7 blocked : [d0, i0], [i0] -> [d0, "
                 "out0_1]",
                 "d0 i0 out0_1"},
        RuleCase{
            "gather_elements_gradient",
            "parplan.gather_elements_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
            "tensor<2x3xi64> to tensor<2x7xf32>",
            {"2x3xf32", "2x3xi64"},
            "d0=2, d1=3 sum, out0_1=7 blocked : [d0, d1], [d0, d1] -> [d0, "
            "out0_1]",
            "d0 d1 out0_1"},
        RuleCase{
            "gather_elements_gradient_of_a_part",
            "parplan.gather_elements_gradient %0, %1 dim 1 : tensor<2x3xf32>, "
            "tensor<2x3xi64> to tensor<5x7xf32>",
            {"2x3xf32", "2x3xi64"},
            "d0=2 blocked, d1=3 sum, out0_0=5 blocked, out0_1=7 blocked : "
            "[d0, d1], [d0, d1] -> [out0_0, out0_1]",
            "d0 d1 out0_0 out0_1"},
        RuleCase{
            "gather_nd_gradient",
            "parplan.gather_nd_gradient %0, %1 batch_dims 1 : "
            "tensor<2x3x5xf32>, tensor<2x3x1xi64> to tensor<2x7x5xf32>",
            {"2x3x5xf32", "2x3x1xi64"},
            "i0=2, i1=3 sum, d2=5, out0_1=7 blocked : [i0, i1, d2], [i0, i1, "
            "-] -> [i0, out0_1, d2]",
            "i0 i1 d2 out0_1"},
        RuleCase{
            "conv_input_gradient",
            "parplan.conv_input_gradient %0, %1 strides [1] pads [1, 1] "
            "dilations [1] groups 2 : tensor<2x6x5xf32>, tensor<6x4x3xf32> to "
            "tensor<2x8x5xf32>",
            {"2x6x5xf32", "6x4x3xf32"},
            "n=2, g=2, co=3 sum, ci=4, x0=5 blocked, w0=3 blocked, y0=5 "
            "blocked : [n, g co, y0], [g co, ci, w0] -> [n, g ci, x0] "
            "separately",
            "n g co ci x0 w0 y0"},
        RuleCase{
            "conv_weight_gradient",
            "parplan.conv_weight_gradient %0, %1 strides [1] pads [1, 1] "
            "dilations [1] groups 2 : tensor<2x8x5xf32>, tensor<2x6x5xf32> to "
            "tensor<6x4x3xf32>",
            {"2x8x5xf32", "2x6x5xf32"},
            "n=2 sum, g=2, co=3, ci=4, x0=5 blocked, w0=3 blocked, y0=5 "
            "blocked : [n, g ci, x0], [n, g co, y0] -> [g co, ci, w0] "
            "separately",
            "n g co ci x0 w0 y0"},
        RuleCase{
            "max_pool_gradient",
            "parplan.max_pool_gradient %0, %1 window [2] strides [2] pads [0, "
            "0] dilations [1] : tensor<2x8x4xf32>, tensor<2x8x2xf32>",
            {"2x8x4xf32", "2x8x2xf32"},
            "n=2, c=8, in0_2=4 blocked, in1_2=2 blocked, out0_2=4 blocked : "
            "[n, c, in0_2], [n, c, in1_2] -> [n, c, out0_2]",
            "n c in0_2 in1_2 out0_2"},
        RuleCase{
            "average_pool_gradient",
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
        RuleCase{"moe_dispatch",
                 "parplan.moe_dispatch %0, %1 weights %2 : tensor<7x2xf32> : "
                 "tensor<7x4xf32>, tensor<7x2xi64> to tensor<3x7x4xf32>",
                 {"7x4xf32", "7x2xi64", "7x2xf32"},
                 "e=3 numbered, t=7, d=4, in1_1=2 blocked, in2_1=2 blocked : "
                 "[t, d], "
                 "[t, in1_1], [t, in2_1] -> [e, t, d] separately",
                 "t d"},
        RuleCase{"moe_combine",
                 "parplan.moe_combine %0, %1 : tensor<3x5x7x4xf32>, "
                 "tensor<5x7x2xi64>",
                 {"3x5x7x4xf32", "5x7x2xi64"},
                 "e=3 sum numbered, t0=5, t1=7, d=4, in1_2=2 blocked : [e, t0, "
                 "t1, d], "
                 "[t0, t1, in1_2] -> [t0, t1, d] separately",
                 "e t0 t1 d in1_2"},
        RuleCase{"moe_weight_gradient",
                 "parplan.moe_weight_gradient %0, %1, %2 : tensor<3x7x4xf32>, "
                 "tensor<7x4xf32>, tensor<7x1xi64>",
                 {"3x7x4xf32", "7x4xf32", "7x1xi64"},
                 "e=3 sum numbered, t=7, d=4 sum : [e, t, d], [t, d], [t, -] "
                 "-> [t, -] "
                 "separately",
                 "e t d"},
        RuleCase{"product_of_rows",
                 "parplan.matmul \"ebsk,ekn->ebsn\" %0, %1 experts %2 : "
                 "tensor<5x7x2xi64> of 6 tokens \"bs\" : tensor<3x5x7x4xf32>, "
                 "tensor<3x4x2xf32>",
                 {"3x5x7x4xf32", "3x4x2xf32", "5x7x2xi64"},
                 "e=3 numbered, b=5, s=7, k=4 sum, n=2, in2_2=2 blocked : "
                 "[e, b, s, k], [e, k, n], [b, s, in2_2] -> [e, b, s, n] "
                 "separately",
                 "e b s k n in2_2"},
        RuleCase{"product_over_tokens",
                 "parplan.matmul \"etk,etn->ekn\" %0, %1 experts %2 : "
                 "tensor<7x2xi64> of 6 tokens \"t\" : tensor<3x7x4xf32>, "
                 "tensor<3x7x2xf32>",
                 {"3x7x4xf32", "3x7x2xf32", "7x2xi64"},
                 "e=3 numbered, t=7 sum, k=4, n=2, in2_1=2 blocked : [e, t, "
                 "k], [e, t, n], [t, in2_1] -> [e, k, n] separately",
                 "e t k n in2_1"}),
    [](const auto &info) { return info.param.name; });

} // namespace parplan::test
