//===- ExpertsTest.cpp - Raised experts compute the same ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RaisedModel.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The tokens of two sequences, their scores, and what is done with the choices
/// %i [6, k] and their values %v.
std::string makeModule(int choices, const std::string &body) {
  std::string k = std::to_string(choices), n = std::to_string(6 * choices);
  auto fill = [&](std::string text) {
    for (auto [from, to] : {std::pair("{k}", k), std::pair("{n}", n)})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, 3, to);
    return text;
  };
  return fill(R"(
    parplan.initializer @w0 "w0" : tensor<4x8x6xf64> in "" at 0 length 0
    parplan.initializer @w1 "w1" : tensor<4x3x8xf64> in "" at 0 length 0
    parplan.initializer @w2 "w2" : tensor<4x6xf64> in "" at 0 length 0
    func.func @main(%x: tensor<2x3x8xf64>, %scores: tensor<2x3x4xf64>) -> tensor<6x8xf64> {
      %up = parplan.parameter @w0 : tensor<4x8x6xf64>
      %down = parplan.parameter @w1 : tensor<4x3x8xf64>
      %bias = parplan.parameter @w2 : tensor<4x6xf64>
      %flat = parplan.reshape %scores : tensor<2x3x4xf64> to tensor<6x4xf64>
      %v, %i = parplan.topk %flat k {k} dim 1 largest true : tensor<6x4xf64>
      %c = parplan.reshape %i : tensor<6x{k}xi64> to tensor<{n}xi64>
      %t = parplan.reshape %x : tensor<2x3x8xf64> to tensor<6x1x8xf64>
      %r = parplan.broadcast %t : tensor<6x1x8xf64> to tensor<6x{k}x8xf64>
      %a = parplan.reshape %r : tensor<6x{k}x8xf64> to tensor<{n}x8xf64>
      %u = parplan.gather %up, %c dim 0 : tensor<4x8x6xf64>, tensor<{n}xi64>
      %h = parplan.matmul "bk,bkn->bn" %a, %u : tensor<{n}x8xf64>, tensor<{n}x8x6xf64>
      %b = parplan.gather %bias, %c dim 0 : tensor<4x6xf64>, tensor<{n}xi64>
      %hb = parplan.add %h, %b : tensor<{n}x6xf64>, tensor<{n}x6xf64>
      %g = parplan.slice %hb dims [1] from [0] to [3] step [1] : tensor<{n}x6xf64>
      %l = parplan.slice %hb dims [1] from [3] to [6] step [1] : tensor<{n}x6xf64>
      %s = parplan.silu %g : tensor<{n}x3xf64>
      %p = parplan.mul %s, %l : tensor<{n}x3xf64>, tensor<{n}x3xf64>
      %d = parplan.gather %down, %c dim 0 : tensor<4x3x8xf64>, tensor<{n}xi64>
      %w = parplan.reshape %v : tensor<6x{k}xf64> to tensor<{n}x1xf64>
)") + fill(body) +
         "}";
}

const std::string end = R"(
      %z = parplan.reshape %y : tensor<{n}x8xf64> to tensor<6x{k}x8xf64>
      %o = parplan.reduce sum %z dims [1] : tensor<6x{k}x8xf64>
      return %o : tensor<6x8xf64>
)";

void checkRaised(const std::string &text) {
  RaisedModel model(text);
  EXPECT_EQ(model.count<MoeCombineOp>(), 1);
  EXPECT_EQ(model.count<GatherOp>(), 0);
}

TEST(RaisedExperts, ComputeTheSameWithWeightsBehindThem) {
  for (int choices : {1, 2, 3})
    checkRaised(makeModule(choices, R"(
      %q = parplan.matmul "bk,bkn->bn" %p, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
      %y = parplan.mul %q, %w : tensor<{n}x8xf64>, tensor<{n}x1xf64>
)" + end));
}

TEST(RaisedExperts, ComputeTheSameWithWeightsInside) {
  for (int choices : {1, 2, 3})
    checkRaised(makeModule(choices, R"(
      %m = parplan.mul %p, %w : tensor<{n}x3xf64>, tensor<{n}x1xf64>
      %y = parplan.matmul "bk,bkn->bn" %m, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
)" + end));
}

TEST(RaisedExperts, ComputeTheSameWithoutWeights) {
  for (int choices : {1, 2, 4})
    checkRaised(makeModule(choices, R"(
      %y = parplan.matmul "bk,bkn->bn" %p, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
)" + end));
}

} // namespace
