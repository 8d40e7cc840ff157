//===- ReverseModeTest.cpp - Gradients of lists of ops --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ReverseMode.h"
#include "test/Unit/Dialects/OpFixture.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

/// Differentiates the last op of a function, whose result is 4xf32.
class Graph : public OpFixture {
public:
  using OpFixture::OpFixture;

  Gradients differentiateLast(ArrayRef<unsigned> wanted,
                              ReverseMode mode = {}) {
    Block &body = getFunction().getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    SmallVector<Value> values;
    for (unsigned index : wanted)
      values.push_back(body.getArgument(index));
    Value last = getOp()->getResult(0);
    OpBuilder builder(body.getTerminator());
    Value seed = body.addArgument(last.getType(), builder.getUnknownLoc());
    if (!mode.onBackward)
      mode.onBackward = [&](Operation *forward, ArrayRef<Operation *> made) {
        visited.push_back(forward->getName().stripDialect().str());
        for (Operation *op : made)
          EXPECT_TRUE(op->hasAttr(attributes::role));
      };
    return differentiate(builder, ops, {{last, seed}}, values, mode);
  }

  Value getArgument(unsigned index) {
    return getFunction().getBody().front().getArgument(index);
  }

  std::vector<std::string> visited;
};

StringRef getRole(Operation *op) {
  return op->getAttrOfType<StringAttr>(attributes::role).getValue();
}

TEST(ReverseMode, AddsUpTheGradientsOfAllUses) {
  Graph graph("%a = parplan.exp %0 : tensor<4xf32>\n"
              "%b = parplan.mul %a, %0 : tensor<4xf32>, tensor<4xf32>\n"
              "%c = parplan.add %b, %a : tensor<4xf32>, tensor<4xf32>",
              {"4xf32"});
  std::vector<Operation *> sums;
  std::vector<Value> summed;
  ReverseMode mode;
  mode.onSum = [&](Value value, Operation *sum) {
    summed.push_back(value);
    sums.push_back(sum);
  };
  Gradients gradients = graph.differentiateLast({0}, mode);
  EXPECT_TRUE(gradients.missing.empty());
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_TRUE(isa<ExpOp>(summed[0].getDefiningOp()));
  EXPECT_EQ(summed[1], graph.getArgument(0));
  for (Operation *sum : sums) {
    EXPECT_TRUE(isa<SumOp>(sum));
    EXPECT_EQ(sum->getNumOperands(), 2u);
    EXPECT_EQ(getRole(sum), roles::gradientSum);
  }
  EXPECT_EQ(gradients.of.lookup(graph.getArgument(0)), sums[1]->getResult(0));
}

TEST(ReverseMode, SkipsWhatNoWantedValueReaches) {
  Graph graph("%a = parplan.exp %0 : tensor<4xf32>\n"
              "%b = parplan.sin %1 : tensor<4xf32>\n"
              "%c = parplan.mul %a, %b : tensor<4xf32>, tensor<4xf32>",
              {"4xf32", "4xf32"});
  Gradients gradients = graph.differentiateLast({1});
  EXPECT_EQ(graph.visited, (std::vector<std::string>{"mul", "sin"}));
  EXPECT_EQ(gradients.of.size(), 1u);
  EXPECT_TRUE(gradients.of.lookup(graph.getArgument(1)));
}

TEST(ReverseMode, HasNoGradientBehindAStep) {
  Graph graph("%a = parplan.floor %0 : tensor<4xf32>\n"
              "%b = parplan.exp %a : tensor<4xf32>",
              {"4xf32"});
  Gradients gradients = graph.differentiateLast({0});
  EXPECT_TRUE(gradients.of.empty());
  EXPECT_TRUE(gradients.missing.empty());
}

TEST(ReverseMode, HasNoGradientThroughIntegers) {
  Graph graph("%a = parplan.cast %0 : tensor<4xf32> to tensor<4xi64>\n"
              "%b = parplan.cast %a : tensor<4xi64> to tensor<4xf32>\n"
              "%c = parplan.exp %b : tensor<4xf32>",
              {"4xf32"});
  Gradients gradients = graph.differentiateLast({0});
  EXPECT_TRUE(gradients.of.empty());
  EXPECT_TRUE(gradients.missing.empty());
}

const char *const withoutAnswer =
    "%a = parplan.embedding_gradient %1, %0 : tensor<3xi64>, tensor<3x2xf32> "
    "to tensor<4x2xf32>\n"
    "%b = parplan.add %a, %2 : tensor<4x2xf32>, tensor<4x2xf32>";

TEST(ReverseMode, ReportsOpsWithoutAnAnswer) {
  Graph graph(withoutAnswer, {"3x2xf32", "3xi64", "4x2xf32"});
  Gradients gradients = graph.differentiateLast({0});
  ASSERT_EQ(gradients.missing.size(), 1u);
  EXPECT_TRUE(isa<EmbeddingGradientOp>(gradients.missing[0]));
}

TEST(ReverseMode, ReportsThemOnlyWhereAWantedValueNeedsThem) {
  Graph graph(withoutAnswer, {"3x2xf32", "3xi64", "4x2xf32"});
  Gradients gradients = graph.differentiateLast({2});
  EXPECT_TRUE(gradients.missing.empty());
  EXPECT_EQ(gradients.of.size(), 1u);
}

/// A product of an input and a weight that is transposed on its way.
TEST(ReverseMode, TellsWeightsFromInputs) {
  Graph graph("%t = parplan.transpose %1 [1, 0] : tensor<5x4xf32>\n"
              "%a = parplan.matmul \"sk,kn->sn\" %0, %t : tensor<3x4xf32>, "
              "tensor<4x5xf32>\n"
              "%b = parplan.tanh %a : tensor<3x5xf32>",
              {"3x4xf32", "5x4xf32"});
  Value weight = graph.getArgument(1);
  std::vector<std::string> roles;
  ReverseMode mode;
  mode.isWeight = [&](Value value) { return value == weight; };
  mode.onBackward = [&](Operation *forward, ArrayRef<Operation *> made) {
    for (Operation *op : made)
      roles.push_back((forward->getName().stripDialect() + ":" +
                       op->getName().stripDialect() + ":" + getRole(op))
                          .str());
  };
  graph.differentiateLast({0, 1}, mode);
  EXPECT_EQ(roles,
            (std::vector<std::string>{
                "tanh:mul:input_gradient", "tanh:mul:input_gradient",
                "tanh:sub:input_gradient", "matmul:matmul:input_gradient",
                "matmul:matmul:weight_gradient",
                "transpose:transpose:weight_gradient"}));
}

/// What the gradients of the input and of the scale share is work of the input.
TEST(ReverseMode, CountsSharedWorkAsTheInputs) {
  Graph graph("%a = parplan.layer_norm %0 scale %1 : tensor<4xf32> bias %2 : "
              "tensor<4xf32> dim 1 epsilon 1.0e-5 : tensor<3x4xf32>",
              {"3x4xf32", "4xf32", "4xf32"});
  Value input = graph.getArgument(0);
  unsigned weightOps = 0, inputOps = 0;
  ReverseMode mode;
  mode.isWeight = [&](Value value) { return value != input; };
  mode.onBackward = [&](Operation *, ArrayRef<Operation *> made) {
    for (Operation *op : made)
      ++(getRole(op) == roles::weightGradient ? weightOps : inputOps);
  };
  graph.differentiateLast({0, 1, 2}, mode);
  // The sums of the bias and the scale, and the product before the latter.
  EXPECT_EQ(weightOps, 3u);
  EXPECT_GT(inputOps, 10u);
}

} // namespace
