//===- ActivationFormsTest.cpp - Activations, losses, norms --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Activations, OperatorForms,
    testing::Values(
        Form{"Selu", 22,
             "g (float[2] x) => (float[2] y) { y = Selu <alpha = 2.0, gamma = "
             "3.0> (x) }",
             "%0 = min x 0\n"
             "%1 = exp %0\n"
             "%2 = add %1 -1\n"
             "%3 = mul %2 2\n"
             "%4 = compare x 0 [4]\n"
             "%5 = select %4 x %3\n"
             "%6 = mul %5 3\n"
             "return %6:float[2]"},
        Form{"Celu", 12,
             "g (float[2] x) => (float[2] y) { y = Celu <alpha = 2.0> (x) }",
             "%0 = mul x 0.5\n"
             "%1 = min %0 0\n"
             "%2 = exp %1\n"
             "%3 = add %2 -1\n"
             "%4 = mul %3 2\n"
             "%5 = min %4 0\n"
             "%6 = max x 0\n"
             "%7 = add %6 %5\n"
             "return %7:float[2]"},
        Form{"CeluOfZero", 12,
             "g (float[2] x) => (float[2] y) { y = Celu <alpha = 0.0> (x) }",
             "2103"},
        Form{"ThresholdedRelu", 10,
             "g (float[2] x) => (float[2] y) { y = ThresholdedRelu <alpha = "
             "0.5> (x) }",
             "%0 = compare x 0.5 [4]\n"
             "%1 = select %0 x 0\n"
             "return %1:float[2]"},
        Form{"Shrink", 9,
             "g (float[2] x) => (float[2] y) { y = Shrink <bias = 0.25, lambd "
             "= 1.5> (x) }",
             "%0 = compare x 1.5 [4]\n"
             "%1 = compare x -1.5 [2]\n"
             "%2 = add x -0.25\n"
             "%3 = select %0 %2 0\n"
             "%4 = add x 0.25\n"
             "%5 = select %1 %4 %3\n"
             "return %5:float[2]"},
        Form{"ShrinkOfIntegers", 9,
             "g (int32[2] x) => (int32[2] y) { y = Shrink (x) }", "2102"},
        Form{"PReluPerChannel", 16,
             "g (float[1,2,3] x, float[2,1] s) => (float[1,2,3] y) { y = "
             "PRelu(x, s) }",
             "%0 = mul x s\n"
             "%1 = compare x 0 [2]\n"
             "%2 = select %1 %0 x\n"
             "return %2:float[1, 2, 3]"},
        Form{"PReluSlopeTooLarge", 16,
             "g (float[3] x, float[2,3] s) => (float[2,3] y) { y = PRelu(x, "
             "s) }",
             "2103"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Losses, OperatorForms,
    testing::Values(
        Form{"LossWeighted", 22,
             "g (float[2,5] x, int64[2] t, float[5] w) => (float y) { y = "
             "NegativeLogLikelihoodLoss (x, t, w) }",
             "%0 = reshape t\n"
             "%1 = gather_elements x %0 [1]\n"
             "%2 = reshape %1\n"
             "%3 = neg %2\n"
             "%4 = gather w t [0]\n"
             "%5 = mul %3 %4\n"
             "%6 = reduce %4 [0, 0, 0]\n"
             "%7 = reduce %5 [0, 0, 0]\n"
             "%8 = div %7 %6\n"
             "return %8:float[]"},
        Form{"LossIgnores", 13,
             "g (float[2,5,3] x, int32[2,3] t) => (float[2,3] y) { y = "
             "NegativeLogLikelihoodLoss <reduction = \"none\", ignore_index = "
             "-1> (x, t) }",
             "%0 = compare t -1 [1]\n"
             "%1 = select %0 t 0\n"
             "%2 = reshape %1\n"
             "%3 = gather_elements x %2 [1]\n"
             "%4 = reshape %3\n"
             "%5 = neg %4\n"
             "%6 = select %0 %5 0\n"
             "return %6:float[2, 3]"},
        Form{"LossOfLogits", 13,
             "g (float[2,5] x, int64[2] t) => (float y, float[2,5] p) { y, p "
             "= SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, t) }",
             "%0 = log_softmax x [1]\n"
             "%1 = reshape t\n"
             "%2 = gather_elements %0 %1 [1]\n"
             "%3 = reshape %2\n"
             "%4 = neg %3\n"
             "%5 = reduce %4 [0, 0, 0]\n"
             "return %5:float[] %0:float[2, 5]"},
        Form{"LossMean", 12,
             "g (float[2,5] x, int64[2] t) => (float y) { y = "
             "SoftmaxCrossEntropyLoss (x, t) }",
             "%0 = log_softmax x [1]\n"
             "%1 = reshape t\n"
             "%2 = gather_elements %0 %1 [1]\n"
             "%3 = reshape %2\n"
             "%4 = neg %3\n"
             "%5 = reduce %4 [0, 0, 0]\n"
             "%6 = mul %5 0.5\n"
             "return %6:float[]"},
        Form{"LossLabelsDoNotFit", 13,
             "g (float[2,5] x, int64[3] t) => (float y) { y = "
             "SoftmaxCrossEntropyLoss (x, t) }",
             "2103"},
        Form{"LossUnknownReduction", 13,
             "g (float[2,5] x, int64[2] t) => (float y) { y = "
             "SoftmaxCrossEntropyLoss <reduction = \"max\"> (x, t) }",
             "2103"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Extremes, OperatorForms,
    testing::Values(
        Form{"ArgMax", 13,
             "g (float[2,5] x) => (int64[2] y) { y = ArgMax <axis = 1, "
             "keepdims = 0> (x) }",
             "%0 = topk x [1, 1, 1]\n"
             "%2 = reshape %1\n"
             "return %2:int64[2]"},
        Form{"ArgMinLast", 13,
             "g (float[2,5] x) => (int64[1,5] y) { y = ArgMin "
             "<select_last_index = 1> (x) }",
             "%0 = slice x [0, 1, -1, -1]\n"
             "%1 = topk %0 [1, 0, 0]\n"
             "%3 = sub 1 %2\n"
             "return %3:int64[1, 5]"},
        Form{"ArgMaxOfBool", 13,
             "g (bool[2] x) => (int64[1] y) { y = ArgMax (x) }", "2103"},
        Form{"Hardmax", 13,
             "g (float[2,3] x) => (float[2,3] y) { y = Hardmax <axis = 0> (x) "
             "}",
             "%0 = topk x [1, 0, 1]\n"
             "%2 = compare %1 {0 1}[2, 1] [0]\n"
             "%3 = cast %2\n"
             "return %3:float[2, 3]"},
        Form{"HardmaxOfSeveralDimensions", 11,
             "g (float[2,3,2] x) => (float[2,3,2] y) { y = Hardmax (x) }",
             "%0 = reshape x\n"
             "%1 = topk %0 [1, 1, 1]\n"
             "%3 = compare %2 {0 1 2 3 4 5}[6] [0]\n"
             "%4 = cast %3\n"
             "%5 = reshape %4\n"
             "return %5:float[2, 3, 2]"},
        Form{"MinOfBytes", 18,
             "g (uint8[2,3] x) => (uint8[2,1] y) { a = Constant <value_ints = "
             "[1]> () y = ReduceMin (x, a) }",
             "%0 = not x\n"
             "%1 = reduce %0 [1, 1, 1]\n"
             "%2 = not %1\n"
             "return %2:uint8[2, 1]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    FurtherNorms, OperatorForms,
    testing::Values(
        Form{"InstanceNorm", 22,
             "g (float[2,3,4,5] x, float[3] s, float[3] b) => (float[2,3,4,5] "
             "y) { y = InstanceNormalization (x, s, b) }",
             "%0 = reshape x\n"
             "%1 = layer_norm %0\n"
             "%2 = reshape %1\n"
             "%3 = reshape s\n"
             "%4 = mul %2 %3\n"
             "%5 = reshape b\n"
             "%6 = add %4 %5\n"
             "return %6:float[2, 3, 4, 5]"},
        Form{"GroupNorm", 21,
             "g (float[2,4,5] x, float[4] s, float[4] b) => (float[2,4,5] y) "
             "{ y = GroupNormalization <num_groups = 2> (x, s, b) }",
             "%0 = reshape x\n"
             "%1 = layer_norm %0\n"
             "%2 = reshape %1\n"
             "%3 = reshape s\n"
             "%4 = mul %2 %3\n"
             "%5 = reshape b\n"
             "%6 = add %4 %5\n"
             "return %6:float[2, 4, 5]"},
        Form{"GroupsDoNotDivide", 21,
             "g (float[2,4,5] x, float[4] s, float[4] b) => (float[2,4,5] y) "
             "{ y = GroupNormalization <num_groups = 3> (x, s, b) }",
             "2103"},
        Form{"LocalResponseNorm", 13,
             "g (float[1,6,2,2] x) => (float[1,6,2,2] y) { y = LRN <size = 4, "
             "alpha = 0.5, beta = 0.5> (x) }",
             "%0 = mul x x\n"
             "%1 = reshape %0\n"
             "%2 = average_pool %1 [1, 4, 1, 1, 1, 1, 2, 0, 0, 1, 1]\n"
             "%3 = reshape %2\n"
             "%4 = mul %3 0.5\n"
             "%5 = add %4 1\n"
             "%6 = pow %5 0.5\n"
             "%7 = div x %6\n"
             "return %7:float[1, 6, 2, 2]"},
        Form{"LpNormOfOne", 22,
             "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization <p = "
             "1> (x) }",
             "%0 = abs x\n"
             "%1 = reduce %0 [0, 1, 1]\n"
             "%2 = compare %1 0 [4]\n"
             "%3 = select %2 %1 1\n"
             "%4 = div x %3\n"
             "return %4:float[2, 3]"},
        Form{"LpNormOfThree", 22,
             "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization <p = "
             "3> (x) }",
             "2103"},
        Form{"MeanVarianceNorm", 13,
             "g (float[2,3,4] x) => (float[2,3,4] y) { y = "
             "MeanVarianceNormalization <axes = [0, 2]> (x) }",
             "%0 = reduce x [0, 1, 0, 2]\n"
             "%1 = mul %0 0.125\n"
             "%2 = sub x %1\n"
             "%3 = mul %2 %2\n"
             "%4 = reduce %3 [0, 1, 0, 2]\n"
             "%5 = mul %4 0.125\n"
             "%6 = sqrt %5\n"
             "%7 = add %6 1e-09\n"
             "%8 = div %2 %7\n"
             "return %8:float[2, 3, 4]"}),
    printName);

} // namespace parplan::test
