//===- ExpertLoopsTest.cpp - Raised loops over experts compute the same ---===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RaisedModel.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr int experts = 3;

/// Tokens %x [2, 3, 8] of which %v, %i [6, 2] are the choices and their
/// weights; `before` the loop, and `body` for every expert {e}, which gives its
/// part %y{e} [6, 8]. %f{e} is the answer of the expert to %t, or to other
/// rows.
std::string makeModule(const std::string &before, const std::string &body,
                       const std::string &input = "%t", int rows = 6) {
  std::string text, loop, sum = "%rest";
  for (int expert = 0; expert < experts; ++expert) {
    std::string e = std::to_string(expert);
    text += replaceAll(R"(
    parplan.initializer @up{e} "up{e}" : tensor<8x5xf64> in "" at 0 length 0
    parplan.initializer @bias{e} "bias{e}" : tensor<5xf64> in "" at 0 length 0
    parplan.initializer @down{e} "down{e}" : tensor<8x5xf64> in "" at 0 length 0
)",
                       "{e}", e);
    loop += replaceAll(R"(
      %up{e} = parplan.parameter @up{e} : tensor<8x5xf64>
      %h{e} = parplan.matmul "mk,kn->mn" {input}, %up{e} : tensor<{rows}x8xf64>, tensor<8x5xf64>
      %bias{e} = parplan.parameter @bias{e} : tensor<5xf64>
      %b{e} = parplan.add %bias{e}, %h{e} : tensor<5xf64>, tensor<{rows}x5xf64>
      %a{e} = parplan.gelu %b{e} : tensor<{rows}x5xf64>
      %d{e} = parplan.parameter @down{e} : tensor<8x5xf64>
      %f{e} = parplan.matmul "mk,nk->mn" %a{e}, %d{e} : tensor<{rows}x5xf64>, tensor<8x5xf64>
      %n{e} = parplan.constant dense<{e}> : tensor<i64>
)" + body +
                           "      %s{e} = parplan.add {sum}, %y{e} : "
                           "tensor<6x8xf64>, tensor<6x8xf64>\n",
                       "{e}", e);
    loop = replaceAll(loop, "{sum}", sum);
    loop = replaceAll(loop, "{input}", input);
    loop = replaceAll(loop, "{rows}", std::to_string(rows));
    loop = replaceAll(loop, "{next}", std::to_string(expert + 1));
    sum = "%s" + e;
  }
  return text + R"(
    func.func @main(%x: tensor<2x3x8xf64>, %rest: tensor<6x8xf64>, %scores: tensor<2x3x4xf64>) -> tensor<6x8xf64> {
      %values, %indices = parplan.topk %scores k 2 dim 2 largest true : tensor<2x3x4xf64>
      %t = parplan.reshape %x : tensor<2x3x8xf64> to tensor<6x8xf64>
      %v = parplan.reshape %values : tensor<2x3x2xf64> to tensor<6x2xf64>
      %i = parplan.reshape %indices : tensor<2x3x2xi64> to tensor<6x2xi64>
      %all = parplan.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
      %zero = parplan.constant dense<0.0> : tensor<f64>
)" + before +
         loop + "      return " + sum + " : tensor<6x8xf64>\n    }";
}

void checkRaised(const std::string &text) {
  RaisedModel model(text);
  EXPECT_EQ(model.count<MoeCombineOp>(), 1);
  EXPECT_EQ(model.countStacks(), 3);
}

