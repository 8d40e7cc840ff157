//===- InterpreterTest.cpp - Values of single ops -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "InterpreterFixture.h"

#include <cmath>

using namespace mlir;
using namespace parplan::test;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace parplan {
namespace {

using Interpreter = InterpreterFixture;

TEST_F(Interpreter, BroadcastsOperands) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
      %b = parplan.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
      %r = parplan.add %a, %b : tensor<2x1xf32>, tensor<3xf32>)",
                "tensor<2x3xf32>"),
            (Numbers{11, 21, 31, 12, 22, 32}));
}

TEST_F(Interpreter, RoundsToTheElementType) {
  // 1/3 in f32; the sum is rounded once more.
  EXPECT_EQ(run(R"(%a = parplan.constant dense<3.0> : tensor<f32>
      %r = parplan.reciprocal %a : tensor<f32>)",
                "tensor<f32>"),
            (Numbers{1.0f / 3.0f}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<1.001> : tensor<f64>
      %r = parplan.cast %a : tensor<f64> to tensor<bf16>)",
                "tensor<bf16>"),
            (Numbers{1.0}));
}

TEST_F(Interpreter, WrapsIntegers) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[100, -100]> : tensor<2xi8>
      %r = parplan.add %a, %a : tensor<2xi8>, tensor<2xi8>)",
                "tensor<2xi8>"),
            (Numbers{-56, 56}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[7, -7, 5]> : tensor<3xi64>
      %b = parplan.constant dense<[-3, 3, 0]> : tensor<3xi64>
      %r = parplan.mod %a, %b : tensor<3xi64>, tensor<3xi64>)",
                "tensor<3xi64>"),
            (Numbers{-2, 2, 0}));
  EXPECT_EQ(
      run(R"(%a = parplan.constant dense<[2.9, -2.9, 1.0e30]> : tensor<3xf64>
      %r = parplan.cast %a : tensor<3xf64> to tensor<3xi32>)",
          "tensor<3xi32>"),
      (Numbers{2, -2, 2147483647}));
}

TEST_F(Interpreter, UnsignedIntegersHaveAllTheirBits) {
  std::string ends = "%a = parplan.constant dense<[18446744073709551615, 5]> : "
                     "tensor<2xui64>\n"
                     "%b = parplan.constant dense<[3, 9223372036854775808]> : "
                     "tensor<2xui64>\n";
  std::string types = "tensor<2xui64>, tensor<2xui64>", type = "tensor<2xui64>";
  EXPECT_EQ(run(ends + "%r = parplan.div %a, %b : " + types, type),
            (Numbers{6148914691236517205.0, 0}));
  EXPECT_EQ(run(ends + "%r = parplan.mod %b, %a : " + types, type),
            (Numbers{3, 3}));
  EXPECT_EQ(run(ends + "%r = parplan.min %a, %b : " + types, type),
            (Numbers{3, 5}));
  EXPECT_EQ(
      run(ends + "%r = parplan.compare lt %a, %b : " + types, "tensor<2xi1>"),
      (Numbers{0, 1}));
  EXPECT_EQ(run(ends + "%r = parplan.reduce max %b dims [0] : " + type,
                "tensor<ui64>"),
            (Numbers{9223372036854775808.0}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.5e19, -3.0]> : tensor<2xf64>
      %r = parplan.cast %a : tensor<2xf64> to tensor<2xui64>)",
                type),
            (Numbers{1.5e19, 0}));
  EXPECT_EQ(run(ends + "%r = parplan.abs %a : " + type, type),
            (Numbers{18446744073709551615.0, 5}));
  EXPECT_EQ(run(ends + "%r = parplan.relu %b : " + type, type),
            (Numbers{3, 9223372036854775808.0}));
  EXPECT_EQ(run(ends + "%r = parplan.sign %a : " + type, type),
            (Numbers{1, 1}));
}

