//===- GradientRulesTest.cpp - Ties, kinks, and which ops answer ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Differentiated.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// One op of vectors at a point, with the gradients that PyTorch gives there.
struct Point {
  const char *name;
  GradientCase from;
  /// Values of the float arguments, then of the cotangents.
  std::vector<std::vector<double>> values;
  /// Gradients of the float arguments.
  std::vector<std::vector<double>> gradients;
};

void PrintTo(const Point &one, std::ostream *out) { *out << one.name; }

class GradientsAt : public testing::TestWithParam<Point> {};

TEST_P(GradientsAt, AreThoseOfPyTorch) {
  Differentiated function(GetParam().from);
  std::vector<Tensor> arguments = function.makeArguments(1);
  size_t next = 0;
  for (Tensor &argument : arguments) {
    if (!argument.isReal())
      continue;
    const std::vector<double> &values = GetParam().values[next++];
    ASSERT_EQ(static_cast<int64_t>(values.size()), argument.getSize());
    for (int64_t i = 0; i < argument.getSize(); ++i)
      argument[i].real = values[i];
  }
  std::vector<Tensor> results = function.run(arguments);
  ASSERT_FALSE(results.empty());
  next = 0;
  for (int position : function.positions) {
    if (position < 0)
      continue;
    const std::vector<double> &expected = GetParam().gradients[next++];
    for (int64_t i = 0; i < results[position].getSize(); ++i)
      EXPECT_EQ(results[position][i].real, expected[i]) << i;
  }
  EXPECT_EQ(next, GetParam().gradients.size());
}

GradientCase vectors(const std::string &op) {
  return {"",
          "%y = parplan." + op + " %0, %1 : tensor<3xf64>, tensor<3xf64>",
          {"3xf64", "3xf64"}};
}
GradientCase vector(const std::string &op) {
  return {"", "%y = parplan." + op + " : tensor<4xf64>", {"4xf64"}};
}

INSTANTIATE_TEST_SUITE_P(
    All, GradientsAt,
    testing::Values(
        Point{"max",
              vectors("max"),
              {{1, 2, 3}, {1, 3, 2}, {8, 4, 2}},
              {{4, 0, 2}, {4, 4, 0}}},
        Point{"min",
              vectors("min"),
              {{1, 2, 3}, {1, 3, 2}, {8, 4, 2}},
              {{4, 4, 0}, {4, 0, 2}}},
        Point{"relu",
              vector("relu %0"),
              {{-1, 0, 2, notANumber}, {1, 2, 3, 4}},
              {{0, 0, 3, 4}}},
        Point{"abs",
              vector("abs %0"),
              {{-1, 0, 2, -0.0}, {1, 2, 3, 4}},
              {{-1, 0, 3, 0}}},
        Point{"reduce_max",
              vector("reduce max %0 dims [0]"),
              {{5, 1, 5, 2}, {8}},
              {{4, 0, 4, 0}}},
        Point{"reduce_prod",
              vector("reduce prod %0 dims [0]"),
              {{0, 2, 3, 4}, {1}},
              {{24, 0, 0, 0}}},
        Point{"pow_of_zero",
              vectors("pow"),
              {{0, 0, 2}, {0, 2, 0}, {1, 1, 1}},
              {{0, 0, 0}, {0, 0, 0.6931471805599453}}},
        Point{"max_pool",
              {"",
               "%y = parplan.max_pool %0 window [2] strides [1] pads [0, 0] "
               "dilations [1] : tensor<1x1x4xf64>",
               {"1x1x4xf64"}},
              {{3, 3, 1, 1}, {1, 2, 4}},
              {{1, 2, 4, 0}}}),
    [](const auto &info) { return info.param.name; });

/// The gradient of a conversion is converted back.
TEST(CastGradient, HasTheTypeOfTheOperand) {
  Differentiated function(
      {"", "%y = parplan.cast %0 : tensor<2xf64> to tensor<2xf32>", {"2xf64"}});
  EXPECT_EQ(function.gradients[0].getType(),
            function.fixture.getFunction().getArgumentTypes()[0]);
}

/// Logits of 16 bits: the loss and its gradient are computed in f32.
TEST(CrossEntropyGradient, IsComputedInSinglePrecision) {
  Differentiated function({"",
                           "%y, %z = parplan.cross_entropy %0, %1 : "
                           "tensor<2x3xbf16>, tensor<2xi64>",
                           {"2x3xbf16", "2xi64"}});
  EXPECT_EQ(function.gradients[0].getType(),
            function.fixture.getFunction().getArgumentTypes()[0]);
  for (Operation *op : function.made)
    if (isa<ExpOp>(op)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      EXPECT_TRUE(type.getElementType().isF32());
    }
}

/// The ops without an answer, all of them; with `answered`, those that have
/// one, by name.
const std::set<std::string> withoutGradient = {
    // No operands, no float results, or no function of tensors.
    "parplan.mesh", "parplan.initializer", "parplan.parameter",
    "parplan.constant", "parplan.iota", "parplan.affine_mask",
    "parplan.block_start",
    // After training was derived.
    "parplan.reshard", "parplan.shard_slice", "parplan.pend",
    "parplan.storage_view", "parplan.all_reduce", "parplan.all_gather",
    "parplan.reduce_scatter", "parplan.all_to_all", "parplan.broadcast_from",
    "parplan.reduce_to", "parplan.send_receive", "parplan.clear_padding",
    "parplan.bucket_parameter", "parplan.pack", "parplan.unpack",
    "parplan.panel_matmul", "parplan.ring_attention",
    "parplan.ring_attention_gradient", "parplan.send", "parplan.receive",
    "parplan.transfer",
    // Of the backward itself: there is no second derivative.
    "parplan.embedding_gradient", "parplan.max_pool_gradient",
    "parplan.average_pool_gradient", "parplan.moe_weight_gradient",
    "parplan.attention_gradient", "parplan.optimizer_update"};

/// Ops that answer, though nobody asks: their results are not floats, or no
/// functions of numbers.
const std::set<std::string> withoutFloats = {
    "parplan.not",     "parplan.and",    "parplan.or",     "parplan.xor",
    "parplan.compare", "parplan.is_nan", "parplan.is_inf", "parplan.bitcast"};

TEST(Gradients, ExistForEveryOpOrAreKnownToBeMissing) {
  OpFixture fixture("", {});
  std::set<std::string> tested;
  for (const GradientCase &one : getAllCases()) {
    size_t start = one.op.find("parplan.");
    tested.insert(one.op.substr(start, one.op.find(' ', start) - start));
  }
  for (RegisteredOperationName name :
       fixture.context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (name.getDialectNamespace() != "parplan")
      continue;
    bool answers = name.hasInterface<DifferentiableOpInterface>();
    EXPECT_NE(answers, withoutGradient.count(text) == 1) << text;
    EXPECT_EQ(tested.count(text) == 1,
              answers && withoutFloats.count(text) == 0)
        << text;
  }
}

} // namespace
