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

const std::string oneRanking =
    "%v, %i = parplan.topk %flat k {k} dim 1 largest true : tensor<6x4xf64>";
/// The best expert twice, which the third choice may be, too.
const std::string rankingsOfTheSame = R"(
      %v0, %i0 = parplan.topk %flat k 1 dim 1 largest true : tensor<6x4xf64>
      %v1, %i1 = parplan.topk %other k 1 dim 1 largest true : tensor<6x4xf64>
      %v = parplan.concat %v0, %v0, %v1 dim 1 : tensor<6x1xf64>, tensor<6x1xf64>, tensor<6x1xf64>
      %i = parplan.concat %i0, %i0, %i1 dim 1 : tensor<6x1xi64>, tensor<6x1xi64>, tensor<6x1xi64>
)";

/// The tokens of two sequences, their scores, and what is done with the choices
/// %i [6, k] and their values %v.
std::string makeModule(int choices, const std::string &body,
                       const std::string &ranking = oneRanking) {
  auto fill = [&](std::string text) {
    for (auto [from, to] :
         {std::pair<std::string, std::string>("{ranking}", ranking),
          {"{k}", std::to_string(choices)},
          {"{n}", std::to_string(6 * choices)}})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, from.size(), to);
    return text;
  };
  return fill(R"(
    parplan.initializer @w0 "w0" : tensor<4x8x6xf64> in "" at 0 length 0
    parplan.initializer @w1 "w1" : tensor<4x3x8xf64> in "" at 0 length 0
    parplan.initializer @w2 "w2" : tensor<4x6xf64> in "" at 0 length 0
    func.func @main(%x: tensor<2x3x8xf64>, %scores: tensor<2x3x4xf64>, %other: tensor<6x4xf64>) -> tensor<6x8xf64> {
      %up = parplan.parameter @w0 : tensor<4x8x6xf64>
      %down = parplan.parameter @w1 : tensor<4x3x8xf64>
      %bias = parplan.parameter @w2 : tensor<4x6xf64>
      %flat = parplan.reshape %scores : tensor<2x3x4xf64> to tensor<6x4xf64>
      {ranking}
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

const std::string withoutWeights = R"(
      %y = parplan.matmul "bk,bkn->bn" %p, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
)" + end;
const std::string withWeightsBehind = R"(
      %q = parplan.matmul "bk,bkn->bn" %p, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
      %y = parplan.mul %q, %w : tensor<{n}x8xf64>, tensor<{n}x1xf64>
)" + end;
const std::string withWeightsInside = R"(
      %m = parplan.mul %p, %w : tensor<{n}x3xf64>, tensor<{n}x1xf64>
      %y = parplan.matmul "bk,bkn->bn" %m, %d : tensor<{n}x3xf64>, tensor<{n}x3x8xf64>
)" + end;

void checkRaised(const std::string &text) {
  RaisedModel model(text);
  EXPECT_EQ(model.count<MoeCombineOp>(), 1);
  EXPECT_EQ(model.count<GatherOp>(), 0);
}

TEST(RaisedExperts, ComputeTheSameWithWeightsBehindThem) {
  for (int choices : {1, 2, 3})
    checkRaised(makeModule(choices, withWeightsBehind));
}

TEST(RaisedExperts, ComputeTheSameWithWeightsInside) {
  for (int choices : {1, 2, 3})
    checkRaised(makeModule(choices, withWeightsInside));
}

TEST(RaisedExperts, ComputeTheSameWithoutWeights) {
  for (int choices : {1, 2, 4})
    checkRaised(makeModule(choices, withoutWeights));
}

TEST(RaisedExperts, ComputeTheSameWhereChoicesRepeat) {
  checkRaised(makeModule(3, withWeightsBehind, rankingsOfTheSame));
  checkRaised(makeModule(3, withoutWeights, rankingsOfTheSame));
}

/// What an expert computes of two multiples of a token is nothing that it
/// computes of their sum.
TEST(RaisedExperts, StayPicksWhereChoicesOfWeightsInsideRepeat) {
  RaisedModel model(makeModule(3, withWeightsInside, rankingsOfTheSame));
  EXPECT_EQ(model.count<MoeCombineOp>(), 0);
  EXPECT_GT(model.count<GatherOp>(), 0);
}

} // namespace
