//===- SinksTest.cpp - Attention whose sinks are written out --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RaisedModel.h"

#include "passes/Simplify/Passes.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Three heads over one key head; `mask` and what else stands before the sink.
std::string makeModule(const std::string &mask, const std::string &attributes) {
  return R"(
    func.func @main(%q: tensor<2x5x3x4xf64>, %k: tensor<2x5x1x4xf64>, %s: tensor<3xf64>, %x: tensor<5x5xf64>) -> (tensor<2x5x3x4xf64>, tensor<2x3x5xf64>) {
      %none = parplan.affine_mask [0, 0] + 1 : tensor<5x5xi1>
      %y, %l = parplan.attention %q, %k, %k )" +
         mask + " sink %s : tensor<3xf64> scale 0.5 " + attributes +
         R"( statistics : tensor<2x5x3x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>
      return %y, %l : tensor<2x5x3x4xf64>, tensor<2x3x5xf64>
    })";
}

void writeOut(mlir::OpPassManager &manager) {
  manager.addPass(createWriteOutSinks());
}

TEST(WrittenOutSinks, ComputeTheSame) {
  for (const std::string &text :
       {makeModule("", ""), makeModule("", "causal"),
        makeModule("mask %x : tensor<5x5xf64>", "")}) {
    RaisedModel model(text, writeOut);
    EXPECT_FALSE(model.contains<AttentionOp>(
        [](AttentionOp op) { return bool(op.getSink()); }));
  }
}

/// Only the sink is left to a query that sees no key.
TEST(WrittenOutSinks, ComputeTheSameWithoutKeys) {
  RaisedModel model(makeModule("mask %none : tensor<5x5xi1>", ""), writeOut);
  EXPECT_EQ(model.count<AttentionOp>(), 1);
}

} // namespace
