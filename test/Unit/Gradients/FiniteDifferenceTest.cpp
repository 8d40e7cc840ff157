//===- FiniteDifferenceTest.cpp - Gradients against differences -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Differentiated.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

class GradientsOf : public testing::TestWithParam<GradientCase> {};

/// The sum of all results times their cotangents.
double project(const Differentiated &function, ArrayRef<Tensor> arguments,
               ArrayRef<Tensor> results) {
  double total = 0;
  for (auto [result, argument] : function.cotangents)
    for (int64_t i = 0; i < results[result].getSize(); ++i)
      total += results[result][i].real * arguments[argument][i].real;
  return total;
}

TEST_P(GradientsOf, EqualCentralDifferences) {
  Differentiated function(GetParam());
  std::vector<Tensor> arguments = function.makeArguments(7);
  std::vector<Tensor> results = function.run(arguments);
  ASSERT_FALSE(results.empty());
  constexpr double step = 1e-5;
  for (size_t index = 0; index < function.gradients.size(); ++index) {
    if (!arguments[index].isReal())
      continue;
    int position = function.positions[index];
    for (int64_t i = 0; i < arguments[index].getSize(); ++i) {
      double kept = arguments[index][i].real;
      double projections[2];
      for (int side : {0, 1}) {
        arguments[index][i].real = side ? kept + step : kept - step;
        projections[side] =
            project(function, arguments, function.run(arguments));
      }
      arguments[index][i].real = kept;
      double expected = (projections[1] - projections[0]) / (2 * step);
      double actual = position < 0 ? 0 : results[position][i].real;
      EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << "argument " << index << " element " << i;
    }
  }
}

/// Every op that is built for one operand alone leads to its gradient, and that
/// gradient is the one that all operands together give.
TEST_P(GradientsOf, BuildOnlyWhatIsWanted) {
  Differentiated all(GetParam());
  std::vector<Tensor> arguments = all.makeArguments(11);
  std::vector<Tensor> together = all.run(arguments);
  ASSERT_FALSE(together.empty());
  for (Operation *op : all.made)
    EXPECT_FALSE(op->use_empty()) << op->getName().getStringRef().str();
  for (size_t index = 0; index < all.gradients.size(); ++index) {
    if (!arguments[index].isReal())
      continue;
    Differentiated::Options options;
    options.only = static_cast<int>(index);
    Differentiated one(GetParam(), options);
    for (Operation *op : one.made)
      EXPECT_FALSE(op->use_empty()) << op->getName().getStringRef().str();
    EXPECT_LE(one.made.size(), all.made.size());
    std::vector<Tensor> alone = one.run(arguments);
    ASSERT_FALSE(alone.empty());
    ASSERT_EQ(one.positions[index] < 0, all.positions[index] < 0);
    if (one.positions[index] < 0)
      continue;
    const Tensor &left = alone[one.positions[index]];
    const Tensor &right = together[all.positions[index]];
    for (int64_t i = 0; i < left.getSize(); ++i)
      EXPECT_NEAR(left[i].real, right[i].real, 1e-12);
  }
}

/// Every op that is built says which gradient it belongs to.
TEST_P(GradientsOf, CarryARole) {
  Differentiated::Options options;
  options.mode.isWeight = [](Value) { return true; };
  for (bool isWeight : {false, true}) {
    Differentiated function(GetParam(),
                            isWeight ? options : Differentiated::Options());
    for (Operation *op : function.made) {
      auto role = op->getAttrOfType<StringAttr>(attributes::role);
      ASSERT_TRUE(role) << op->getName().getStringRef().str();
      if (role.getValue() == roles::gradientSum)
        continue;
      EXPECT_EQ(role.getValue(),
                isWeight ? roles::weightGradient : roles::inputGradient);
    }
  }
}

/// Composites but attention with rows in which every key is excluded: its parts
/// divide zero by zero.
std::vector<GradientCase> getComposites() {
  std::vector<GradientCase> composites;
  for (const GradientCase &one : getAllCases()) {
    OpFixture fixture(one.op, one.arguments);
    if (isa<DecomposableOpInterface>(fixture.getOp()) &&
        !fixture.getOp()->hasAttr("zero_masked_rows"))
      composites.push_back(one);
  }
  return composites;
}

class GradientsOfComposites : public testing::TestWithParam<GradientCase> {};

TEST_P(GradientsOfComposites, EqualThoseOfTheParts) {
  Differentiated whole(GetParam());
  Differentiated::Options options;
  options.decompose = true;
  Differentiated parts(GetParam(), options);
  std::vector<Tensor> arguments = whole.makeArguments(13);
  std::vector<Tensor> left = whole.run(arguments), right = parts.run(arguments);
  ASSERT_FALSE(left.empty());
  ASSERT_FALSE(right.empty());
  for (size_t index = 0; index < whole.gradients.size(); ++index) {
    int position = whole.positions[index], other = parts.positions[index];
    ASSERT_EQ(position < 0, other < 0) << index;
    for (int64_t i = 0; position >= 0 && i < left[position].getSize(); ++i)
      EXPECT_NEAR(left[position][i].real, right[other][i].real, 1e-9)
          << "argument " << index << " element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GradientsOf, testing::ValuesIn(getAllCases()),
                         [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(All, GradientsOfComposites,
                         testing::ValuesIn(getComposites()),
                         [](const auto &info) { return info.param.name; });

} // namespace
