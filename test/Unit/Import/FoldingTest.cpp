//===- FoldingTest.cpp - No shape arithmetic is left -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;
using testing::HasSubstr;

namespace {

TEST(Folding, ShapeArithmeticOfAnUnoptimisedExport) {
  Outcome outcome = importText(R"(
    g (float[4, 6] x) => (float[2, 2, 6] y) {
      shape = Shape <start = 0, end = 1> (x)
      two = Constant <value_ints = [2]> ()
      half = Div(shape, two)
      minus = Constant <value_ints = [-1]> ()
      target = Concat <axis = 0> (two, half, minus)
      reshaped = Reshape(x, target)
      y = Relu(reshaped)
    })");
  EXPECT_EQ(outcome.graph, "%0 = reshape x\n"
                           "%1 = relu %0\n"
                           "return %1:float[2, 2, 6]")
      << outcome.text;
}

TEST(Folding, OpsThatDoNothingLeaveNothing) {
  Outcome outcome = importText(R"(
    g (float[2, 3] x) => (float[2, 3] y) {
      one = Constant <value_float = 1.0> ()
      zero = Constant <value_float = 0.0> ()
      a = Identity(x)
      b = Mul(a, one)
      c = Add(zero, b)
      d = Cast <to = 1> (c)
      shape = Constant <value_ints = [2, 3]> ()
      e = Expand(d, shape)
      f = Transpose <perm = [1, 0]> (e)
      g = Transpose <perm = [1, 0]> (f)
      flat = Constant <value_ints = [-1]> ()
      h = Reshape(g, flat)
      i = Reshape(h, shape)
      starts = Constant <value_ints = [0]> ()
      ends = Constant <value_ints = [9223372036854775807]> ()
      y = Slice(i, starts, ends)
    })");
  EXPECT_EQ(outcome.graph, "return x:float[2, 3]") << outcome.text;
}

TEST(Folding, EqualOpsAreOne) {
  Outcome outcome = importText(R"(
    g (float[2] x) => (float[2] y) {
      a = Exp(x)
      b = Exp(x)
      y = Add(a, b)
    })");
  EXPECT_EQ(outcome.graph, "%0 = exp x\n%1 = add %0 %0\nreturn %1:float[2]");
}

TEST(Folding, ExtremeSliceBoundsDoNotOverflow) {
  Outcome outcome = importText(R"(
    g (float[5] x) => (float[5] y, float[3] z) {
      last = Constant <value_ints = [9223372036854775807]> ()
      first = Constant <value_ints = [-9223372036854775808]> ()
      zero = Constant <value_ints = [0]> ()
      minus = Constant <value_ints = [-1]> ()
      minustwo = Constant <value_ints = [-2]> ()
      y = Slice(x, last, first, zero, minus)
      z = Slice(x, last, first, zero, minustwo)
    })");
  EXPECT_EQ(outcome.graph, "%0 = slice x [0, 4, -1, -1]\n"
                           "%1 = slice x [0, 4, -1, -2]\n"
                           "return %0:float[5] %1:float[3]")
      << outcome.text;
}

TEST(Folding, SequencesBecomeSlices) {
  Outcome outcome = importText(R"(
    g (float[2, 6] x) => (float[2, 2] y, float[2, 4] z) {
      two = Constant <value_int = 2> ()
      parts = SplitToSequence <axis = 1> (x, two)
      one = Constant <value_int = 1> ()
      y = SequenceAt(parts, one)
      sizes = Constant <value_ints = [2, 4]> ()
      uneven = SplitToSequence <axis = 1> (x, sizes)
      minus = Constant <value_int = -1> ()
      z = SequenceAt(uneven, minus)
    })");
  EXPECT_EQ(outcome.graph, "%0 = slice x [1, 2, 4, 1]\n"
                           "%1 = slice x [1, 2, 6, 1]\n"
                           "return %0:float[2, 2] %1:float[2, 4]")
      << outcome.text;
}

TEST(Folding, SlicesOfSlicesStay) {
  Outcome outcome = importText(R"(
    g (float[2, 12] x) => (float[2, 4] y, float[2, 2] z) {
      one = Constant <value_ints = [1]> ()
      two = Constant <value_ints = [2]> ()
      four = Constant <value_ints = [4]> ()
      eight = Constant <value_ints = [8]> ()
      y = Slice(x, four, eight, one)
      z = Slice(y, two, four, one)
    })");
  EXPECT_EQ(outcome.graph, "%0 = slice x [1, 4, 8, 1]\n"
                           "%1 = slice %0 [1, 2, 4, 1]\n"
                           "return %0:float[2, 4] %1:float[2, 2]")
      << outcome.text;
}

TEST(Folding, WhatWasJoinedIsFoundBehindSlices) {
  Outcome outcome = importText(R"(
    g (float[2] a, float[4] b, float[3] c) => (float[4] y) {
      zero = Constant <value_ints = [0]> ()
      two = Constant <value_ints = [2]> ()
      six = Constant <value_ints = [6]> ()
      eight = Constant <value_ints = [8]> ()
      all = Concat <axis = 0> (a, b, c)
      front = Slice(all, zero, eight)
      y = Slice(front, two, six)
    })");
  EXPECT_EQ(outcome.graph, "return b:float[4]") << outcome.text;
}

TEST(Folding, ConstantIndicesAreSlices) {
  Outcome outcome = importText(R"(
    g (float[4, 6] x) => (float[4] y, float[2, 6] z) {
      last = Constant <value_int = -1> ()
      y = Gather <axis = 1> (x, last)
      rows = Constant <value_ints = [1, 3]> ()
      z = Gather(x, rows)
    })");
  EXPECT_EQ(outcome.graph, "%0 = slice x [1, 5, 6, 1]\n"
                           "%1 = reshape %0\n"
                           "%2 = slice x [0, 1, 4, 2]\n"
                           "return %1:float[4] %2:float[2, 6]")
      << outcome.text;
}

TEST(Folding, BroadcastsAreTakenOutOfElementwiseOps) {
  Outcome outcome = importText(R"(
    g (float[4, 6] x, float[1, 6] z) => (float[4, 6] y) {
      shape = Constant <value_ints = [4, 6]> ()
      wide = Expand(z, shape)
      y = Add(x, wide)
    })");
  EXPECT_EQ(outcome.graph, "%0 = add x z\nreturn %0:float[4, 6]");
}

TEST(Folding, ConditionsOfKnownValueAreTaken) {
  Outcome outcome = importText(R"(
    g (float[4] x) => (float[4] y) {
      shape = Shape(x)
      four = Constant <value_ints = [4]> ()
      isfour = Equal(shape, four)
      condition = Squeeze(isfour)
      y = If (condition) <
        then_branch = a () => (float[4] p) { p = Exp(x) },
        else_branch = b () => (float[4] q) { q = Log(x) }
      >
    })");
  EXPECT_EQ(outcome.graph, "%0 = exp x\nreturn %0:float[4]") << outcome.text;
}

TEST(Folding, WhatDependsOnAnInputIsNotAShape) {
  Outcome outcome = importText(R"(
    g (float[4] x, int64[1] n) => (float[?] y) {
      y = Expand(x, n)
    })");
  EXPECT_EQ(outcome.code, 2106);
  EXPECT_THAT(outcome.text, HasSubstr("node 0 'y' (Expand)"));
}

TEST(Folding, EmptyTensorsAreDroppedOrRefused) {
  EXPECT_EQ(importText(R"(
    g (float[2, 3] x) => (float[2, 3] y) {
      shape = Shape <start = 0, end = 0> (x)
      rest = Shape(x)
      whole = Concat <axis = 0> (shape, rest)
      y = Reshape(x, whole)
    })")
                .graph,
            "return x:float[2, 3]");
  EXPECT_EQ(importText(R"(
    g (float[2, 3] x) => (float[0, 3] y) {
      zero = Constant <value_ints = [0]> ()
      y = Slice(x, zero, zero)
    })")
                .code,
            2011);
}

TEST(Folding, EndlessConstantsAreRefused) {
  Outcome outcome = importText(R"(
    g (float[1] x) => (float[?, ?] y) {
      shape = Constant <value_ints = [1099511627776, 1099511627776]> ()
      huge = ConstantOfShape(shape)
      y = Add(x, huge)
    })");
  EXPECT_EQ(outcome.code, 2107);
  EXPECT_EQ(importText(R"(
    g (float[1] x) => (float[?] y) {
      start = Constant <value_int = 0> ()
      limit = Constant <value_int = 9223372036854775807> ()
      step = Constant <value_int = 1> ()
      range = Range(start, limit, step)
      real = Cast <to = 1> (range)
      y = Add(x, real)
    })")
                .code,
            2107);
}

TEST(Folding, DivisionOfConstantsByZero) {
  EXPECT_EQ(importText(R"(
    g (float[1] x) => (float[?] y) {
      one = Constant <value_ints = [1]> ()
      zero = Constant <value_ints = [0]> ()
      n = Div(one, zero)
      y = Expand(x, n)
    })")
                .code,
            2103);
}

} // namespace
