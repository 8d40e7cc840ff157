//===- StructureFormsTest.cpp - Recurrence, sequences, quantization -------===//
//
// Part of parplan. What they compute is ONNX's node tests' to say; here is what
// they refuse.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"

namespace parplan::test {

/// An RNN of hidden size 2 over float[`length`, 3, 4].
static std::string makeRnn(const std::string &attributes,
                           const std::string &input = "float[5, 3, 4] x",
                           const std::string &recurrent = "float[1, 2, 2] r") {
  return "g (" + input + ", float[1, 2, 4] w, " + recurrent +
         ") => (float[?, ?, ?, ?] y) { y = RNN <" + attributes +
         "> (x, w, r) }";
}

static const std::string longRnn =
                             makeRnn("hidden_size = 2", "float[4097, 3, 4] x"),
                         flatRnn = makeRnn("hidden_size = 2", "float[5, 12] x"),
                         wrongRnn =
                             makeRnn("hidden_size = 2", "float[5, 3, 4] x",
                                     "float[1, 3, 2] r"),
                         turnedRnn = makeRnn("direction = \"sideways\""),
                         fewRnn = makeRnn("direction = \"reverse\", "
                                          "activations = [\"Tanh\", \"Tanh\"]"),
                         softRnn = makeRnn("activations = [\"Softplus\"]");

INSTANTIATE_TEST_SUITE_P(
    Recurrence, OperatorForms,
    testing::Values(Form{"LongSequence", 22, longRnn.c_str(), "2102"},
                    Form{"SequenceOfRankTwo", 22, flatRnn.c_str(), "2103"},
                    Form{"WeightsOfOtherSizes", 22, wrongRnn.c_str(), "2103"},
                    Form{"NoDirection", 22, turnedRnn.c_str(), "2103"},
                    Form{"TooManyActivations", 22, fewRnn.c_str(), "2103"},
                    Form{"OtherActivation", 22, softRnn.c_str(), "2102"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Quantization, OperatorForms,
    testing::Values(
        Form{"ToDouble", 21,
             "g (float[2] x, float s) => (double[2] y) "
             "{ y = QuantizeLinear <output_dtype = 11> (x, s) }",
             "2011"},
        Form{"SumOfFloat8", 21,
             "g (float8e5m2[2] x) => (float8e5m2[2] y) { y = Add(x, x) }",
             "2103"},
        Form{"ToInt32", 21,
             "g (float[2] x, float s, int32 z) => (int32[2] y) "
             "{ y = QuantizeLinear (x, s, z) }",
             "2011"},
        Form{"ScalesOfAnotherAxis", 21,
             "g (float[2, 3] x, float[2] s) => (uint8[2, 3] y) "
             "{ y = QuantizeLinear <axis = 1> (x, s) }",
             "2103"},
        Form{"BlocksThatDoNotFit", 21,
             "g (float[2, 6] x, float[2, 2] s) => (uint8[2, 6] y) "
             "{ y = QuantizeLinear <axis = 1, block_size = 2> (x, s) }",
             "2103"},
        Form{"IntegerScales", 21,
             "g (float[2] x, int32 s) => (uint8[2] y) "
             "{ y = QuantizeLinear (x, s) }",
             "2103"},
        Form{"DequantizedFloats", 21,
             "g (float[2] x, float s) => (float[2] y) "
             "{ y = DequantizeLinear (x, s) }",
             "2103"},
        Form{"ProductOfWords", 21,
             "g (int32[2, 2] a, float s, uint8 z) => (uint8[2, 2] y) "
             "{ y = QLinearMatMul (a, s, z, a, s, z, s, z) }",
             "2103"}),
    printName);

INSTANTIATE_TEST_SUITE_P(
    Sequences, OperatorForms,
    testing::Values(
        Form{"PositionOutside", 18,
             "g (float[2] x) => (float[2] y) { s = SequenceConstruct(x) "
             "p = Constant <value_int = 2> () t = SequenceInsert(s, x, p) "
             "y = ConcatFromSequence <axis = 0> (t) }",
             "2103"},
        Form{"OtherTypeInserted", 18,
             "g (float[2] x, int64[2] i) => (float[2] y) "
             "{ s = SequenceConstruct(x) t = SequenceInsert(s, i) "
             "y = ConcatFromSequence <axis = 0> (t) }",
             "2103"},
        Form{"EraseFromNone", 18,
             "g (float[2] x) => (int64 y) { s = SequenceEmpty() "
             "t = SequenceErase(s) y = SequenceLength(t) }",
             "2103"},
        Form{"ErasedIsGone", 18,
             "g (float[2] x, float[2] w) => (float[2] y) "
             "{ s = SequenceConstruct(x, w, x) t = SequenceErase(s) "
             "p = Constant <value_int = -1> () y = SequenceAt(t, p) }",
             "return w:float[2]"},
        Form{"EmptyOfStrings", 18,
             "g (float[2] x) => (int64 y) { s = SequenceEmpty <dtype = 8> () "
             "y = SequenceLength(s) }",
             "2011"},
        Form{"NoElement", 18,
             "g (float[2] x) => (float[2] y) "
             "{ n = Optional <type = float[2]> () "
             "y = OptionalGetElement(n) }",
             "2103"},
        Form{"OutputIsASequence", 18,
             "g (float[2] x) => (seq(float[2]) y) "
             "{ y = SequenceConstruct(x) }",
             "2011"}),
    printName);

} // namespace parplan::test
