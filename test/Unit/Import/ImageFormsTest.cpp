//===- ImageFormsTest.cpp - Pooling, resizing, sampling ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Pools, OperatorForms,
    testing::Values(
        Form{"MaxPoolPositions", 12,
             "g (float[1,1,4] x) => (float[1,1,2] y, int64[1,1,2] i) { y, i = "
             "MaxPool <kernel_shape=[2], strides=[2]> (x) }",
             "%0 = max_pool x [0, 2, 2, 0, 0, 1]\n"
             "%1 = gather x {0 1 2 3}[2, 2] [2]\n"
             "%2 = topk %1 [1, 3, 1]\n"
             "%4 = reshape %3\n"
             "%5 = add %4 {0 2}[2]\n"
             "%6 = gather {0 1 2 3}[4] %5 [0]\n"
             "return %0:float[1, 1, 2] %6:int64[1, 1, 2]"},
        Form{"MaxPoolOfBytes", 12,
             "g (uint8[1,1,4] x) => (uint8[1,1,3] y) { y = MaxPool "
             "<kernel_shape=[2]> (x) }",
             "%0 = cast x\n"
             "%1 = max_pool %0 [0, 2, 1, 0, 0, 1]\n"
             "%2 = cast %1\n"
             "return %2:uint8[1, 1, 3]"},
        Form{"MaxUnpool", 22,
             "g (float[1,2,2] x, int64[1,2,2] i) => (float[1,2,5] y) { s = "
             "Constant <value_ints = [1,2,5]> () y = MaxUnpool "
             "<kernel_shape=[2], strides=[2]> (x, i, s) }",
             "%0 = reshape i\n"
             "%1 = sub %0 {0 4}[2, 1]\n"
             "%2 = reshape x\n"
             "%3 = scatter_elements %2 %1 [1]\n"
             "%4 = reshape %3\n"
             "%5 = pad %4\n"
             "return %5:float[1, 2, 5]"},
        Form{"AveragePoolPastThePadding", 19,
             "g (float[1,1,5] x) => (float[1,1,3] y) { y = AveragePool "
             "<kernel_shape=[3], strides=[2], pads=[1,0], ceil_mode=1, "
             "count_include_pad=1> (x) }",
             "%0 = average_pool x [1, 3, 2, 1, 1, 1]\n"
             "%1 = mul %0 {1 1 1.5}[3]\n"
             "return %1:float[1, 1, 3]"},
        Form{"AveragePoolLargerThanTheInput", 19,
             "g (float[1,1,2] x) => (float[1,1,1] y) { y = AveragePool "
             "<kernel_shape=[8], strides=[8], ceil_mode=1> (x) }",
             "%0 = average_pool x [0, 8, 8, 0, 6, 1]\n"
             "return %0:float[1, 1, 1]"},
        Form{"AveragePoolWithoutPosition", 19,
             "g (float[1,1,2] x) => (float[1,1,1] y) { y = AveragePool "
             "<kernel_shape=[8], strides=[2], ceil_mode=1> (x) }",
             "2103"},
        Form{"LpPool", 18,
             "g (float[1,1,4] x) => (float[1,1,3] y) { y = LpPool "
             "<kernel_shape=[2], p=3> (x) }",
             "%0 = abs x\n"
             "%1 = pow %0 3\n"
             "%2 = average_pool %1 [1, 2, 1, 0, 0, 1]\n"
             "%3 = mul %2 2\n"
             "%4 = pow %3 0.333333\n"
             "return %4:float[1, 1, 3]"},
        Form{"LpPoolOfZero", 18,
             "g (float[1,1,4] x) => (float[1,1,3] y) { y = LpPool "
             "<kernel_shape=[2], p=0> (x) }",
             "2103"},
        Form{"GlobalLpPool", 22,
             "g (float[1,2,4] x) => (float[1,2,1] y) { y = GlobalLpPool (x) }",
             "%0 = mul x x\n"
             "%1 = reduce %0 [0, 1, 2]\n"
             "%2 = sqrt %1\n"
             "return %2:float[1, 2, 1]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    TransposedConvolutions, OperatorForms,
    testing::Values(
        Form{"ConvTranspose", 22,
             "g (float[1,4,3] x, float[4,2,3] w, float[2] b) => (float[1,2,6] "
             "y) { y = ConvTranspose <strides=[2], pads=[1,1], "
             "output_padding=[1]> (x, w, b) }",
             "%0 = conv_transpose x w [1, 2, 1, 0, 1]\n"
             "%1 = reshape b\n"
             "%2 = add %0 %1\n"
             "return %2:float[1, 2, 6]"},
        Form{"ConvTransposeSame", 22,
             "g (float[1,4,3] x, float[4,2,3] w) => (float[1,4,6] y) { y = "
             "ConvTranspose <strides=[2], group=2, auto_pad=\"SAME_LOWER\"> "
             "(x, w) }",
             "%0 = conv_transpose x w [2, 2, 1, 0, 1]\n"
             "return %0:float[1, 4, 6]"},
        Form{"ConvTransposeOfSize", 22,
             "g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,9] y) { y = "
             "ConvTranspose <strides=[2], output_shape=[9]> (x, w) }",
             "%0 = conv_transpose x w [1, 2, 0, 0, 1]\n"
             "%1 = pad %0\n"
             "return %1:float[1, 1, 9]"},
        Form{"ConvTransposeChannels", 22,
             "g (float[1,3,3] x, float[4,2,3] w) => (float[1,2,5] y) { y = "
             "ConvTranspose (x, w) }",
             "2103"},
        Form{"Col2Im", 18,
             "g (float[1,4,6] x) => (float[1,1,3,4] y) { i = Constant "
             "<value_ints = [3,4]> () b = Constant <value_ints = [2,2]> () y "
             "= Col2Im (x, i, b) }",
             "%0 = reshape x\n"
             "%1 = conv_transpose %0 {1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1}[4, 1, "
             "2, 2] [1, 1, 1, 0, 0, 0, 0, 1, 1]\n"
             "return %1:float[1, 1, 3, 4]"},
        Form{"Col2ImDoesNotFit", 18,
             "g (float[1,4,5] x) => (float[1,1,3,4] y) { i = Constant "
             "<value_ints = [3,4]> () b = Constant <value_ints = [2,2]> () y "
             "= Col2Im (x, i, b) }",
             "2103"},
        Form{"ConvInteger", 10,
             "g (uint8[1,1,3] x, uint8[1,1,2] w, uint8 z) => (int32[1,1,2] y) "
             "{ y = ConvInteger (x, w, z) }",
             "%0 = cast x\n"
             "%1 = cast z\n"
             "%2 = sub %0 %1\n"
             "%3 = cast w\n"
             "%4 = conv %2 %3 [1, 1, 0, 0, 1]\n"
             "%5 = cast %4\n"
             "return %5:int32[1, 1, 2]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Resizing, OperatorForms,
    testing::Values(
        Form{"ResizeRepeats", 19,
             "g (float[1,1,2,3] x) => (float[1,1,4,3] y) { s = Constant "
             "<value_floats = [1.0,1.0,2.0,1.0]> () y = Resize "
             "<coordinate_transformation_mode = \"asymmetric\", nearest_mode "
             "= \"floor\"> (x, , s) }",
             "%0 = reshape x\n"
             "%1 = broadcast %0\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 1, 4, 3]"},
        Form{"ResizeLinear", 19,
             "g (float[1,1,2] x) => (float[1,1,3] y) { s = Constant "
             "<value_ints = [1,1,3]> () y = Resize <mode = \"linear\", "
             "coordinate_transformation_mode = \"align_corners\"> (x, , , s) }",
             "%0 = gather x {0 0 0 1 0 1}[3, 2] [2]\n"
             "%1 = mul %0 {0 1 0.5 0.5 0 1}[3, 2]\n"
             "%2 = reduce %1 [0, 0, 3]\n"
             "return %2:float[1, 1, 3]"},
        Form{"ResizeOfAxes", 18,
             "g (float[2,4] x) => (float[2,2] y) { s = Constant <value_ints = "
             "[2]> () y = Resize <axes = [1]> (x, , , s) }",
             "%0 = slice x [1, 0, 3, 2]\n"
             "return %0:float[2, 2]"},
        Form{"ResizeCrops", 13,
             "g (float[2,4] x) => (float[2,2] y) { r = Constant <value_floats "
             "= [0.0,0.5,1.0,1.5]> () s = Constant <value_ints = [2,2]> () y "
             "= Resize <coordinate_transformation_mode = "
             "\"tf_crop_and_resize\", extrapolation_value = 7.0> (x, r, , s) }",
             "%0 = slice x [1, 1, 4, 2]\n"
             "%1 = select {1 0}[2] %0 7\n"
             "return %1:float[2, 2]"},
        Form{"ResizeNotLarger", 18,
             "g (float[2,4] x) => (float[3,6] y) { s = Constant <value_ints = "
             "[3,8]> () y = Resize <keep_aspect_ratio_policy = "
             "\"not_larger\"> (x, , , s) }",
             "%0 = embedding {0 0 1}[3] x\n"
             "%1 = gather %0 {0 0 1 2 2 3}[6] [1]\n"
             "return %1:float[3, 6]"},
        Form{"ResizeWeightsScales", 19,
             "g (float[1,2] x) => (float[1,4] y) <float[2] s = {1.0, 2.0}> { "
             "y = Resize (x, , s) }",
             "%0 = reshape x\n"
             "%1 = broadcast %0\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 4]"},
        Form{"ResizeUnknownScales", 19,
             "g (float[2] x, float[1] s) => (float[n] y) { y = Resize (x, , "
             "s) }",
             "2106"},
        Form{"ResizeIntegersLinearly", 19,
             "g (int32[2] x) => (int32[3] y) { s = Constant <value_ints = "
             "[3]> () y = Resize <mode = \"linear\"> (x, , , s) }",
             "2102"},
        Form{"UpsampleAttribute", 7,
             "g (float[1,2] x) => (float[1,6] y) { y = Upsample <scales = "
             "[1.0,3.0]> (x) }",
             "%0 = reshape x\n"
             "%1 = broadcast %0\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 6]"},
        Form{"ResizeDownInVersionTen", 10,
             "g (float[4] x) => (float[2] y) { s = Constant <value_floats = "
             "[0.5]> () y = Resize (x, s) }",
             "2102"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Sampling, OperatorForms,
    testing::Values(
        Form{"GridSampleNearest", 20,
             "g (float[1,2,4] x, float[1,3,1] r) => (float[1,2,3] y) { y = "
             "GridSample <mode = \"nearest\", padding_mode = \"border\"> (x, "
             "r) }",
             "%0 = reshape r\n"
             "%1 = mul %0 2\n"
             "%2 = add %1 1.5\n"
             "%3 = round %2\n"
             "%4 = max %3 0\n"
             "%5 = min %4 3\n"
             "%6 = reshape %5\n"
             "%7 = max %6 0\n"
             "%8 = min %7 3\n"
             "%9 = cast %8\n"
             "%10 = transpose x [0, 2, 1]\n"
             "%11 = reshape %9\n"
             "%12 = gather_nd %10 %11 [1]\n"
             "%13 = reshape %12\n"
             "%14 = transpose %13 [0, 2, 1]\n"
             "return %14:float[1, 2, 3]"},
        Form{"GridSampleReflects", 20,
             "g (float[1,2,4] x, float[1,3,1] r) => (float[1,2,3] y) { y = "
             "GridSample <mode = \"linear\", padding_mode = \"reflection\", "
             "align_corners = 1> (x, r) }",
             "%0 = reshape r\n"
             "%1 = mul %0 1.5\n"
             "%2 = add %1 1.5\n"
             "%3 = abs %2\n"
             "%4 = mod %3 6\n"
             "%5 = add %4 -3\n"
             "%6 = abs %5\n"
             "%7 = neg %6\n"
             "%8 = add %7 3\n"
             "%9 = reshape %8\n"
             "%10 = floor %9\n"
             "%11 = add %10 {0 1}[2]\n"
             "%12 = sub %9 %11\n"
             "%13 = abs %12\n"
             "%14 = neg %13\n"
             "%15 = add %14 1\n"
             "%16 = max %15 0\n"
             "%17 = abs %11\n"
             "%18 = mod %17 6\n"
             "%19 = add %18 -3\n"
             "%20 = abs %19\n"
             "%21 = neg %20\n"
             "%22 = add %21 3\n"
             "%23 = max %22 0\n"
             "%24 = min %23 3\n"
             "%25 = cast %24\n"
             "%26 = transpose x [0, 2, 1]\n"
             "%27 = reshape %25\n"
             "%28 = gather_nd %26 %27 [1]\n"
             "%29 = reshape %16\n"
             "%30 = mul %28 %29\n"
             "%31 = reduce %30 [0, 0, 2]\n"
             "%32 = transpose %31 [0, 2, 1]\n"
             "return %32:float[1, 2, 3]"},
        Form{"GridDoesNotFit", 20,
             "g (float[1,2,4,4] x, float[1,3,1] r) => (float[1,2,3] y) { y = "
             "GridSample (x, r) }",
             "2103"},
        Form{"AffineGrid", 20,
             "g (float[1,2,3] t) => (float[1,2,2,2] y) { s = Constant "
             "<value_ints = [1,1,2,2]> () y = AffineGrid (t, s) }",
             "%0 = slice t [2, 2, 3, 1]\n"
             "%1 = reshape %0\n"
             "%2 = slice t [2, 1, 2, 1]\n"
             "%3 = reshape %2\n"
             "%4 = mul %3 {-0.5 0.5}[2, 1, 1]\n"
             "%5 = add %1 %4\n"
             "%6 = slice t [2, 0, 1, 1]\n"
             "%7 = reshape %6\n"
             "%8 = mul %7 {-0.5 0.5}[2, 1]\n"
             "%9 = add %5 %8\n"
             "return %9:float[1, 2, 2, 2]"},
        Form{"RoiAlignAdaptive", 22,
             "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => "
             "(float[1,1,1,1] y) { y = RoiAlign (x, r, b) }",
             "2102"},
        Form{"DeformConvOfVolumes", 22,
             "g (float[1,1,3,3,3] x, float[1,1,2,2,2] w, float[1,24,2,2,2] o) "
             "=> (float[1,1,2,2,2] y) { y = DeformConv (x, w, o) }",
             "2102"}),
    printName);

} // namespace parplan::test
