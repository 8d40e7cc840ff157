//===- DecomposeTest.cpp - A composite equals its decomposition -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"

#include "parplan/Interpreter/Interpreter.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

struct Case {
  const char *name;
  std::string op;
  std::vector<std::string> arguments;
};

void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

class Decompositions : public testing::TestWithParam<Case> {};

/// Values between 0.25 and 2 (variances are positive), both conditions, and
/// small offsets.
Tensor makeRandom(mlir::RankedTensorType type, std::mt19937 &engine) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.getSize(); ++i) {
    if (tensor.isReal())
      tensor[i].real = 0.25 + (engine() % 1024) * (1.75 / 1024);
    else
      tensor[i].integer = engine() % 2;
  }
  return tensor;
}

/// The result of the last op of the function.
std::vector<double> run(mlir::func::FuncOp function,
                        llvm::ArrayRef<Tensor> arguments) {
  auto results = interpret(function, arguments);
  std::vector<double> numbers;
  if (mlir::failed(results))
    return numbers;
  for (int64_t i = 0; i < (*results)[0].getSize(); ++i)
    numbers.push_back((*results)[0].getNumber(i));
  return numbers;
}

/// Makes the function return the op's result.
void returnResult(mlir::func::FuncOp function, mlir::Value value) {
  mlir::Operation *end = function.getBody().front().getTerminator();
  end->setOperands(value);
  function.setFunctionType(mlir::FunctionType::get(
      function.getContext(), function.getArgumentTypes(), value.getType()));
}

/// Compares every result of the op with that of its parts.
void checkDecomposition(OpFixture &fixture, std::vector<Tensor> arguments) {
  mlir::Operation *op = fixture.getOp();
  mlir::func::FuncOp function = fixture.getFunction();
  llvm::SmallVector<std::vector<double>> whole;
  for (mlir::Value result : op->getResults()) {
    returnResult(function, result);
    whole.push_back(run(function, arguments));
    ASSERT_FALSE(whole.back().empty());
  }
  mlir::OpBuilder builder(op);
  llvm::SmallVector<mlir::Value> parts =
      mlir::cast<DecomposableOpInterface>(op).decompose(builder);
  ASSERT_EQ(parts.size(), whole.size());
  for (auto [part, result] : llvm::zip(parts, op->getResults()))
    ASSERT_EQ(part.getType(), result.getType());
  returnResult(function, parts[0]);
  op->erase();
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*fixture.module)));
  for (auto [part, expected] : llvm::zip(parts, whole)) {
    returnResult(function, part);
    std::vector<double> decomposed = run(function, arguments);
    ASSERT_EQ(decomposed.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      // Infinities have no difference.
      if (decomposed[i] == expected[i])
        continue;
      EXPECT_NEAR(decomposed[i], expected[i], 1e-9) << i;
    }
  }
}

TEST_P(Decompositions, ComputeTheSame) {
  OpFixture fixture(GetParam().op, GetParam().arguments);
  ASSERT_TRUE(fixture.module);
  std::mt19937 engine(1);
  std::vector<Tensor> arguments;
  for (mlir::Type type : fixture.getFunction().getArgumentTypes())
    arguments.push_back(
        makeRandom(mlir::cast<mlir::RankedTensorType>(type), engine));
  checkDecomposition(fixture, std::move(arguments));
}

TEST(CrossEntropy, EqualsItsDecomposition) {
  OpFixture fixture("%y:2 = parplan.cross_entropy %0, %1 : tensor<2x3x5xf64>, "
                    "tensor<2x3xi64>",
                    {"2x3x5xf64", "2x3xi64"});
  ASSERT_TRUE(fixture.module);
  std::mt19937 engine(1);
  std::vector<Tensor> arguments;
  for (mlir::Type type : fixture.getFunction().getArgumentTypes())
    arguments.push_back(
        makeRandom(mlir::cast<mlir::RankedTensorType>(type), engine));
  const int64_t labels[] = {0, 4, -100, 2, 3, 1};
  for (auto [i, label] : llvm::enumerate(labels))
    arguments[1][i].integer = label;
  checkDecomposition(fixture, std::move(arguments));
}

