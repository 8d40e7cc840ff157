//===- OlderFormsTest.cpp - What older exporters write is raised ----------===//
//
// Part of parplan. Norms and attention in many small ops, as exporters before
// opset 17 write them, compute the same when they are raised.
//
//===----------------------------------------------------------------------===//

#include "RaisedModel.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(OlderForms, LayerNormInNineOps) {
  RaisedModel model(R"(
    parplan.initializer @w0 "scale" : tensor<8xf64> in "" at 0 length 0
    parplan.initializer @w1 "bias" : tensor<8xf64> in "" at 0 length 0
    func.func @main(%x: tensor<2x3x8xf64>) -> tensor<2x3x8xf64> {
      %scale = parplan.parameter @w0 : tensor<8xf64>
      %bias = parplan.parameter @w1 : tensor<8xf64>
      %eighth = parplan.constant dense<0.125> : tensor<f64>
      %two = parplan.constant dense<2.0> : tensor<f64>
      %epsilon = parplan.constant dense<0.01> : tensor<f64>
      %sum = parplan.reduce sum %x dims [2] keep_dims : tensor<2x3x8xf64>
      %mean = parplan.mul %sum, %eighth : tensor<2x3x1xf64>, tensor<f64>
      %c = parplan.sub %x, %mean : tensor<2x3x8xf64>, tensor<2x3x1xf64>
      %square = parplan.pow %c, %two : tensor<2x3x8xf64>, tensor<f64>
      %squares = parplan.reduce sum %square dims [2] keep_dims : tensor<2x3x8xf64>
      %variance = parplan.mul %squares, %eighth : tensor<2x3x1xf64>, tensor<f64>
      %shifted = parplan.add %variance, %epsilon : tensor<2x3x1xf64>, tensor<f64>
      %deviation = parplan.sqrt %shifted : tensor<2x3x1xf64>
      %quotient = parplan.div %c, %deviation : tensor<2x3x8xf64>, tensor<2x3x1xf64>
      %scaled = parplan.mul %quotient, %scale : tensor<2x3x8xf64>, tensor<8xf64>
      %y = parplan.add %scaled, %bias : tensor<2x3x8xf64>, tensor<8xf64>
      return %y : tensor<2x3x8xf64>
    })");
  EXPECT_EQ(model.count<LayerNormOp>(), 1);
  EXPECT_EQ(
      model.count<ReduceOp>() + model.count<MulOp>() + model.count<AddOp>(), 0);
}

TEST(OlderForms, RmsNormByPowers) {
  RaisedModel model(R"(
    parplan.initializer @w0 "scale" : tensor<8xf64> in "" at 0 length 0
    func.func @main(%x: tensor<2x3x8xf64>) -> tensor<2x3x8xf64> {
      %scale = parplan.parameter @w0 : tensor<8xf64>
      %eighth = parplan.constant dense<0.125> : tensor<f64>
      %two = parplan.constant dense<2.0> : tensor<f64>
      %one = parplan.constant dense<1.0> : tensor<f64>
      %epsilon = parplan.constant dense<0.01> : tensor<f64>
      %square = parplan.pow %x, %two : tensor<2x3x8xf64>, tensor<f64>
      %squares = parplan.reduce sum %square dims [2] keep_dims : tensor<2x3x8xf64>
      %mean = parplan.mul %squares, %eighth : tensor<2x3x1xf64>, tensor<f64>
      %shifted = parplan.add %mean, %epsilon : tensor<2x3x1xf64>, tensor<f64>
      %root = parplan.sqrt %shifted : tensor<2x3x1xf64>
      %inverse = parplan.div %one, %root : tensor<f64>, tensor<2x3x1xf64>
      %quotient = parplan.mul %x, %inverse : tensor<2x3x8xf64>, tensor<2x3x1xf64>
      %y = parplan.mul %scale, %quotient : tensor<8xf64>, tensor<2x3x8xf64>
      return %y : tensor<2x3x8xf64>
    })");
  EXPECT_EQ(model.count<RMSNormOp>(), 1);
  EXPECT_EQ(model.count<ReduceOp>() + model.count<MulOp>(), 0);
}

