//===- ScatterFormsTest.cpp - Blocks, crops, scatters --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Rearrangements, OperatorForms,
    testing::Values(
        Form{"DepthToSpace", 13,
             "g (float[1,8,2,3] x) => (float[1,2,4,6] y) { y = DepthToSpace "
             "<blocksize = 2> (x) }",
             "%0 = reshape x\n"
             "%1 = transpose %0 [0, 3, 4, 1, 5, 2]\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 2, 4, 6]"},
        Form{"DepthToSpaceColumns", 13,
             "g (float[1,8,2,3] x) => (float[1,2,4,6] y) { y = DepthToSpace "
             "<blocksize = 2, mode = \"CRD\"> (x) }",
             "%0 = reshape x\n"
             "%1 = transpose %0 [0, 1, 4, 2, 5, 3]\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 2, 4, 6]"},
        Form{"SpaceToDepth", 13,
             "g (float[1,2,4,6] x) => (float[1,8,2,3] y) { y = SpaceToDepth "
             "<blocksize = 2> (x) }",
             "%0 = reshape x\n"
             "%1 = transpose %0 [0, 3, 5, 1, 2, 4]\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 8, 2, 3]"},
        Form{"BlocksDoNotDivide", 13,
             "g (float[1,2,4,5] x) => (float[1,8,2,2] y) { y = SpaceToDepth "
             "<blocksize = 2> (x) }",
             "2103"},
        Form{"CenterCropAndPad", 18,
             "g (float[6,2] x) => (float[3,5] y) { s = Constant <value_ints = "
             "[3,5]> () y = CenterCropPad (x, s) }",
             "%0 = slice x [0, 1, 4, 1]\n"
             "%1 = pad %0\n"
             "return %1:float[3, 5]"},
        Form{"ReverseSequence", 10,
             "g (float[4,2] x, int64[2] n) => (float[4,2] y) { y = "
             "ReverseSequence (x, n) }",
             "%0 = reshape n\n"
             "%1 = sub %0 1\n"
             "%2 = sub %1 {0 1 2 3}[4, 1]\n"
             "%3 = compare {0 1 2 3}[4, 1] %0 [2]\n"
             "%4 = select %3 %2 {0 1 2 3}[4, 1]\n"
             "%5 = gather_elements x %4 [0]\n"
             "return %5:float[4, 2]"},
        Form{"EyeLike", 22,
             "g (float[2,3] x) => (float[2,3] y) { e = EyeLike <k = 1> (x) y "
             "= Mul(x, e) }",
             "%0 = mul x {0 1 0 0 0 1}[2, 3]\n"
             "return %0:float[2, 3]"},
        Form{"EyeLikeOfStrings", 22,
             "g (float[2,3] x) => (string[2,3] y) { y = EyeLike <dtype = 8> "
             "(x) }",
             "2011"},
        Form{"Compress", 13,
             "g (float[3,2] x) => (float[2,2] y) { c = Constant <value_ints = "
             "[1, 0, 1]> () b = Cast <to = 9> (c) y = Compress <axis = 0> (x, "
             "b) }",
             "%0 = slice x [0, 0, 3, 2]\n"
             "return %0:float[2, 2]"},
        Form{"CompressUnknown", 11,
             "g (float[3] x, bool[3] c) => (float[2] y) { y = Compress (x, c) "
             "}",
             "2106"},
        Form{"PadEdge", 18,
             "g (float[3,2] x) => (float[5,2] y) { p = Constant <value_ints = "
             "[2,0,0,0]> () y = Pad <mode = \"edge\"> (x, p) }",
             "%0 = embedding {0 0 0 1 2}[5] x\n"
             "return %0:float[5, 2]"},
        Form{"PadWrapAndCut", 19,
             "g (float[4] x) => (float[5] y) { p = Constant <value_ints = "
             "[-1,2]> () y = Pad <mode = \"wrap\"> (x, p) }",
             "%0 = gather x {1 2 3 1 2}[5] [0]\n"
             "return %0:float[5]"},
        Form{"PadUnknownMode", 19,
             "g (float[4] x) => (float[5] y) { p = Constant <value_ints = "
             "[0,1]> () y = Pad <mode = \"mirror\"> (x, p) }",
             "2103"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Scatters, OperatorForms,
    testing::Values(
        Form{"ScatterLargeRows", 18,
             "g (float[2,5000] x, int64[2,3] i, float[2,3] u) => "
             "(float[2,5000] y) { y = ScatterElements <axis = 1> (x, i, u) }",
             "%0 = scatter_elements u i [1]\n"
             "%1 = scatter_elements 1[2, 3] i [1]\n"
             "%2 = compare %1 0 [4]\n"
             "%3 = select %2 %0 x\n"
             "return %3:float[2, 5000]"},
        Form{"ScatterPartOfRows", 18,
             "g (float[4,5] x, int64[2,3] i, float[2,3] u) => (float[4,5] y) "
             "{ y = ScatterElements <axis = 1, reduction = \"add\"> (x, i, u) "
             "}",
             "%0 = scatter_elements u i [1]\n"
             "%1 = add x %0\n"
             "return %1:float[4, 5]"},
        Form{"ScatterTuples", 18,
             "g (float[4,5] x, int64[3,2] i, float[3] u) => (float[4,5] y) { "
             "y = ScatterND (x, i, u) }",
             "%0 = scatter_nd u i [0]\n"
             "%1 = scatter_nd 1[3] i [0]\n"
             "%2 = compare %1 0 [4]\n"
             "%3 = select %2 %0 x\n"
             "return %3:float[4, 5]"},
        Form{"ScatterTuplesOfIntegers", 18,
             "g (int32[4,5] x, int64[3,2] i, int32[3] u) => (int32[4,5] y) { "
             "y = ScatterND <reduction = \"add\"> (x, i, u) }",
             "%0 = cast u\n"
             "%1 = scatter_nd %0 i [0]\n"
             "%2 = cast %1\n"
             "%3 = cast %2\n"
             "%4 = add x %3\n"
             "return %4:int32[4, 5]"},
        Form{"ScatterLongIntegers", 18,
             "g (int64[4] x, int64[3,1] i, int64[3] u) => (int64[4] y) { y = "
             "ScatterND <reduction = \"add\"> (x, i, u) }",
             "%0 = mod u 4294967296\n"
             "%1 = sub u %0\n"
             "%2 = div %1 4294967296\n"
             "%3 = cast %2\n"
             "%4 = scatter_nd %3 i [0]\n"
             "%5 = cast %4\n"
             "%6 = mul %5 4294967296\n"
             "%7 = cast %0\n"
             "%8 = scatter_nd %7 i [0]\n"
             "%9 = cast %8\n"
             "%10 = add %9 %6\n"
             "%11 = add x %10\n"
             "return %11:int64[4]"},
        Form{"ScatterTuplesMinimum", 18,
             "g (float[4,2] x, int64[3,1] i, float[3,2] u) => (float[4,2] y) "
             "{ y = ScatterND <reduction = \"min\"> (x, i, u) }",
             "%0 = reshape i\n"
             "%1 = add %0 4\n"
             "%2 = compare %0 0 [2]\n"
             "%3 = select %2 %1 %0\n"
             "%4 = reshape %3\n"
             "%5 = compare %4 {0 1 2 3}[4] [0]\n"
             "%6 = reshape %5\n"
             "%7 = reshape u\n"
             "%8 = neg %7\n"
             "%9 = neg x\n"
             "%10 = select %6 %8 -inf\n"
             "%11 = reduce %10 [1, 0, 0]\n"
             "%12 = max %9 %11\n"
             "%13 = neg %12\n"
             "return %13:float[4, 2]"},
        Form{"ScatterManyProducts", 18,
             "g (float[5000] x, int64[3,1] i, float[3] u) => (float[5000] y) "
             "{ y = ScatterND <reduction = \"mul\"> (x, i, u) }",
             "2102"},
        Form{"ScatterUpdatesDoNotFit", 18,
             "g (float[4,2] x, int64[3,1] i, float[3] u) => (float[4,2] y) { "
             "y = ScatterND (x, i, u) }",
             "2103"},
        Form{"CacheUpdate", 24,
             "g (float[2,3,8,4] x, float[2,3,2,4] u, int64[2] w) => "
             "(float[2,3,8,4] y) { y = TensorScatter (x, u, w) }",
             "%0 = reshape w\n"
             "%1 = sub {0 1 2 3 4 5 6 7}[8] %0\n"
             "%2 = compare %1 2 [2]\n"
             "%3 = compare %1 0 [5]\n"
             "%4 = and %3 %2\n"
             "%5 = select %4 %1 0\n"
             "%6 = reshape %5\n"
             "%7 = transpose u [0, 2, 1, 3]\n"
             "%8 = gather_nd %7 %6 [1]\n"
             "%9 = transpose %8 [0, 2, 1, 3]\n"
             "%10 = reshape %4\n"
             "%11 = select %10 %9 x\n"
             "return %11:float[2, 3, 8, 4]"},
        Form{"CacheFromTheStart", 24,
             "g (float[2,8,4] x, float[2,2,4] u) => (float[2,8,4] y) { y = "
             "TensorScatter (x, u) }",
             "%0 = slice x [1, 2, 8, 1]\n"
             "%1 = concat u %0 [1]\n"
             "return %1:float[2, 8, 4]"}),
    printName);

} // namespace parplan::test