const char *const queries = "2x5x6x4xf64", *const keys = "2x7x3x4xf64",
                  *const values = "2x7x3x2xf64";
const std::string attentionTypes =
    ": tensor<2x5x6x4xf64>, tensor<2x7x3x4xf64>, tensor<2x7x3x2xf64>";
const char *const results = "2x5x6x2xf64", *const statistics = "2x6x5xf64";
const std::string gradientTypes =
    attentionTypes + ", tensor<2x5x6x2xf64>, tensor<2x6x5xf64>";

INSTANTIATE_TEST_SUITE_P(
    All, Decompositions,
    testing::Values(
        Case{"square_sum",
             "%y = parplan.square_sum %0 : tensor<2x3xf64>",
             {"2x3xf64"}},
        Case{"moe_dispatch",
             "%y = parplan.moe_dispatch %0, %1 weights %2 : tensor<4x2xf64> : "
             "tensor<4x3xf64>, tensor<4x2xi64> to tensor<2x4x3xf64>",
             {"4x3xf64", "4x2xi64", "4x2xf64"}},
        Case{"moe_dispatch_of_a_block",
             "%y = parplan.moe_dispatch %0, %1 first %2 : tensor<i64> : "
             "tensor<4x3xf64>, tensor<4x2xi64> to tensor<2x4x3xf64>",
             {"4x3xf64", "4x2xi64", "i64"}},
        Case{"moe_combine",
             "%y = parplan.moe_combine %0, %1 weights %2 : tensor<2x4x2xf64> "
             "first %3 : tensor<i64> : tensor<2x2x4x3xf64>, tensor<2x4x2xi64>",
             {"2x2x4x3xf64", "2x4x2xi64", "2x4x2xf64", "i64"}},
        Case{"moe_dispatch_of_groups",
             "%y = parplan.moe_dispatch %0, %1 first %2 : tensor<i64> "
             "groups [2, 2] : tensor<4x3xf64>, tensor<4x3xi64> to "
             "tensor<4x4x3xf64>",
             {"4x3xf64", "4x3xi64", "i64"}},
        Case{"moe_combine_of_groups",
             "%y = parplan.moe_combine %0, %1 weights %2 : tensor<2x4x2xf64> "
             "groups [3, 2] : tensor<2x2x4x3xf64>, tensor<2x4x2xi64>",
             {"2x2x4x3xf64", "2x4x2xi64", "2x4x2xf64"}},
        Case{"silu", "%y = parplan.silu %0 : tensor<6xf64>", {"6xf64"}},
        Case{"gelu", "%y = parplan.gelu %0 : tensor<6xf64>", {"6xf64"}},
        Case{"gelu_tanh",
             "%y = parplan.gelu tanh %0 : tensor<6xf64>",
             {"6xf64"}},
        Case{"softmax",
             "%y = parplan.softmax %0 dim 1 : tensor<2x3x4xf64>",
             {"2x3x4xf64"}},
        Case{"log_softmax",
             "%y = parplan.log_softmax %0 dim 2 : tensor<2x3x4xf64>",
             {"2x3x4xf64"}},
        Case{"layer_norm",
             "%y = parplan.layer_norm %0 scale %1 : tensor<3x4xf64> bias %2 : "
             "tensor<3x4xf64> dim 1 epsilon 1.0e-3 : tensor<2x3x4xf64>",
             {"2x3x4xf64", "3x4xf64", "3x4xf64"}},
        Case{"rms_norm",
             "%y = parplan.rms_norm %0 scale %1 : tensor<4xf64> dim 2 epsilon "
             "1.0e-3 : tensor<2x3x4xf64>",
             {"2x3x4xf64", "4xf64"}},
        Case{"batch_norm",
             "%y = parplan.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-3 : "
             "tensor<2x3x4xf64>, tensor<3xf64>",
             {"2x3x4xf64", "3xf64", "3xf64", "3xf64", "3xf64"}},
        Case{"conv",
             "%y = parplan.conv %0, %1, %2 strides [2] pads [1, 0] dilations "
             "[1] groups 2 : tensor<2x4x7xf64>, tensor<6x2x3xf64>, "
             "tensor<6xf64>",
             {"2x4x7xf64", "6x2x3xf64", "6xf64"}},
        Case{"rope",
             "%y = parplan.rope %0 cos %1 sin %2 : tensor<2x3x5x8xf64>, "
             "tensor<3x1x4xf64>, tensor<3x1x4xf64>",
             {"2x3x5x8xf64", "3x1x4xf64", "3x1x4xf64"}},
        Case{"rope_interleaved",
             "%y = parplan.rope %0 cos %1 sin %2 {interleaved} : "
             "tensor<2x3x5x8xf64>, tensor<3x1x4xf64>, tensor<3x1x4xf64>",
             {"2x3x5x8xf64", "3x1x4xf64", "3x1x4xf64"}},
        Case{"affine_mask",
             "%y = parplan.affine_mask [0, -2, 3] + -4 : tensor<2x5x7xi1>",
             {}},
        Case{"attention",
             "%y = parplan.attention %0, %1, %2 scale 0.5 " + attentionTypes,
             {queries, keys, values}},
        Case{"causal_attention",
             "%y = parplan.attention %0, %1, %2 scale 0.5 causal " +
                 attentionTypes,
             {queries, keys, values}},
        Case{"attention_with_offset",
             "%y = parplan.attention %0, %1, %2 offset %3 : tensor<i64> scale "
             "0.5 causal " +
                 attentionTypes,
             {queries, keys, values, "i64"}},
        Case{"attention_with_term",
             "%y = parplan.attention %0, %1, %2 mask %3 : tensor<2x6x5x7xf64> "
             "scale 0.5 " +
                 attentionTypes,
             {queries, keys, values, "2x6x5x7xf64"}},
        Case{"attention_with_masked_rows",
             "%y = parplan.attention %0, %1, %2 mask %3 : tensor<2x1x5x1xi1> "
             "scale 0.5 zero_masked_rows " +
                 attentionTypes,
             {queries, keys, values, "2x1x5x1xi1"}},
        Case{"attention_with_mask_of_keys",
             "%y = parplan.attention %0, %1, %2 mask %3 : tensor<7xi1> scale "
             "0.5 zero_masked_rows " +
                 attentionTypes,
             {queries, keys, values, "7xi1"}},
        Case{"attention_with_statistics",
             "%y:2 = parplan.attention %0, %1, %2 scale 0.5 statistics " +
                 attentionTypes,
             {queries, keys, values}},
        Case{"masked_attention_with_statistics",
             "%y:2 = parplan.attention %0, %1, %2 mask %3 : tensor<2x1x5x1xi1> "
             "scale 0.5 causal statistics " +
                 attentionTypes,
             {queries, keys, values, "2x1x5x1xi1"}},
        Case{"attention_with_a_sink",
             "%y:2 = parplan.attention %0, %1, %2 offset %3 : tensor<i64> sink "
             "%4 : tensor<6xf64> scale 0.5 causal statistics " +
                 attentionTypes,
             {queries, keys, values, "i64", "6xf64"}},
        Case{"attention_with_a_sink_where_all_keys_are_masked",
             "%y = parplan.attention %0, %1, %2 mask %3 : tensor<2x1x5x1xi1> "
             "sink %4 : tensor<6xf64> scale 0.5 " +
                 attentionTypes,
             {queries, keys, values, "2x1x5x1xi1", "6xf64"}},
        Case{"attention_gradient",
             "%y:3 = parplan.attention_gradient %0, %1, %2 result %3, %4 "
             "gradient %5 mask %6 : tensor<6x5x7xf64> offset %7 : tensor<i64> "
             "scale 0.5 causal " +
                 gradientTypes,
             {queries, keys, values, results, statistics, results, "6x5x7xf64",
              "i64"}},
        Case{"attention_gradient_with_mask",
             "%y:3 = parplan.attention_gradient %0, %1, %2 result %3, %4 "
             "gradient %5 mask %6 : tensor<7xi1> scale 0.5 " +
                 gradientTypes,
             {queries, keys, values, results, statistics, results, "7xi1"}}),
    [](const auto &info) { return info.param.name; });

} // namespace