TEST(RaisedExpertLoops, ComputeTheSameWithMasks) {
  checkRaised(makeModule("", R"(
      %m{e} = parplan.compare eq %i, %n{e} : tensor<6x2xi64>, tensor<i64>
      %c{e} = parplan.cast %m{e} : tensor<6x2xi1> to tensor<6x2xf64>
      %p{e} = parplan.mul %c{e}, %v : tensor<6x2xf64>, tensor<6x2xf64>
      %g{e} = parplan.reduce sum %p{e} dims [1] keep_dims : tensor<6x2xf64>
      %y{e} = parplan.mul %f{e}, %g{e} : tensor<6x8xf64>, tensor<6x1xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithChoicesOfWeights) {
  checkRaised(makeModule(R"(
      %q = parplan.slice %rest dims [1] from [3] to [4] step [1] : tensor<6x8xf64>
)",
                         R"(
      %m{e} = parplan.compare eq %n{e}, %i : tensor<i64>, tensor<6x2xi64>
      %p{e} = parplan.select %m{e}, %v, %zero : tensor<6x2xi1>, tensor<6x2xf64>, tensor<f64>
      %g{e} = parplan.reduce sum %p{e} dims [1] keep_dims : tensor<6x2xf64>
      %z{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
      %y{e} = parplan.mul %q, %z{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithColumnsOfOneHotSums) {
  checkRaised(makeModule(R"(
      %i1 = parplan.reshape %i : tensor<6x2xi64> to tensor<6x2x1xi64>
      %v1 = parplan.reshape %v : tensor<6x2xf64> to tensor<6x2x1xf64>
      %m = parplan.compare eq %i1, %all : tensor<6x2x1xi64>, tensor<4xi64>
      %c = parplan.cast %m : tensor<6x2x4xi1> to tensor<6x2x4xf64>
      %p = parplan.mul %c, %v1 : tensor<6x2x4xf64>, tensor<6x2x1xf64>
      %g = parplan.reduce sum %p dims [1] : tensor<6x2x4xf64>
)",
                         R"(
      %g{e} = parplan.slice %g dims [1] from [{e}] to [{next}] step [1] : tensor<6x4xf64>
      %y{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithTransposedMasks) {
  checkRaised(makeModule(R"(
      %i1 = parplan.reshape %i : tensor<6x2xi64> to tensor<6x2x1xi64>
      %w = parplan.transpose %v [1, 0] : tensor<6x2xf64>
      %m = parplan.compare eq %i1, %all : tensor<6x2x1xi64>, tensor<4xi64>
      %c = parplan.cast %m : tensor<6x2x4xi1> to tensor<6x2x4xi64>
      %o = parplan.transpose %c [2, 1, 0] : tensor<6x2x4xi64>
)",
                         R"(
      %k{e} = parplan.slice %o dims [0] from [{e}] to [{next}] step [1] : tensor<4x2x6xi64>
      %l{e} = parplan.reshape %k{e} : tensor<1x2x6xi64> to tensor<2x6xi64>
      %c{e} = parplan.cast %l{e} : tensor<2x6xi64> to tensor<2x6xf64>
      %p{e} = parplan.mul %c{e}, %w : tensor<2x6xf64>, tensor<2x6xf64>
      %r{e} = parplan.reduce sum %p{e} dims [0] : tensor<2x6xf64>
      %g{e} = parplan.reshape %r{e} : tensor<6xf64> to tensor<6x1xf64>
      %y{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithATermPerChoice) {
  checkRaised(makeModule(R"(
      %i0 = parplan.slice %i dims [1] from [0] to [1] step [1] : tensor<6x2xi64>
      %i1 = parplan.slice %i dims [1] from [1] to [2] step [1] : tensor<6x2xi64>
      %v0 = parplan.slice %v dims [1] from [0] to [1] step [1] : tensor<6x2xf64>
      %v1 = parplan.slice %v dims [1] from [1] to [2] step [1] : tensor<6x2xf64>
)",
                         R"(
      %m{e} = parplan.compare eq %i0, %n{e} : tensor<6x1xi64>, tensor<i64>
      %z{e} = parplan.mul %v0, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
      %c{e} = parplan.select %m{e}, %z{e}, %zero : tensor<6x1xi1>, tensor<6x8xf64>, tensor<f64>
      %mm{e} = parplan.compare eq %i1, %n{e} : tensor<6x1xi64>, tensor<i64>
      %zz{e} = parplan.mul %v1, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
      %cc{e} = parplan.select %mm{e}, %zz{e}, %zero : tensor<6x1xi1>, tensor<6x8xf64>, tensor<f64>
      %y{e} = parplan.add %c{e}, %cc{e} : tensor<6x8xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithARowPerChoice) {
  checkRaised(makeModule(R"(
      %t1 = parplan.reshape %t : tensor<6x8xf64> to tensor<1x6x8xf64>
      %t2 = parplan.broadcast %t1 : tensor<1x6x8xf64> to tensor<2x6x8xf64>
      %r = parplan.reshape %t2 : tensor<2x6x8xf64> to tensor<12x8xf64>
      %i1 = parplan.reshape %i : tensor<6x2xi64> to tensor<6x2x1xi64>
      %m = parplan.compare eq %i1, %all : tensor<6x2x1xi64>, tensor<4xi64>
      %c = parplan.cast %m : tensor<6x2x4xi1> to tensor<6x2x4xi64>
      %o = parplan.transpose %c [2, 1, 0] : tensor<6x2x4xi64>
      %vt = parplan.transpose %v [1, 0] : tensor<6x2xf64>
      %w = parplan.reshape %vt : tensor<2x6xf64> to tensor<12x1xf64>
)",
                         R"(
      %k{e} = parplan.slice %o dims [0] from [{e}] to [{next}] step [1] : tensor<4x2x6xi64>
      %b1{e} = parplan.cast %k{e} : tensor<1x2x6xi64> to tensor<1x2x6xi1>
      %b2{e} = parplan.reshape %b1{e} : tensor<1x2x6xi1> to tensor<12x1xi1>
      %p{e} = parplan.mul %f{e}, %w : tensor<12x8xf64>, tensor<12x1xf64>
      %s1{e} = parplan.select %b2{e}, %p{e}, %zero : tensor<12x1xi1>, tensor<12x8xf64>, tensor<f64>
      %s2{e} = parplan.reshape %s1{e} : tensor<12x8xf64> to tensor<2x6x8xf64>
      %y{e} = parplan.reduce sum %s2{e} dims [0] : tensor<2x6x8xf64>
)",
                         "%r", 12));
}

TEST(RaisedExpertLoops, ComputeTheSameWithHalvesOfProducts) {
  checkRaised(makeModule("", R"(
      %m{e} = parplan.compare eq %i, %n{e} : tensor<6x2xi64>, tensor<i64>
      %c{e} = parplan.cast %m{e} : tensor<6x2xi1> to tensor<6x2xf64>
      %p{e} = parplan.mul %c{e}, %v : tensor<6x2xf64>, tensor<6x2xf64>
      %g{e} = parplan.reduce sum %p{e} dims [1] keep_dims : tensor<6x2xf64>
      %e{e} = parplan.silu %f{e} : tensor<6x8xf64>
      %l{e} = parplan.slice %e{e} dims [1] from [0] to [4] step [1] : tensor<6x8xf64>
      %r{e} = parplan.slice %e{e} dims [1] from [4] to [8] step [1] : tensor<6x8xf64>
      %q{e} = parplan.mul %l{e}, %r{e} : tensor<6x4xf64>, tensor<6x4xf64>
      %k{e} = parplan.slice %up{e} dims [1] from [0] to [4] step [1] : tensor<8x5xf64>
      %z{e} = parplan.matmul "mk,nk->mn" %q{e}, %k{e} : tensor<6x4xf64>, tensor<8x4xf64>
      %y{e} = parplan.mul %z{e}, %g{e} : tensor<6x8xf64>, tensor<6x1xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithColumnsOfAMatrix) {
  checkRaised(makeModule(R"(
      %g = parplan.softmax %scores dim 2 : tensor<2x3x4xf64>
      %flat = parplan.reshape %g : tensor<2x3x4xf64> to tensor<6x4xf64>
)",
                         R"(
      %g{e} = parplan.slice %flat dims [1] from [{e}] to [{next}] step [1] : tensor<6x4xf64>
      %y{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWhereChoicesRepeat) {
  const std::string before = R"(
      %i0 = parplan.slice %i dims [1] from [0] to [1] step [1] : tensor<6x2xi64>
      %j = parplan.concat %i0, %i0 dim 1 : tensor<6x1xi64>, tensor<6x1xi64>
)";
  checkRaised(makeModule(before, R"(
      %m{e} = parplan.compare eq %j, %n{e} : tensor<6x2xi64>, tensor<i64>
      %p{e} = parplan.select %m{e}, %v, %zero : tensor<6x2xi1>, tensor<6x2xf64>, tensor<f64>
      %g{e} = parplan.reduce sum %p{e} dims [1] keep_dims : tensor<6x2xf64>
      %y{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
  checkRaised(makeModule(before, R"(
      %m{e} = parplan.compare eq %j, %n{e} : tensor<6x2xi64>, tensor<i64>
      %p{e} = parplan.cast %m{e} : tensor<6x2xi1> to tensor<6x2xf64>
      %g{e} = parplan.reduce sum %p{e} dims [1] keep_dims : tensor<6x2xf64>
      %y{e} = parplan.mul %g{e}, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
)"));
}

TEST(RaisedExpertLoops, ComputeTheSameWithWeightsOfSomeChoices) {
  checkRaised(makeModule(R"(
      %i0 = parplan.slice %i dims [1] from [0] to [1] step [1] : tensor<6x2xi64>
      %i1 = parplan.slice %i dims [1] from [1] to [2] step [1] : tensor<6x2xi64>
      %v0 = parplan.slice %v dims [1] from [0] to [1] step [1] : tensor<6x2xf64>
)",
                         R"(
      %m{e} = parplan.compare eq %i0, %n{e} : tensor<6x1xi64>, tensor<i64>
      %z{e} = parplan.mul %v0, %f{e} : tensor<6x1xf64>, tensor<6x8xf64>
      %c{e} = parplan.select %m{e}, %z{e}, %zero : tensor<6x1xi1>, tensor<6x8xf64>, tensor<f64>
      %mm{e} = parplan.compare eq %i1, %n{e} : tensor<6x1xi64>, tensor<i64>
      %cc{e} = parplan.select %mm{e}, %f{e}, %zero : tensor<6x1xi1>, tensor<6x8xf64>, tensor<f64>
      %y{e} = parplan.add %c{e}, %cc{e} : tensor<6x8xf64>, tensor<6x8xf64>
)"));
}

} // namespace