TEST_F(Interpreter, BitsOfNumbers) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[0, 5, 255]> : tensor<3xui8>
      %r = parplan.not %a : tensor<3xui8>)",
                "tensor<3xui8>"),
            (Numbers{255, 250, 0}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[true, false]> : tensor<2xi1>
      %r = parplan.not %a : tensor<2xi1>)",
                "tensor<2xi1>"),
            (Numbers{0, 1}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.0, -2.0]> : tensor<2xf32>
      %r = parplan.bitcast %a : tensor<2xf32> to tensor<2xi32>)",
                "tensor<2xi32>"),
            (Numbers{1065353216, -1073741824}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[16256, -32768]> : tensor<2xi16>
      %r = parplan.bitcast %a : tensor<2xi16> to tensor<2xbf16>)",
                "tensor<2xbf16>"),
            (Numbers{1, 0}));
}

TEST_F(Interpreter, ComparesAndSelects) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %b = parplan.constant dense<2.0> : tensor<f32>
      %c = parplan.compare ge %a, %b : tensor<3xf32>, tensor<f32>
      %r = parplan.select %c, %a, %b : tensor<3xi1>, tensor<3xf32>, tensor<f32>)",
                "tensor<3xf32>"),
            (Numbers{2, 2, 3}));
}

TEST_F(Interpreter, MovesElements) {
  std::string a =
      "%a = parplan.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>\n";
  EXPECT_EQ(run(a + "%r = parplan.transpose %a [1, 0] : tensor<2x3xi64>",
                "tensor<3x2xi64>"),
            (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run(a + "%r = parplan.slice %a dims [1] from [2] to [-1] step [-2] "
                    ": tensor<2x3xi64>",
                "tensor<2x2xi64>"),
            (Numbers{3, 1, 6, 4}));
  EXPECT_EQ(run(a + "%r = parplan.pad %a dims [0, 1] low [1, 0] high [0, 1] "
                    "value 9.0 : tensor<2x3xi64>",
                "tensor<3x4xi64>"),
            (Numbers{9, 9, 9, 9, 1, 2, 3, 9, 4, 5, 6, 9}));
  EXPECT_EQ(run(a + "%r = parplan.concat %a, %a dim 0 : tensor<2x3xi64>, "
                    "tensor<2x3xi64>",
                "tensor<4x3xi64>"),
            (Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run("%r = parplan.affine_mask [-1, 1] + 0 : tensor<2x3xi1>",
                "tensor<2x3xi1>"),
            (Numbers{1, 0, 0, 1, 1, 0}));
}

TEST_F(Interpreter, ReadsAtIndices) {
  std::string table = "%t = parplan.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : "
                      "tensor<2x2xf32>\n";
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[1, 2, -1, 0]> : tensor<4xi64>
      %r = parplan.embedding %i, %t : tensor<4xi64>, tensor<2x2xf32>)",
          "tensor<4x2xf32>"),
      (Numbers{3, 4, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[-1, 0, 1]> : tensor<3xi64>
      %r = parplan.gather %t, %i dim 1 : tensor<2x2xf32>, tensor<3xi64>)",
          "tensor<2x3xf32>"),
      (Numbers{2, 1, 2, 4, 3, 4}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[[1, 0]]> : tensor<1x2xi64>
      %r = parplan.gather_elements %t, %i dim 0 : tensor<2x2xf32>, tensor<1x2xi64>)",
          "tensor<1x2xf32>"),
      (Numbers{3, 2}));
  EXPECT_EQ(
      run(table +
              R"(%i = parplan.constant dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>
      %r = parplan.gather_nd %t, %i batch_dims 0 : tensor<2x2xf32>, tensor<2x2xi64>)",
          "tensor<2xf32>"),
      (Numbers{3, 2}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[[1], [0]]> : tensor<2x1xi64>
      %r = parplan.gather_nd %t, %i batch_dims 1 : tensor<2x2xf32>, tensor<2x1xi64>)",
          "tensor<2xf32>"),
      (Numbers{2, 3}));
}