/// Self-attention whose masked scores %m are made of the scaled ones %s.
std::string makeAttention(const std::string &mask) {
  return R"(
    func.func @main(%q: tensor<2x4x6x8xf64>, %k: tensor<2x4x6x8xf64>, %v: tensor<2x4x6x8xf64>, %b: tensor<8x1x6xf64>) -> tensor<2x4x6x8xf64> {
      %causal = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
      %zero = parplan.constant dense<0.0> : tensor<f64>
      %one = parplan.constant dense<1.0> : tensor<f64>
      %large = parplan.constant dense<1.0e+4> : tensor<f64>
      %low = parplan.constant dense<-1.0e+4> : tensor<f64>
      %root = parplan.constant dense<2.8> : tensor<f64>
      %dots = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf64>, tensor<2x4x6x8xf64>
      %s = parplan.div %dots, %root : tensor<2x4x6x6xf64>, tensor<f64>
)" + mask +
         R"(
      %weights = parplan.softmax %m dim 3 : tensor<2x4x6x6xf64>
      %y = parplan.matmul "abcd,abde->abce" %weights, %v : tensor<2x4x6x6xf64>, tensor<2x4x6x8xf64>
      return %y : tensor<2x4x6x8xf64>
    })";
}

TEST(OlderForms, MasksThatMultiplyScores) {
  RaisedModel model(makeAttention(R"(
      %seen = parplan.select %causal, %one, %zero : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %wide = parplan.broadcast %seen : tensor<6x6xf64> to tensor<1x1x6x6xf64>
      %hidden = parplan.select %causal, %zero, %large : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %kept = parplan.mul %s, %wide : tensor<2x4x6x6xf64>, tensor<1x1x6x6xf64>
      %m = parplan.sub %kept, %hidden : tensor<2x4x6x6xf64>, tensor<6x6xf64>)"));
  EXPECT_EQ(model.count<AttentionOp>(), 1);
  EXPECT_EQ(model.count<SelectOp>() + model.count<AffineMaskOp>(), 0);
}

TEST(OlderForms, ProductsWithOtherNumbersAreNoMasks) {
  RaisedModel model(makeAttention(R"(
      %seen = parplan.select %causal, %large, %zero : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %hidden = parplan.select %causal, %zero, %low : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %kept = parplan.mul %s, %seen : tensor<2x4x6x6xf64>, tensor<6x6xf64>
      %m = parplan.add %kept, %hidden : tensor<2x4x6x6xf64>, tensor<6x6xf64>)"));
  EXPECT_EQ(model.count<AttentionOp>(), 0);
}

TEST(OlderForms, MasksOfMinusTenThousand) {
  RaisedModel model(makeAttention(R"(
      %m = parplan.select %causal, %s, %low : tensor<6x6xi1>, tensor<2x4x6x6xf64>, tensor<f64>)"));
  EXPECT_EQ(model.count<AttentionOp>(), 1);
  EXPECT_EQ(model.count<SelectOp>(), 0);
}

/// A row whose only visible key is padded is an average over all keys.
TEST(OlderForms, MinusTenThousandBesidePaddingOfAsMuch) {
  const std::string pad =
      "%pad = parplan.constant dense<[-1.0e+4, -1.0e+4, 0.0, 0.0, 0.0, 0.0]> : "
      "tensor<6xf64>\n";
  RaisedModel replaced(makeAttention(pad + R"(
      %n = parplan.select %causal, %s, %low : tensor<6x6xi1>, tensor<2x4x6x6xf64>, tensor<f64>
      %m = parplan.add %n, %pad : tensor<2x4x6x6xf64>, tensor<6xf64>)"));
  EXPECT_EQ(replaced.count<AttentionOp>(), 0);
  RaisedModel added(makeAttention(pad + R"(
      %hidden = parplan.select %causal, %zero, %low : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %n = parplan.add %s, %hidden : tensor<2x4x6x6xf64>, tensor<6x6xf64>
      %m = parplan.add %n, %pad : tensor<2x4x6x6xf64>, tensor<6xf64>)"));
  EXPECT_EQ(added.count<AttentionOp>(), 1);
}

/// Of the first queries no key is left but those that come later.
TEST(OlderForms, MinusTenThousandBesideExcludedKeys) {
  RaisedModel model(makeAttention(R"(
      %kept = parplan.constant dense<[false, false, true, true, true, true]> : tensor<6xi1>
      %none = parplan.constant dense<0xFFF0000000000000> : tensor<f64>
      %n = parplan.select %kept, %s, %none : tensor<6xi1>, tensor<2x4x6x6xf64>, tensor<f64>
      %m = parplan.select %causal, %n, %low : tensor<6x6xi1>, tensor<2x4x6x6xf64>, tensor<f64>)"));
  EXPECT_EQ(model.count<AttentionOp>(), 0);
}

TEST(OlderForms, BiasesOfFlattenedHeads) {
  RaisedModel model(makeAttention(R"(
      %flat = parplan.reshape %s : tensor<2x4x6x6xf64> to tensor<8x6x6xf64>
      %biased = parplan.add %flat, %b : tensor<8x6x6xf64>, tensor<8x1x6xf64>
      %m = parplan.reshape %biased : tensor<8x6x6xf64> to tensor<2x4x6x6xf64>)"));
  EXPECT_EQ(model.count<AttentionOp>(), 1);
  EXPECT_EQ(model.count<AddOp>(), 0);
}

TEST(OlderForms, KeysAndValuesOfAllHeads) {
  RaisedModel model(R"(
    func.func @main(%q: tensor<2x4x6x8xf64>, %k: tensor<2x6x8xf64>, %v: tensor<2x6x3xf64>) -> tensor<2x4x6x3xf64> {
      %scores = parplan.matmul "abcd,aed->abce" %q, %k : tensor<2x4x6x8xf64>, tensor<2x6x8xf64>
      %weights = parplan.softmax %scores dim 3 : tensor<2x4x6x6xf64>
      %y = parplan.matmul "abcd,ade->abce" %weights, %v : tensor<2x4x6x6xf64>, tensor<2x6x3xf64>
      return %y : tensor<2x4x6x3xf64>
    })");
  EXPECT_EQ(model.count<AttentionOp>(), 1);
}

/// One weight for queries, keys and values, stored as outputs by inputs.
TEST(OlderForms, MergedAndTransposedWeights) {
  RaisedModel model(R"(
    parplan.initializer @w0 "qkv" : tensor<24x8xf64> in "" at 0 length 0
    func.func @main(%x: tensor<2x6x8xf64>) -> tensor<2x6x2x4xf64> {
      %w = parplan.parameter @w0 : tensor<24x8xf64>
      %t = parplan.transpose %w [1, 0] : tensor<24x8xf64>
      %rows = parplan.reshape %x : tensor<2x6x8xf64> to tensor<12x8xf64>
      %flat = parplan.matmul "ab,bc->ac" %rows, %t : tensor<12x8xf64>, tensor<8x24xf64>
      %all = parplan.reshape %flat : tensor<12x24xf64> to tensor<2x6x24xf64>
      %q = parplan.slice %all dims [2] from [0] to [8] step [1] : tensor<2x6x24xf64>
      %k = parplan.slice %all dims [2] from [8] to [16] step [1] : tensor<2x6x24xf64>
      %v = parplan.slice %all dims [2] from [16] to [24] step [1] : tensor<2x6x24xf64>
      %q4 = parplan.reshape %q : tensor<2x6x8xf64> to tensor<2x6x2x4xf64>
      %k4 = parplan.reshape %k : tensor<2x6x8xf64> to tensor<2x6x2x4xf64>
      %v4 = parplan.reshape %v : tensor<2x6x8xf64> to tensor<2x6x2x4xf64>
      %scores = parplan.matmul "bshk,bnhk->bhsn" %q4, %k4 : tensor<2x6x2x4xf64>, tensor<2x6x2x4xf64>
      %weights = parplan.softmax %scores dim 3 : tensor<2x2x6x6xf64>
      %y = parplan.matmul "bhsk,bkhn->bshn" %weights, %v4 : tensor<2x2x6x6xf64>, tensor<2x6x2x4xf64>
      return %y : tensor<2x6x2x4xf64>
    })");
  EXPECT_EQ(model.count<AttentionOp>(), 1);
  EXPECT_EQ(model.count<MatmulOp>(), 3);
  EXPECT_EQ(model.count<SliceOp>() + model.count<TransposeOp>(), 0);
}

/// An attention of one op, whose mask chooses between 0 and a finite number:
/// keys up to the query's, and of those the last three.
TEST(OlderForms, FiniteMasksOfOneAttention) {
  for (const char *visible :
       {"parplan.and %past, %past", "parplan.and %near, %past"}) {
    RaisedModel model(std::string(R"(
    func.func @main(%x: tensor<2x6x2x4xf64>) -> tensor<2x6x2x4xf64> {
      %zero = parplan.constant dense<0.0> : tensor<f64>
      %low = parplan.constant dense<-1.0e+30> : tensor<f64>
      %past = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
      %near = parplan.affine_mask [1, -1] + -2 : tensor<6x6xi1>
      %visible = )") + visible +
                      R"( : tensor<6x6xi1>, tensor<6x6xi1>
      %mask = parplan.select %visible, %zero, %low : tensor<6x6xi1>, tensor<f64>, tensor<f64>
      %y = parplan.attention %x, %x, %x mask %mask : tensor<6x6xf64> scale 0.5 : tensor<2x6x2x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x4xf64>
      return %y : tensor<2x6x2x4xf64>
    })");
    EXPECT_TRUE(model.contains<AttentionOp>(
        [](AttentionOp op) { return op.getCausal(); }));
    EXPECT_EQ(model.count<SelectOp>(), 0);
  }
}

} // namespace
