//===- EquationFormsTest.cpp - Products, scans, spectra ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

INSTANTIATE_TEST_SUITE_P(
    Equations, OperatorForms,
    testing::Values(
        Form{"EinsumBatchedProduct", 12,
             "g (float[2,3,4] x, float[2,4,5] z) => (float[2,3,5] y) { y = "
             "Einsum <equation = \"bij, bjk -> bik\"> (x, z) }",
             "%0 = matmul abc,acd->abd x z\n"
             "return %0:float[2, 3, 5]"},
        Form{"EinsumImplicitResult", 12,
             "g (float[3,2] x) => (float[2,3] y) { y = Einsum <equation = "
             "\"ji\"> (x) }",
             "%0 = transpose x [1, 0]\n"
             "return %0:float[2, 3]"},
        Form{"EinsumDiagonal", 12,
             "g (float[5,3,3] x) => (float[5,3] y) { y = Einsum <equation = "
             "\"...ii->...i\"> (x) }",
             "%0 = transpose x [1, 2, 0]\n"
             "%1 = reshape %0\n"
             "%2 = slice %1 [0, 0, 9, 4]\n"
             "%3 = transpose %2 [1, 0]\n"
             "return %3:float[5, 3]"},
        Form{"EinsumTrace", 12,
             "g (float[3,3] x) => (float y) { y = Einsum <equation = \"ii\"> "
             "(x) }",
             "%0 = reshape x\n"
             "%1 = slice %0 [0, 0, 9, 4]\n"
             "%2 = reduce %1 [0, 0, 0]\n"
             "return %2:float[]"},
        Form{"EinsumOfThree", 12,
             "g (float[2,3] x, float[3,4] z, float[4] v) => (float[2] y) { y "
             "= Einsum <equation = \"ij,jk,k->i\"> (x, z, v) }",
             "%0 = matmul ab,bc->ac x z\n"
             "%1 = matmul ab,b->a %0 v\n"
             "return %1:float[2]"},
        Form{"EinsumOuterProduct", 12,
             "g (float[2] x, float[3] z) => (float[3,2] y) { y = Einsum "
             "<equation = \"i,j->ji\"> (x, z) }",
             "%0 = reshape z\n"
             "%1 = reshape x\n"
             "%2 = mul %1 %0\n"
             "return %2:float[3, 2]"},
        Form{"EinsumSumsOneOperand", 12,
             "g (float[2,3] x, float[2] z) => (float[2] y) { y = Einsum "
             "<equation = \"ij,i->i\"> (x, z) }",
             "%0 = reduce x [0, 0, 1]\n"
             "%1 = mul %0 z\n"
             "return %1:float[2]"},
        Form{"EinsumStretches", 12,
             "g (float[1,3,4] x, float[2,4,5] z) => (float[2,3,5] y) { y = "
             "Einsum <equation = \"...ij,...jk->...ik\"> (x, z) }",
             "%0 = reshape x\n"
             "%1 = matmul ab,cbd->cad %0 z\n"
             "return %1:float[2, 3, 5]"},
        Form{"EinsumSizesDiffer", 12,
             "g (float[2,3] x, float[4,2] z) => (float[2,2] y) { y = Einsum "
             "<equation = \"ij,jk->ik\"> (x, z) }",
             "2103"},
        Form{"EinsumTooFewOperands", 12,
             "g (float[2,3] x) => (float[2] y) { y = Einsum <equation = "
             "\"ij,j->i\"> (x) }",
             "2103"},
        Form{"Det", 22, "g (float[2,2] x) => (float y) { y = Det (x) }",
             "%0 = slice x [0, 1, 2, 1, 1, 0, 1, 1]\n"
             "%1 = reshape %0\n"
             "%2 = slice x [0, 1, 2, 1, 1, 1, 2, 1]\n"
             "%3 = reshape %2\n"
             "%4 = slice x [0, 0, 1, 1, 1, 0, 1, 1]\n"
             "%5 = reshape %4\n"
             "%6 = mul %5 %3\n"
             "%7 = slice x [0, 0, 1, 1, 1, 1, 2, 1]\n"
             "%8 = reshape %7\n"
             "%9 = mul %8 %1\n"
             "%10 = sub %6 %9\n"
             "return %10:float[]"},
        Form{"DetOfSevenRows", 22,
             "g (float[7,7] x) => (float y) { y = Det (x) }", "2102"},
        Form{"MatMulInteger", 10,
             "g (uint8[2,3] x, int8[3,4] w, uint8[2] z) => (int32[2,4] y) { y "
             "= MatMulInteger (x, w, z) }",
             "%0 = reshape z\n"
             "%1 = cast x\n"
             "%2 = cast %0\n"
             "%3 = sub %1 %2\n"
             "%4 = cast w\n"
             "%5 = matmul ac,cb->ab %3 %4\n"
             "%6 = cast %5\n"
             "return %6:int32[2, 4]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Scans, OperatorForms,
    testing::Values(
        Form{"CumProd", 26,
             "g (float[5] x) => (float[5] y) { a = Constant <value_int = 0> "
             "() y = CumProd (x, a) }",
             "%0 = slice x [0, 0, 4, 1]\n"
             "%1 = pad %0\n"
             "%2 = mul x %1\n"
             "%3 = slice %2 [0, 0, 3, 1]\n"
             "%4 = pad %3\n"
             "%5 = mul %2 %4\n"
             "%6 = slice %5 [0, 0, 1, 1]\n"
             "%7 = pad %6\n"
             "%8 = mul %5 %7\n"
             "return %8:float[5]"},
        Form{"CumProdReverseExclusive", 26,
             "g (int32[2] x) => (int32[2] y) { a = Constant <value_int = 0> "
             "() y = CumProd <reverse = 1, exclusive = 1> (x, a) }",
             "%0 = slice x [0, 1, 2, 1]\n"
             "%1 = pad %0\n"
             "%2 = slice %1 [0, 1, 2, 1]\n"
             "%3 = pad %2\n"
             "%4 = mul %1 %3\n"
             "return %4:int32[2]"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Spectra, OperatorForms,
    testing::Values(
        Form{"TransformOfReals", 20,
             "g (float[2,4,1] x) => (float[2,3,2] y) { y = DFT <onesided = 1> "
             "(x) }",
             "%0 = reshape x\n"
             "%1 = matmul atbp,tpkr->akbr %0 {1 0 1 0 1 0 1 0 0 -1 -1 0 1 0 "
             "-1 0 1 0 1 0 0 1 -1 0}[4, 1, 3, 2]\n"
             "%2 = reshape %1\n"
             "return %2:float[2, 3, 2]"},
        Form{"TransformBack", 17,
             "g (float[1,2,2] x) => (float[1,2,1] y) { y = DFT <inverse = 1, "
             "onesided = 1> (x) }",
             "%0 = reshape x\n"
             "%1 = matmul atbp,tpkr->akbr %0 {0.5 0.5 0 0 0.5 -0.5 0 0}[2, 2, "
             "2, 1]\n"
             "%2 = reshape %1\n"
             "return %2:float[1, 2, 1]"},
        Form{"HalfOfComplexSpectrum", 20,
             "g (float[2,4,2] x) => (float[2,3,2] y) { y = DFT <onesided = 1> "
             "(x) }",
             "2103"},
        Form{"TransformOfFrames", 17,
             "g (float[1,6,1] x, float[2] w) => (float[1,3,2,2] y) { s = "
             "Constant <value_int = 2> () y = STFT (x, s, w) }",
             "%0 = gather x {0 1 2 3 4 5}[3, 2] [1]\n"
             "%1 = reshape w\n"
             "%2 = mul %0 %1\n"
             "%3 = reshape %2\n"
             "%4 = matmul atbp,tpkr->akbr %3 {1 0 1 0 1 0 -1 0}[2, 1, 2, 2]\n"
             "%5 = reshape %4\n"
             "return %5:float[1, 3, 2, 2]"},
        Form{"HannWindow", 17,
             "g (float[3] x) => (float[3] y) { n = Constant <value_int = 3> "
             "() w = HannWindow <periodic = 0> (n) y = Add(x, w) }",
             "%0 = add x {0 1 0}[3]\n"
             "return %0:float[3]"},
        Form{"MelMatrix", 17,
             "g (float[3,2] x) => (float[3,2] y) { n = Constant <value_int = "
             "2> () l = Constant <value_int = 4> () r = Constant <value_int = "
             "8> () a = Constant <value_float = 0.0> () b = Constant "
             "<value_float = 4.0> () m = MelWeightMatrix (n, l, r, a, b) y = "
             "Add(x, m) }",
             "%0 = add x {1 0 0 1 0 0}[3, 2]\n"
             "return %0:float[3, 2]"}),
    printName);

} // namespace parplan::test