TEST_F(Interpreter, SortsAndScans) {
  std::string a =
      "%a = parplan.constant dense<[2.0, 5.0, 2.0, 1.0]> : tensor<4xf32>\n";
  EXPECT_EQ(run(a + "%v, %r = parplan.topk %a k 3 dim 0 largest true : "
                    "tensor<4xf32>",
                "tensor<3xi64>"),
            (Numbers{1, 0, 2}));
  EXPECT_EQ(run(a + "%r = parplan.cumsum %a dim 0 {exclusive, reverse} : "
                    "tensor<4xf32>",
                "tensor<4xf32>"),
            (Numbers{8, 3, 1, 0}));
}

TEST_F(Interpreter, ReducesAndMultiplies) {
  std::string a = "%a = parplan.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : "
                  "tensor<2x2xf32>\n";
  EXPECT_EQ(run(a + "%r = parplan.reduce prod %a dims [1] : tensor<2x2xf32>",
                "tensor<2xf32>"),
            (Numbers{2, 12}));
  EXPECT_EQ(run(a + "%r = parplan.reduce max %a dims [0] keep_dims : "
                    "tensor<2x2xf32>",
                "tensor<1x2xf32>"),
            (Numbers{3, 4}));
  EXPECT_EQ(run(a + "%r = parplan.matmul \"mk,nk->nm\" %a, %a : "
                    "tensor<2x2xf32>, tensor<2x2xf32>",
                "tensor<2x2xf32>"),
            (Numbers{5, 11, 11, 25}));
}

TEST_F(Interpreter, SlidesWindows) {
  std::string a = "%a = parplan.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : "
                  "tensor<1x1x4xf32>\n";
  EXPECT_EQ(
      run(a + R"(%w = parplan.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
      %b = parplan.constant dense<[100.0]> : tensor<1xf32>
      %r = parplan.conv %a, %w, %b strides [2] pads [1, 1] dilations [2] groups 1
        : tensor<1x1x4xf32>, tensor<1x1x2xf32>, tensor<1xf32>)",
          "tensor<1x1x2xf32>"),
      (Numbers{120, 142}));
  EXPECT_EQ(run(a + "%r = parplan.max_pool %a window [2] strides [2] pads "
                    "[0, 0] dilations [1] : tensor<1x1x4xf32>",
                "tensor<1x1x2xf32>"),
            (Numbers{2, 4}));
  EXPECT_EQ(run(a + "%r = parplan.average_pool %a window [2] strides [2] pads "
                    "[1, 1] dilations [1] : tensor<1x1x4xf32>",
                "tensor<1x1x3xf32>"),
            (Numbers{1, 2.5, 4}));
  EXPECT_EQ(run(a + "%r = parplan.average_pool %a window [2] strides [2] pads "
                    "[1, 1] dilations [1] {count_include_pad} : "
                    "tensor<1x1x4xf32>",
                "tensor<1x1x3xf32>"),
            (Numbers{0.5, 2.5, 2}));
}

