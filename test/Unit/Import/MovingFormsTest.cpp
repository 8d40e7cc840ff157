//===- MovingFormsTest.cpp - Operators that move elements -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Shapes, OperatorForms,
    testing::Values(
        Form{"ReshapeCopiesZero", 13,
             "g (float[2,3,4] x) => (float[2,12] y) "
             "{ s = Constant <value_ints = [0,-1]> () y = Reshape(x, s) }",
             "%0 = reshape x\nreturn %0:float[2, 12]"},
        Form{"ReshapeAllowZero", 14,
             "g (float[2,3] x) => (float[0,3] y) { s = Constant <value_ints = "
             "[0,3]> () y = Reshape <allowzero = 1> (x, s) }",
             "2103"},
        Form{"ReshapeTwoUnknown", 14,
             "g (float[2,3] x) => (float[2,3] y) { s = Constant <value_ints = "
             "[-1,-1]> () y = Reshape(x, s) }",
             "2103"},
        Form{"SqueezeAttribute", 11,
             "g (float[1,3,1] x) => (float[1,3] y) "
             "{ y = Squeeze <axes = [-1]> (x) }",
             "%0 = reshape x\nreturn %0:float[1, 3]"},
        Form{"SqueezeAll", 13,
             "g (float[1,3,1] x) => (float[3] y) { y = Squeeze(x) }",
             "%0 = reshape x\nreturn %0:float[3]"},
        Form{"SqueezeOfTwo", 13,
             "g (float[2,3] x) => (float[3] y) "
             "{ a = Constant <value_ints = [0]> () y = Squeeze(x, a) }",
             "2103"},
        Form{"UnsqueezeAttribute", 11,
             "g (float[3] x) => (float[1,3,1] y) "
             "{ y = Unsqueeze <axes = [0,2]> (x) }",
             "%0 = reshape x\nreturn %0:float[1, 3, 1]"},
        Form{"FlattenNegative", 11,
             "g (float[2,3,4] x) => (float[6,4] y) "
             "{ y = Flatten <axis = -1> (x) }",
             "%0 = reshape x\nreturn %0:float[6, 4]"},
        Form{"TransposeDefault", 13,
             "g (float[2,3,4] x) => (float[4,3,2] y) { y = Transpose(x) }",
             "%0 = transpose x [2, 1, 0]\nreturn %0:float[4, 3, 2]"},
        Form{"TransposeOfUnitDims", 13,
             "g (float[2,1,3] x) => (float[1,2,3] y) "
             "{ y = Transpose <perm = [1,0,2]> (x) }",
             "%0 = reshape x\nreturn %0:float[1, 2, 3]"},
        Form{"TransposeWrong", 13,
             "g (float[2,3] x) => (float[2,3] y) "
             "{ y = Transpose <perm = [0,0]> (x) }",
             "2103"},
        Form{"TileIsBroadcast", 13,
             "g (float[2,3] x) => (float[2,6] y) "
             "{ r = Constant <value_ints = [1,2]> () y = Tile(x, r) }",
             "%0 = reshape x\n%1 = broadcast %0\n%2 = reshape %1\n"
             "return %2:float[2, 6]"},
        Form{"SliceAttributes", 9,
             "g (float[4,6] x) => (float[2,5] y) "
             "{ y = Slice <starts=[1,-6], ends=[3,-1]> (x) }",
             "%0 = slice x [0, 1, 3, 1, 1, 0, 5, 1]\nreturn %0:float[2, 5]"},
        Form{"SplitAttribute", 11,
             "g (float[6] x) => (float[2] y, float[4] z) "
             "{ y, z = Split <split = [2,4]> (x) }",
             "%0 = slice x [0, 0, 2, 1]\n%1 = slice x [0, 2, 6, 1]\n"
             "return %0:float[2] %1:float[4]"},
        Form{"SplitUneven", 18,
             "g (float[5] x) => (float[3] y, float[2] z) "
             "{ y, z = Split <num_outputs = 2> (x) }",
             "%0 = slice x [0, 0, 3, 1]\n%1 = slice x [0, 3, 5, 1]\n"
             "return %0:float[3] %1:float[2]"},
        Form{"SplitThenConcat", 18,
             "g (float[4] x) => (float[4] y) "
             "{ a, b = Split <num_outputs = 2> (x) y = Concat <axis = 0> (b, "
             "a) }",
             "%0 = slice x [0, 0, 2, 1]\n%1 = slice x [0, 2, 4, 1]\n"
             "%2 = concat %1 %0 [0]\nreturn %2:float[4]"},
        Form{"PadAttribute", 9,
             "g (float[2,3] x) => (float[2,6] y) "
             "{ y = Pad <pads=[0,1,0,2], value=1.5> (x) }",
             "%0 = pad x\nreturn %0:float[2, 6]"},
        Form{"PadAxesAndCut", 18,
             "g (float[2,3] x) => (float[2,2] y) { p = Constant <value_ints = "
             "[-1,0]> () a = Constant <value_ints = [1]> () "
             "y = Pad(x, p, , a) }",
             "%0 = slice x [1, 1, 3, 1]\nreturn %0:float[2, 2]"},
        Form{"PadReflect", 18,
             "g (float[3] x) => (float[5] y) { p = Constant <value_ints = "
             "[1,1]> () y = Pad <mode = \"reflect\"> (x, p) }",
             "%0 = gather x {1 0 1 2 1}[5] [0]\nreturn %0:float[5]"},
        Form{"DropoutInInference", 13,
             "g (float[3] x) => (float[3] y, bool[3] m) { y, m = Dropout(x) }",
             "return x:float[3] 1[3]:bool[3]"},
        Form{"DropoutInTraining", 13,
             "g (float[3] x) => (float[3] y) { r = Constant <value_float = "
             "0.5> () t = Constant <value = bool {1}> () "
             "y = Dropout(x, r, t) }",
             "2102"},
        Form{"DropoutOfNothing", 13,
             "g (float[3] x) => (float[3] y) { r = Constant <value_float = "
             "0.0> () t = Constant <value = bool {1}> () "
             "y = Dropout(x, r, t) }",
             "return x:float[3]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Indexing, OperatorForms,
    testing::Values(
        Form{"EmbeddingNormalisesIds", 13,
             "g (int64[2] i, float[5,3] t) => (float[2,3] y) "
             "{ y = Gather(t, i) }",
             "%0 = add i 5\n%1 = compare i 0 [2]\n%2 = select %1 %0 i\n"
             "%3 = embedding %2 t\nreturn %3:float[2, 3]"},
        Form{"GatherOtherAxis", 13,
             "g (int64[2] i, float[5,3] t) => (float[5,2] y) "
             "{ y = Gather <axis = 1> (t, i) }",
             "%0 = gather t i [1]\nreturn %0:float[5, 2]"},
        Form{"GatherOutside", 13,
             "g (float[5,3] t) => (float[3] y) "
             "{ i = Constant <value_int = 5> () y = Gather(t, i) }",
             "2103"},
        Form{"GatherNDOfOne", 13,
             "g (int64[2,1] i, float[5,3,4] t) => (float[2,3,4] y) "
             "{ y = GatherND(t, i) }",
             "%0 = reshape i\n%1 = gather t %0 [0]\n"
             "return %1:float[2, 3, 4]"},
        Form{"GatherNDBatched", 13,
             "g (int64[2,1] i, float[2,3,4] t) => (float[2,4] y) "
             "{ y = GatherND <batch_dims = 1> (t, i) }",
             "%0 = gather_nd t i [1]\nreturn %0:float[2, 4]"},
        Form{"GatherElements", 13,
             "g (int64[2,1] i, float[2,3] t) => (float[2,1] y) "
             "{ y = GatherElements <axis = 1> (t, i) }",
             "%0 = gather_elements t i [1]\nreturn %0:float[2, 1]"},
        Form{"TopKAttribute", 9,
             "g (float[2,5] x) => (float[2,3] y, int64[2,3] i) "
             "{ y, i = TopK <k = 3> (x) }",
             "%0 = topk x [3, 1, 1]\nreturn %0:float[2, 3] %1:int64[2, 3]"},
        Form{"TopKSmallest", 11,
             "g (float[2,5] x) => (float[1,5] y, int64[1,5] i) { k = Constant "
             "<value = int64[1] {1}> () y, i = TopK <axis=0, largest=0> (x, k) "
             "}",
             "%0 = topk x [1, 0, 0]\nreturn %0:float[1, 5] %1:int64[1, 5]"},
        Form{"OneHot", 13,
             "g (int64[2,3] i) => (float[2,3,4] y) { d = Constant <value_int = "
             "4> () v = Constant <value_floats = [0.0, 1.0]> () y = OneHot (i, "
             "d, v) }",
             "%0 = add i 4\n%1 = compare i 0 [2]\n%2 = select %1 %0 i\n%3 = "
             "reshape %2\n%4 = compare %3 {0 1 2 3}[4] [0]\n%5 = select %4 1 "
             "0\nreturn %5:float[2, 3, 4]"},
        Form{"OneHotOfChoices", 13,
             "g (float[2,5] x) => (float[2,5,3] y) { k = Constant <value_ints "
             "= [3]> () t, i = TopK (x, k) d = Constant <value_int = 5> () v = "
             "Constant <value_floats = [0.0, 1.0]> () y = OneHot <axis = 1> "
             "(i, d, v) }",
             "%0 = topk x [3, 1, 1]\n%2 = reshape %1\n%3 = compare %2 {0 1 2 3 "
             "4}[5, 1] [0]\n%4 = select %3 1 0\nreturn %4:float[2, 5, 3]"},
        Form{"ScatterElementsOfZeros", 18,
             "g (float[2,5] x, float[2,3] u) => (float[2,5] y) { k = Constant "
             "<value_ints = [3]> () t, i = TopK (x, k) s = Constant "
             "<value_ints = [2,5]> () z = ConstantOfShape (s) y = "
             "ScatterElements <axis = 1> (z, i, u) }",
             "%0 = topk x [3, 1, 1]\n%2 = reshape %1\n%3 = compare %2 {0 1 2 3 "
             "4}[5] [0]\n%4 = reshape u\n%5 = select %3 %4 0\n%6 = reduce %5 "
             "[0, 0, 1]\nreturn %6:float[2, 5]"},
        Form{"ScatterElementsOfData", 18,
             "g (float[2,5] x, float[2,3] u) => (float[2,5] y) { k = Constant "
             "<value_ints = [3]> () t, i = TopK (x, k) y = ScatterElements "
             "<axis = 1> (x, i, u) }",
             "%0 = topk x [3, 1, 1]\n%2 = reshape %1\n%3 = compare %2 {0 1 2 3 "
             "4}[5] [0]\n%4 = reshape u\n%5 = select %3 %4 0\n%6 = reduce %5 "
             "[0, 0, 1]\n%7 = cast %3\n%8 = reduce %7 [0, 0, 1]\n%9 = compare "
             "%8 0 [4]\n%10 = select %9 %6 x\nreturn %10:float[2, 5]"},
        Form{"ScatterElementsMaximum", 18,
             "g (float[2,5] x, int64[2,3] i, float[2,3] u) => (float[2,5] y) "
             "{ y = ScatterElements <axis = 1, reduction = \"max\"> (x, i, u) "
             "}",
             "%0 = add i 5\n%1 = compare i 0 [2]\n%2 = select %1 %0 i\n"
             "%3 = reshape %2\n%4 = compare %3 {0 1 2 3 4}[5] [0]\n"
             "%5 = reshape u\n%6 = select %4 %5 -inf\n"
             "%7 = reduce %6 [1, 0, 1]\n%8 = max x %7\n"
             "return %8:float[2, 5]"},
        Form{"ListedRows", 18,
             "g (bool[2,3] m, float[3,4] x, float[3,4] o) => (float[3,4] y) { "
             "n = NonZero (m) one = Constant <value_ints = [1]> () c = Gather "
             "<axis = 0> (n, one) t = Transpose <perm = [1, 0]> (c) r = "
             "GatherND (x, t) q = Relu (r) y = ScatterND <reduction = "
             "\"add\"> (o, t, q) }",
             "%0 = reshape x\n%1 = broadcast %0\n%2 = reshape %1\n%3 = relu "
             "%2\n%4 = reshape m\n%5 = select %4 %3 0\n%6 = reshape %5\n%7 = "
             "reduce %6 [0, 0, 0]\n%8 = add o %7\nreturn %8:float[3, 4]"},
        Form{"ListedRowsWithTuples", 18,
             "g (bool[2,3] m, float[3,2] v, float[3] o) => (float[3] y) { n = "
             "NonZero (m) t = Transpose (n) a = Constant <value_ints = [0]> () "
             "b = Constant <value_ints = [1]> () e = Constant <value_ints = "
             "[2]> () j = Slice (t, a, b, b) i = Slice (t, b, e, b) p = Concat "
             "<axis = 1> (i, j) w = GatherND (v, p) y = ScatterND <reduction = "
             "\"add\"> (o, i, w) }",
             "%0 = reshape m\n%1 = transpose v [1, 0]\n%2 = reshape %1\n%3 = "
             "select %0 %2 0\n%4 = reshape %3\n%5 = reduce %4 [0, 0, 0]\n%6 = "
             "add o %5\nreturn %6:float[3]"},
        Form{"ListedRowsSummed", 18,
             "g (bool[3] m, float[3,4] x) => (float[4] y) { n = NonZero (m) t "
             "= Transpose (n) r = GatherND (x, t) a = Constant <value_ints = "
             "[0]> () y = ReduceSum <keepdims = 0> (r, a) }",
             "2106"},
        Form{"ListedRowsCounted", 18,
             "g (bool[3] m, float[4] x) => (float[4] y) { n = NonZero (m) s = "
             "Shape (n) one = Constant <value_ints = [1]> () c = Gather (s, "
             "one) f = Cast <to = 1> (c) y = Mul (x, f) }",
             "2106"},
        Form{"ListedRowsReturned", 18,
             "g (bool[3] m, float[3,4] x) => (float[N,4] y) { n = NonZero (m) "
             "t = Transpose (n) y = GatherND (x, t) }",
             "2106"},
        Form{
            "ListedRowsOfTwoMasks", 18,
            "g (bool[3] m, bool[3] l, float[3] x) => (float[3] y) { n = "
            "NonZero (m) k = NonZero (l) t = Transpose (n) u = Transpose (k) r "
            "= GatherND (x, t) q = GatherND (x, u) p = Add (r, q) y = "
            "ScatterND <reduction = \"add\"> (x, t, p) }",
            "2106"},
        Form{"ListedRowsOverwrite", 18,
             "g (bool[3] m, float[3] x) => (float[3] y) { n = NonZero (m) t = "
             "Transpose (n) r = GatherND (x, t) y = ScatterND (x, t, r) }",
             "2106"},
        Form{"TopKTooMany", 11,
             "g (float[2,5] x) => (float[2,6] y, int64[2,6] i) { k = Constant "
             "<value_ints = [6]> () y, i = TopK(x, k) }",
             "2103"},
        Form{"CumSum", 14,
             "g (float[2,5] x) => (float[2,5] y) { a = Constant <value_int = "
             "-1> () y = CumSum <exclusive = 1> (x, a) }",
             "%0 = cumsum x [1, 1, 0]\nreturn %0:float[2, 5]"},
        Form{"CumSumOfConstants", 14,
             "g (float[3] x) => (float[3] y) { o = Constant <value_ints = "
             "[1,2,3]> () a = Constant <value_int = 0> () c = CumSum <reverse "
             "= 1> (o, a) f = Cast <to = 1> (c) y = Mul(x, f) }",
             "%0 = mul x {6 5 3}[3]\nreturn %0:float[3]"}),
    printName);

} // namespace parplan::test
