//===- OperatorFormsTest.cpp - Operators that compute ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"
#include "TestModels.h"

namespace parplan::test {

TEST_P(OperatorForms, BecomeOpsOfTheDialect) {
  const Form &form = GetParam();
  Outcome outcome = importText(form.graph, form.opset);
  EXPECT_EQ(outcome.succeeded ? outcome.graph : std::to_string(outcome.code),
            form.expected)
      << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(
    Products, OperatorForms,
    testing::Values(
        Form{"MatMulBatched", 13,
             "g (float[2,1,3,4] x, float[5,4,6] w) => (float[2,5,3,6] y) "
             "{ y = MatMul(x, w) }",
             "%0 = reshape x\n%1 = matmul ace,bed->abcd %0 w\n"
             "return %1:float[2, 5, 3, 6]"},
        Form{"MatMulVectors", 13,
             "g (float[4] x, float[4] w) => (float y) { y = MatMul(x, w) }",
             "%0 = matmul c,c-> x w\nreturn %0:float[]"},
        Form{"MatMulRowByMatrix", 13,
             "g (float[4] x, float[2,4,3] w) => (float[2,3] y) "
             "{ y = MatMul(x, w) }",
             "%0 = matmul d,adc->ac x w\nreturn %0:float[2, 3]"},
        Form{"MatMulRepeatedOperand", 13,
             "g (float[2,3,4] x, float[1,4,5] w) => (float[2,3,5] y) "
             "{ s = Constant <value_ints = [2,4,5]> () e = Expand(w, s) "
             "y = MatMul(x, e) }",
             "%0 = reshape w\n%1 = matmul abd,dc->abc x %0\n"
             "return %1:float[2, 3, 5]"},
        Form{"MatMulMismatch", 13,
             "g (float[2,3] x, float[4,5] w) => (float[2,5] y) "
             "{ y = MatMul(x, w) }",
             "2103"},
        Form{"GemmPlain", 13,
             "g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) "
             "{ y = Gemm(x, w, b) }",
             "%0 = matmul mk,kn->mn x w\n%1 = add %0 b\nreturn %1:float[2, 4]"},
        Form{"GemmScaledTransposed", 13,
             "g (float[3,2] x, float[4,3] w, float[1] b) => (float[2,4] y) "
             "{ y = Gemm <alpha=0.5, beta=2.0, transA=1, transB=1> (x, w, b) }",
             "%0 = matmul km,nk->mn x w\n%1 = mul %0 0.5\n%2 = mul b 2\n"
             "%3 = add %1 %2\nreturn %3:float[2, 4]"},
        Form{"GemmBetaZero", 11,
             "g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) "
             "{ y = Gemm <beta=0.0> (x, w, b) }",
             "%0 = matmul mk,kn->mn x w\nreturn %0:float[2, 4]"},
        Form{"EinsumOfTwo", 12,
             "g (float[2,3,4] x, float[2,5,4] w) => (float[2,3,5] y) "
             "{ y = Einsum <equation = \"bij, bkj -> bik\"> (x, w) }",
             "%0 = matmul abc,adc->abd x w\nreturn %0:float[2, 3, 5]"},
        Form{"EinsumOfOne", 12,
             "g (float[2,3] x) => (float[3,2] y) "
             "{ y = Einsum <equation = \"ij->ji\"> (x) }",
             "%0 = transpose x [1, 0]\nreturn %0:float[3, 2]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Reductions, OperatorForms,
    testing::Values(
        Form{"MeanAttribute", 13,
             "g (float[2,4] x) => (float[2,1] y) "
             "{ y = ReduceMean <axes = [-1]> (x) }",
             "%0 = reduce x [0, 1, 1]\n%1 = mul %0 0.25\n"
             "return %1:float[2, 1]"},
        Form{"MeanOperand", 18,
             "g (float[2,4] x) => (float[2] y) { a = Constant <value_ints = "
             "[1]> () y = ReduceMean <keepdims = 0> (x, a) }",
             "%0 = reduce x [0, 0, 1]\n%1 = mul %0 0.25\nreturn %1:float[2]"},
        Form{"SumOfAll", 13,
             "g (float[2,4] x) => (float y) "
             "{ y = ReduceSum <keepdims = 0> (x) }",
             "%0 = reduce x [0, 0, 0, 1]\nreturn %0:float[]"},
        Form{"SumOfNothing", 13,
             "g (float[2,4] x) => (float[2,4] y) "
             "{ y = ReduceSum <noop_with_empty_axes = 1> (x) }",
             "return x:float[2, 4]"},
        Form{"MinIsNegatedMax", 18,
             "g (float[2,4] x) => (float[2,1] y) { a = Constant <value_ints = "
             "[1]> () y = ReduceMin(x, a) }",
             "%0 = neg x\n%1 = reduce %0 [1, 1, 1]\n%2 = neg %1\n"
             "return %2:float[2, 1]"},
        Form{"MaxOfBool", 20,
             "g (bool[2,4] x) => (bool[2,1] y) { a = Constant <value_ints = "
             "[1]> () y = ReduceMax(x, a) }",
             "%0 = cast x\n%1 = reduce %0 [1, 1, 1]\n%2 = cast %1\n"
             "return %2:bool[2, 1]"},
        Form{"AxisTwice", 18,
             "g (float[2,4] x) => (float[2,1] y) { a = Constant <value_ints = "
             "[1,-1]> () y = ReduceMax(x, a) }",
             "2103"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Windows, OperatorForms,
    testing::Values(
        Form{"ConvPads", 11,
             "g (float[1,2,5,5] x, float[4,1,3,3] w, float[4] b) => "
             "(float[1,4,3,3] y) { y = Conv <group=2, strides=[2,2], "
             "pads=[1,1,1,1]> (x, w, b) }",
             "%0 = conv x w b [2, 2, 2, 1, 1, 1, 1, 1, 1]\n"
             "return %0:float[1, 4, 3, 3]"},
        Form{"ConvSameUpper", 11,
             "g (float[1,1,6] x, float[1,1,4] w) => (float[1,1,3] y) "
             "{ y = Conv <auto_pad=\"SAME_UPPER\", strides=[2]> (x, w) }",
             "%0 = conv x w [1, 2, 1, 1, 1]\nreturn %0:float[1, 1, 3]"},
        Form{"ConvSameLowerOdd", 11,
             "g (float[1,1,5] x, float[1,1,4] w) => (float[1,1,5] y) "
             "{ y = Conv <auto_pad=\"SAME_LOWER\"> (x, w) }",
             "%0 = conv x w [1, 1, 2, 1, 1]\nreturn %0:float[1, 1, 5]"},
        Form{"ConvRankMismatch", 11,
             "g (float[1,1,5] x, float[1,1,3,3] w) => (float[1,1,5] y) "
             "{ y = Conv(x, w) }",
             "2103"},
        Form{"ConvWindowTooLarge", 11,
             "g (float[1,1,2] x, float[1,1,3] w) => (float[1,1,1] y) "
             "{ y = Conv(x, w) }",
             "2103"},
        Form{"MaxPoolCeil", 12,
             "g (float[1,1,6] x) => (float[1,1,3] y) { y = MaxPool "
             "<kernel_shape=[3], strides=[2], ceil_mode=1> (x) }",
             "%0 = max_pool x [0, 3, 2, 0, 1, 1]\nreturn %0:float[1, 1, 3]"},
        Form{"MaxPoolCeilPastTheEnd", 12,
             "g (float[1,1,4] x) => (float[1,1,2] y) { y = MaxPool "
             "<kernel_shape=[1], strides=[3], ceil_mode=1> (x) }",
             "%0 = max_pool x [0, 1, 3, 0, 0, 1]\nreturn %0:float[1, 1, 2]"},
        Form{"AveragePool", 19,
             "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool "
             "<kernel_shape=[2], pads=[1,1], count_include_pad=1> (x) }",
             "%0 = average_pool x [1, 2, 1, 1, 1, 1]\n"
             "return %0:float[1, 1, 5]"},
        Form{"GlobalAveragePool", 20,
             "g (float[2,3,4,4] x) => (float[2,3,1,1] y) "
             "{ y = GlobalAveragePool(x) }",
             "%0 = reduce x [0, 1, 2, 3]\n%1 = mul %0 0.0625\n"
             "return %1:float[2, 3, 1, 1]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Norms, OperatorForms,
    testing::Values(
        Form{"SoftmaxOfOneDimension", 11,
             "g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }",
             "%0 = softmax x [1]\nreturn %0:float[2, 3]"},
        Form{"SoftmaxOfSeveralDimensions", 11,
             "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }",
             "%0 = reshape x\n%1 = softmax %0 [1]\n%2 = reshape %1\n"
             "return %2:float[2, 3, 4]"},
        Form{"SoftmaxLast", 13,
             "g (float[2,3,4] x) => (float[2,3,4] y) "
             "{ y = Softmax <axis = 1> (x) }",
             "%0 = softmax x [1]\nreturn %0:float[2, 3, 4]"},
        Form{"LayerNormWithoutBias", 17,
             "g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) "
             "{ y = LayerNormalization <axis = 1> (x, s) }",
             "%0 = layer_norm x s\nreturn %0:float[2, 3, 4]"},
        Form{"RMSNormBroadcastScale", 23,
             "g (float[2,4] x, float[1] s) => (float[2,4] y) "
             "{ y = RMSNormalization(x, s) }",
             "%0 = broadcast s\n%1 = rms_norm x %0\nreturn %1:float[2, 4]"},
        Form{"BatchNorm", 15,
             "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] "
             "v) => (float[2,3,4] y) { y = BatchNormalization(x, s, b, m, v) }",
             "%0 = batch_norm x s b m v\nreturn %0:float[2, 3, 4]"},
        Form{"BatchNormInTraining", 15,
             "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] "
             "v) => (float[2,3,4] y, float[3] n, float[3] w) { y, n, w = "
             "BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
             "2102"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Attention, OperatorForms,
    testing::Values(
        Form{"FourDimensions", 23,
             "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v) => "
             "(float[2,4,3,6] y) { y = Attention(q, k, v) }",
             "%0 = transpose q [0, 2, 1, 3]\n%1 = transpose k [0, 2, 1, 3]\n"
             "%2 = transpose v [0, 2, 1, 3]\n%3 = attention %0 %1 %2\n"
             "%4 = transpose %3 [0, 2, 1, 3]\nreturn %4:float[2, 4, 3, 6]"},
        Form{"ThreeDimensions", 23,
             "g (float[2,3,32] q, float[2,5,16] k, float[2,5,12] v, "
             "float[3,5] m) => (float[2,3,24] y) { y = Attention "
             "<q_num_heads=4, kv_num_heads=2> (q, k, v, m) }",
             "%0 = reshape q\n%1 = reshape k\n%2 = reshape v\n"
             "%3 = attention %0 %1 %2 m\n%4 = reshape %3\n"
             "return %4:float[2, 3, 24]"},
        Form{"PastAndCausal", 23,
             "g (float[1,1,2,4] q, float[1,1,2,4] k, float[1,1,2,4] v, "
             "float[1,1,3,4] pk, float[1,1,3,4] pv) => (float[1,1,2,4] y, "
             "float[1,1,5,4] nk, float[1,1,5,4] nv) { y, nk, nv = Attention "
             "<is_causal=1> (q, k, v, , pk, pv) }",
             "%0 = reshape q\n%1 = reshape k\n%2 = reshape v\n"
             "%3 = reshape pk\n%4 = reshape pv\n%5 = concat %3 %1 [1]\n"
             "%6 = concat %4 %2 [1]\n%7 = attention %0 %5 %6 3\n"
             "%8 = reshape %7\n%9 = reshape %5\n%10 = reshape %6\n"
             "return %8:float[1, 1, 2, 4] %9:float[1, 1, 5, 4] "
             "%10:float[1, 1, 5, 4]"},
        Form{"SoftcapIsSpelledOut", 23,
             "g (float[1,3,2,4] q, float[1,3,2,4] k, float[1,3,2,4] v) => "
             "(float[1,3,2,4] y) { y = Attention <softcap=5.0, scale=1.0> (q, "
             "k, v) }",
             "%0 = transpose q [0, 2, 1, 3]\n%1 = transpose k [0, 2, 1, 3]\n"
             "%2 = transpose v [0, 2, 1, 3]\n"
             "%3 = matmul bshe,bthe->bhst %0 %1\n%4 = div %3 5\n"
             "%5 = tanh %4\n%6 = mul %5 5\n%7 = softmax %6 [3]\n"
             "%8 = matmul bhst,bthf->bshf %7 %2\n"
             "%9 = transpose %8 [0, 2, 1, 3]\nreturn %9:float[1, 3, 2, 4]"},
        Form{"HeadsDoNotDivide", 23,
             "g (float[2,3,3,8] q, float[2,2,5,8] k, float[2,2,5,8] v) => "
             "(float[2,3,3,8] y) { y = Attention(q, k, v) }",
             "2103"},
        Form{"RotaryPartial", 23,
             "g (float[1,2,3,8] x, float[1,3,2] c, float[1,3,2] s) => "
             "(float[1,2,3,8] y) { y = RotaryEmbedding "
             "<rotary_embedding_dim=4> (x, c, s) }",
             "%0 = transpose x [0, 2, 1, 3]\n%1 = reshape c\n%2 = reshape s\n"
             "%3 = slice %0 [3, 0, 4, 1]\n%4 = rope %3 %1 %2 [0]\n"
             "%5 = slice %0 [3, 4, 8, 1]\n%6 = concat %4 %5 [3]\n"
             "%7 = transpose %6 [0, 2, 1, 3]\nreturn %7:float[1, 2, 3, 8]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Elementwise, OperatorForms,
    testing::Values(
        Form{"PowOfTwoTypes", 13,
             "g (float[2] x) => (float[2] y) "
             "{ e = Constant <value_int = 3> () y = Pow(x, e) }",
             "%0 = pow x 3\nreturn %0:float[2]"},
        Form{"ClipAttributes", 6 + 1,
             "g (float[2] x) => (float[2] y) { y = Clip <min=0.0> (x) }",
             "%0 = max x 0\nreturn %0:float[2]"},
        Form{"ClipOperands", 13,
             "g (float[2] x) => (float[2] y) "
             "{ h = Constant <value_float = 6.0> () y = Clip(x, , h) }",
             "%0 = min x 6\nreturn %0:float[2]"},
        Form{"MaxOfThree", 13,
             "g (float[2] x, float[1] z) => (float[2] y) "
             "{ y = Max(x, z, x) }",
             "%0 = max x z\n%1 = max %0 x\nreturn %1:float[2]"},
        Form{"MeanOfTwo", 13,
             "g (float[2] x, float[2] z) => (float[2] y) { y = Mean(x, z) }",
             "%0 = add x z\n%1 = mul %0 0.5\nreturn %1:float[2]"},
        Form{"RemainderOfDividend", 13,
             "g (int64[2] x, int64[2] z) => (int64[2] y) "
             "{ y = Mod <fmod = 1> (x, z) }",
             "%0 = div x z\n%1 = mul %0 z\n%2 = sub x %1\nreturn %2:int64[2]"},
        Form{"NegativeInfinity", 20,
             "g (float[2] x) => (bool[2] y) "
             "{ y = IsInf <detect_positive = 0> (x) }",
             "%0 = is_inf x\n%1 = compare x 0 [2]\n%2 = and %0 %1\n"
             "return %2:bool[2]"},
        Form{"BitwiseAnd", 18,
             "g (uint16[2] x, uint16[2] z) => (uint16[2] y) "
             "{ a = BitwiseNot(z) y = BitwiseAnd(x, a) }",
             "%0 = not z\n%1 = and x %0\nreturn %1:uint16[2]"},
        Form{"UnsignedConstant", 14,
             "g (uint64[2] x) => (uint64[2] y) "
             "{ c = Constant <value = uint64[2] {1, 18446744073709551615}> () "
             "d = Constant <value = uint32[2] {3, 4294967295}> () "
             "e = Cast <to = 13> (d) s = Div(c, e) y = Add(x, s) }",
             "%0 = add x {0 4294967297}[2]\nreturn %0:uint64[2]"},
        Form{"BitwiseOfBools", 18,
             "g (bool[2] x) => (bool[2] y) { y = BitwiseNot(x) }", "2103"},
        Form{"LogicOfIntegers", 7,
             "g (int32[2] x) => (int32[2] y) { y = Or(x, x) }", "2103"},
        Form{"ShiftLeft", 11,
             "g (uint8[2] x, uint8[2] n) => (uint8[2] y) "
             "{ y = BitShift <direction = \"LEFT\"> (x, n) }",
             "%0 = min n 8\n%1 = cast %0\n"
             "%2 = gather {1 2 4 8 16 32 64 128 0}[9] %1 [0]\n"
             "%3 = mul x %2\nreturn %3:uint8[2]"},
        Form{"ShiftOfSigned", 11,
             "g (int8[2] x) => (int8[2] y) "
             "{ y = BitShift <direction = \"LEFT\"> (x, x) }",
             "2103"},
        Form{"BitCast", 26,
             "g (uint32[2] x) => (float[2] y) { y = BitCast <to = 1> (x) }",
             "%0 = bitcast x\nreturn %0:float[2]"},
        Form{"BitCastToOtherSize", 26,
             "g (uint32[2] x) => (double[2] y) { y = BitCast <to = 11> (x) }",
             "2103"},
        Form{"UniqueOfKnown", 13,
             "g (int64[2] x) => (int64[2] y) { c = Constant <value_ints = "
             "[5, 3, 5]> () u, f, i, n = Unique(c) s = Mul(u, f) "
             "t = Add(s, n) y = Mul(x, t) }",
             "%0 = mul x {4 2}[2]\nreturn %0:int64[2]"},
        Form{"UniqueOfUnknown", 11,
             "g (int64[3] x) => (int64[3] y) { y = Unique(x) }", "2106"},
        Form{"BoxesThatAreUnknown", 11,
             "g (float[1, 6, 4] b, float[1, 1, 6] s) => (int64[1, 3] y) "
             "{ y = NonMaxSuppression(b, s) }",
             "2106"},
        Form{"BoxesWithoutScores", 11,
             "g (float[1, 6, 4] b, float[1, 1, 5] s) => (int64[1, 3] y) "
             "{ y = NonMaxSuppression(b, s) }",
             "2103"},
        Form{"CastLike", 15,
             "g (int64[2] x, float[1] z) => (float[2] y) "
             "{ y = CastLike(x, z) }",
             "%0 = cast x\nreturn %0:float[2]"},
        Form{"CastToString", 13,
             "g (int64[2] x) => (string[2] y) { y = Cast <to = 8> (x) }",
             "2011"},
        Form{"DifferentTypes", 13,
             "g (int64[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }",
             "2103"},
        Form{"DoNotBroadcast", 13,
             "g (float[2] x, float[3] z) => (float[3] y) { y = Add(x, z) }",
             "2103"},
        Form{"SwishIsSilu", 24,
             "g (float[2] x) => (float[2] y) { y = Swish(x) }",
             "%0 = silu x\nreturn %0:float[2]"},
        Form{"GeluByTanh", 20,
             "g (float[2] x) => (float[2] y) "
             "{ y = Gelu <approximate = \"tanh\"> (x) }",
             "%0 = gelu x [1]\nreturn %0:float[2]"}),
    printName);

} // namespace parplan::test
