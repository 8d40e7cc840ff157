//===- MaskTest.cpp - Masks of any size ------------------------*- C++ -*-===//
//
// Part of parplan. Attention masks as exporters write them must fold to an
// affine mask that does not depend on the batch, however large they are.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;
using testing::HasSubstr;

namespace {

/// q <= k for row and column numbers, expanded to the batch, read through index
/// tuples, then turned to numbers: what PyTorch exports without optimisation.
std::string causalModel(int64_t batch, int64_t length) {
  std::string b = std::to_string(batch), s = std::to_string(length);
  return "g (float[" + b + ", 2, " + s + ", " + s + "] x) => (float[" + b +
         ", 2, " + s + ", " + s + "] y) {" + R"(
      zero = Constant <value_int = 0> ()
      one = Constant <value_int = 1> ()
      n = Constant <value_int = )" +
         s + R"(> ()
      positions = Range(zero, n, one)
      minusone = Constant <value_ints = [-1]> ()
      rowshape = Constant <value_ints = [1, 1, -1, 1]> ()
      columnshape = Constant <value_ints = [1, 1, 1, -1]> ()
      rows = Reshape(positions, rowshape)
      columns = Reshape(positions, columnshape)
      causal = LessOrEqual(columns, rows)
      nb = Constant <value_int = )" +
         b + R"(> ()
      samples = Range(zero, nb, one)
      sampleshape = Constant <value_ints = [-1, 1, 1, 1]> ()
      sample = Reshape(samples, sampleshape)
      big = Max(sample, rows, columns)
      bigshape = Shape(big)
      samplewide = Expand(sample, bigshape)
      columnwide = Expand(columns, bigshape)
      last = Constant <value_ints = [4]> ()
      sampleindex = Unsqueeze(samplewide, last)
      columnindex = Unsqueeze(columnwide, last)
      index = Concat <axis = -1> (sampleindex, columnindex)
      tokenshape = Constant <value_ints = [)" +
         b + ", " + s + R"(]> ()
      tokens = ConstantOfShape <value = bool[1] {1}> (tokenshape)
      visible = GatherND(tokens, index)
      both = And(causal, visible)
      lowest = Constant <value_float = -3.0e38> ()
      none = Constant <value_float = 0.0> ()
      mask = Where(both, none, lowest)
      y = Add(x, mask)
    })";
}

TEST(Mask, FoldsTheSameAtEverySize) {
  for (auto [batch, length] :
       {std::pair<int64_t, int64_t>{2, 8}, {1, 64}, {512, 512}, {4096, 8192}}) {
    Outcome outcome = importText(causalModel(batch, length));
    std::string s = std::to_string(length);
    EXPECT_THAT(outcome.graph,
                HasSubstr("%0 = select affine[-1, 1]+0[" + s + ", " + s +
                          "] 0 -3e+38\n%1 = add x %0\n"))
        << outcome.text;
  }
}

TEST(Mask, InitializersOfTwoNumbersAreMasks) {
  Outcome outcome = importText(R"(
    g (float[2, 2, 3, 3] x) => (float[2, 2, 3, 3] y)
    <float[2, 1, 3, 3] mask = {0, -9, -9, 0, 0, -9, 0, 0, 0,
                               0, -9, -9, 0, 0, -9, 0, 0, 0}> {
      y = Add(x, mask)
    })");
  EXPECT_EQ(outcome.graph, "%0 = select affine[-1, 1]+0[3, 3] 0 -9\n"
                           "%1 = add x %0\n"
                           "return %1:float[2, 2, 3, 3]")
      << outcome.text;
}

/// A triangle of ones for the longest sequence, of which the model cuts what it
/// needs: GPT-2 before PyTorch had an operator for attention.
std::string cutTriangle(const std::string &body) {
  return R"(
    g (float[2, 2, 3] x) => (float[2, 2, 3] y)
    <float[1, 4, 4] bias = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}> {
      from = Constant <value_ints = [1, 0]> ()
      to = Constant <value_ints = [3, 3]> ()
      axes = Constant <value_ints = [1, 2]> ()
      cut = Slice(bias, from, to, axes)
)" + body +
         "}";
}

TEST(Mask, TrianglesAreCutAndReckonedWith) {
  Outcome outcome = importText(cutTriangle(R"(
      one = Constant <value_float = 1.0> ()
      large = Constant <value_float = 10000.0> ()
      kept = Mul(x, cut)
      others = Sub(one, cut)
      term = Mul(others, large)
      y = Sub(kept, term))"));
  EXPECT_EQ(outcome.graph, "%0 = select affine[-1, 1]+-1[2, 3] 1 0\n"
                           "%1 = mul x %0\n"
                           "%2 = select affine[-1, 1]+-1[2, 3] 0 10000\n"
                           "%3 = sub %1 %2\n"
                           "return %3:float[2, 2, 3]")
      << outcome.text;
}

TEST(Mask, TrianglesBecomeConditions) {
  Outcome outcome = importText(cutTriangle(R"(
      visible = Cast <to = 9> (cut)
      low = Constant <value_float = -10000.0> ()
      y = Where(visible, x, low))"));
  EXPECT_EQ(outcome.graph, "%0 = select affine[-1, 1]+-1[2, 3] x -10000\n"
                           "return %0:float[2, 2, 3]")
      << outcome.text;
}

TEST(Mask, PartsOfTrianglesMayBeNumbers) {
  Outcome outcome = importText(R"(
    g (float[2, 2] x) => (float[2, 2] y)
    <bool[1, 4, 4] bias = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}> {
      low = Constant <value_float = -1.0> ()
      none = Constant <value_float = 0.0> ()
      mask = Where(bias, none, low)
      from = Constant <value_ints = [2, 0]> ()
      to = Constant <value_ints = [4, 2]> ()
      axes = Constant <value_ints = [1, 2]> ()
      cut = Slice(mask, from, to, axes)
      first = Constant <value_ints = [0]> ()
      flat = Squeeze(cut, first)
      y = Add(x, flat)
    })");
  EXPECT_EQ(outcome.graph, "return x:float[2, 2]") << outcome.text;
}

TEST(Mask, TriluIsAChoice) {
  Outcome outcome = importText(R"(
    g (float[2, 4, 4] x) => (float[2, 4, 4] y) {
      one = Constant <value_int = 1> ()
      y = Trilu <upper = 1> (x, one)
    })");
  EXPECT_EQ(outcome.graph, "%0 = select affine[1, -1]+1[4, 4] x 0\n"
                           "return %0:float[2, 4, 4]")
      << outcome.text;
}

TEST(Mask, PaddingMasksOfInputsStay) {
  // Index tuples that count 0, 1, .. read the mask of the tokens in place.
  Outcome outcome = importText(R"(
    g (float[2, 1, 3, 3] x, bool[2, 3] tokens) => (float[2, 1, 3, 3] y)
    <int64[2, 1, 3, 3, 2] index =
       {0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2,
        1, 0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2}> {
      visible = GatherND(tokens, index)
      zero = Constant <value_float = 0.0> ()
      y = Where(visible, x, zero)
    })");
  EXPECT_EQ(outcome.graph, "%0 = reshape tokens\n"
                           "%1 = select %0 x 0\n"
                           "return %1:float[2, 1, 3, 3]")
      << outcome.text;
}

} // namespace