/// Composites have the values of their decompositions: two derivations.
TEST_F(Interpreter, AgreesWithDecompositions) {
  func::FuncOp function = parse(R"(
    func.func @f(%a: tensor<2x3x4xf64>, %c: tensor<4xf64>, %d: tensor<3xf64>,
                 %q: tensor<1x3x4x2xf64>, %k: tensor<1x5x2x2xf64>,
                 %v: tensor<1x5x2x3xf64>, %i: tensor<i64>,
                 %p: tensor<1x4x3x5xi1>, %s: tensor<3x1x1xf64>) {
      parplan.softmax %a dim 1 : tensor<2x3x4xf64>
      parplan.log_softmax %a dim 2 : tensor<2x3x4xf64>
      parplan.layer_norm %a scale %c : tensor<4xf64> bias %c : tensor<4xf64> dim 2 epsilon 0.1 : tensor<2x3x4xf64>
      parplan.rms_norm %a dim 1 epsilon 0.1 : tensor<2x3x4xf64>
      parplan.batch_norm %a, %d, %d, %d, %d epsilon 20.0 : tensor<2x3x4xf64>, tensor<3xf64>
      parplan.gelu %a : tensor<2x3x4xf64>
      parplan.gelu tanh %a : tensor<2x3x4xf64>
      parplan.silu %a : tensor<2x3x4xf64>
      parplan.rope %q cos %s sin %s : tensor<1x3x4x2xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>
      parplan.rope %q cos %s sin %s {interleaved} : tensor<1x3x4x2xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>
      parplan.attention %q, %k, %v mask %p : tensor<1x4x3x5xi1> offset %i : tensor<i64> scale 0.5 causal zero_masked_rows : tensor<1x3x4x2xf64>, tensor<1x5x2x2xf64>, tensor<1x5x2x3xf64>
      return
    })");
  std::vector<Tensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    Tensor &value = arguments.emplace_back(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < value.getSize(); ++i)
      value.setNumber(i, value.getType().getElementType().isInteger(1)
                             ? static_cast<double>(i % 3 != 0 && i > 5)
                             : static_cast<double>((i * 7 + 3) % 11) - 4);
  }
  SmallVector<Operation *> composites;
  for (Operation &op : function.getBody().front().without_terminator())
    composites.push_back(&op);
  SmallVector<Value> results;
  for (Operation *op : composites) {
    OpBuilder builder(op);
    results.push_back(op->getResult(0));
    results.push_back(
        cast<DecomposableOpInterface>(op).decompose(builder).front());
  }
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder(terminator).create<func::ReturnOp>(function.getLoc(), results);
  terminator->erase();

  FailureOr<std::vector<Tensor>> values = interpret(function, arguments);
  ASSERT_TRUE(succeeded(values)) << messages;
  for (size_t i = 0; i < composites.size(); ++i)
    EXPECT_THAT(getNumbers((*values)[2 * i + 1]),
                Pointwise(DoubleNear(1e-12), getNumbers((*values)[2 * i])))
        << composites[i]->getName().getStringRef().str();
}

TEST_F(Interpreter, ReadsParametersThroughViews) {
  func::FuncOp function = parse(R"(
    parplan.initializer @w "w" : tensor<2x3xf32> in "" at 0 length 24
    func.func @f() -> tensor<2x2xf32> {
      %r = parplan.parameter @w view <offset = 1, strides = [1, 3]> : tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    })");
  Tensor whole(RankedTensorType::get({2, 3}, Float32Type::get(&context)));
  for (int64_t i = 0; i < 6; ++i)
    whole[i].real = static_cast<double>(i);
  InitializerValues initializers;
  initializers["w"] = whole;
  auto results = interpret(function, {}, initializers);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{1, 4, 2, 5}));

  EXPECT_TRUE(failed(interpret(function, {})));
  EXPECT_THAT(messages, HasSubstr("there is no value for @w"));
}

TEST_F(Interpreter, ReadsStatesOrZeros) {
  func::FuncOp function = parse(R"(
    parplan.initializer @w "w" : tensor<2xf16> in "" at 0 length 4
    func.func @f() -> tensor<2xf32> {
      %r = parplan.parameter @w slot "exp_avg" : tensor<2xf32>
      return %r : tensor<2xf32>
    })");
  auto results = interpret(function, {});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{0, 0}));
  Tensor state(RankedTensorType::get({2}, Float32Type::get(&context)));
  state[1].real = 3;
  InitializerValues initializers;
  initializers[getSlotName("w", "exp_avg")] = state;
  results = interpret(function, {}, initializers);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{0, 3}));
}

TEST_F(Interpreter, ReportsIndicesOutsideOfTheData) {
  run(R"(%t = parplan.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %i = parplan.constant dense<[2]> : tensor<1xi64>
      %r = parplan.gather %t, %i dim 0 : tensor<2xf32>, tensor<1xi64>)",
      "tensor<1xf32>");
  EXPECT_THAT(messages, HasSubstr("index 2 is outside of 2 elements"));
}

TEST_F(Interpreter, ReportsOpsWithoutValues) {
  func::FuncOp function = parse(R"(
    func.func @f() { return }
    func.func @g() { call @f() : () -> () return })");
  EXPECT_TRUE(failed(
      interpret(*std::next(module->getOps<func::FuncOp>().begin()), {})));
  EXPECT_THAT(messages, HasSubstr("cannot be interpreted"));
  EXPECT_TRUE(succeeded(interpret(function, {})));
}

} // namespace
} // namespace parplan
