//===- ControlFlowTest.cpp - Conditions, loops, ONNX's bodies ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "onnx/onnx_pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(ControlFlow, BranchOfAKnownConditionIsTaken) {
  const std::string branches = R"(
      y = If <then_branch = a () => (float[2] t) { t = Relu(x) },
              else_branch = b () => (float[2] e) { e = Abs(x) }> (c)
    })";
  EXPECT_EQ(importText("g (float[2] x) => (float[2] y) {"
                       "c = Constant <value = bool {0}> ()" +
                       branches)
                .graph,
            "%0 = abs x\nreturn %0:float[2]");
  Outcome outcome =
      importText("g (float[2] x, bool c) => (float[2] y) {" + branches);
  EXPECT_THAT(outcome.codes, ElementsAre(2106));
  EXPECT_THAT(outcome.text, HasSubstr("(If)"));
}

/// x doubled in each of `passes` passes, which also give x + 1 on the way.
std::string makeLoop(const std::string &passes,
                     const std::string &condition = "go = Identity(cond)") {
  return R"(
    g (float[2] x) => (float[2] y, float[n, 2] all) {
      m = Constant <value_int = )" +
         passes + R"(> ()
      yes = Constant <value = bool {1}> ()
      y, all = Loop <body = b (int64 i, bool cond, float[2] v)
                         => (bool go, float[2] w, float[2] s) {
        )" +
         condition + R"(
        w = Add(v, v)
        one = Constant <value_float = 1.0> ()
        s = Add(v, one)
      }> (m, yes, x)
    })";
}

TEST(ControlFlow, PassesOfALoopAreWrittenOut) {
  EXPECT_EQ(importText(makeLoop("2")).graph,
            "%0 = add x x\n%1 = add x 1\n%2 = add %0 %0\n%3 = add %0 1\n"
            "%4 = reshape %1\n%5 = reshape %3\n%6 = concat %4 %5 [0]\n"
            "return %2:float[2] %6:float[2, 2]");
}

TEST(ControlFlow, LoopEndsByItsCondition) {
  Outcome outcome =
      importText(makeLoop("9", "two = Constant <value_int = 1> () "
                               "go = Less(i, two)"));
  EXPECT_THAT(outcome.graph, HasSubstr("float[2, 2]")) << outcome.text;
}

TEST(ControlFlow, WhatALoopNeedsToKnow) {
  EXPECT_THAT(importText(makeLoop("9", "t = ReduceSum <keepdims = 0> (v) "
                                       "u = Constant <value_float = 1.0> () "
                                       "go = Less(t, u)"))
                  .codes,
              ElementsAre(2106));
  EXPECT_THAT(importText(R"(
    g (float[2] x, int64 m) => (float[2] y) {
      y = Loop <body = b (int64 i, bool cond, float[2] v)
                    => (bool go, float[2] w) {
        go = Identity(cond) w = Add(v, v) }> (m, , x)
    })")
                  .codes,
              ElementsAre(2106));
}

TEST(ControlFlow, LoopsAreNoLongerThanAModelMayBe) {
  Outcome outcome = importText(makeLoop("1000000000"));
  EXPECT_THAT(outcome.codes, ElementsAre(2107));
  EXPECT_THAT(outcome.text, HasSubstr("1048576 nodes"));
}

TEST(ControlFlow, WhatIsWrongInALoopIsSaidOnce) {
  Outcome outcome = importText(makeLoop("50", "go = Nonsense(cond)"));
  EXPECT_THAT(outcome.codes, ElementsAre(2101));
}

TEST(ControlFlow, ScanTakesSlicesInItsDirection) {
  Outcome outcome = importText(R"(
    g (float[2] s, float[3, 2] x) => (float[2] y, float[2, 2] all) {
      y, all = Scan <num_scan_inputs = 1, scan_input_axes = [1],
                     scan_input_directions = [1], scan_output_axes = [1],
                     body = b (float[2] v, float[3] e)
                         => (float[2] w, float[2] o) {
        t = ReduceSum <keepdims = 0> (e)
        w = Add(v, t)
        o = Identity(w)
      }> (s, x)
    })");
  EXPECT_THAT(outcome.graph, HasSubstr("slice x [1, 1, 2, 1]")) << outcome.text;
  EXPECT_LT(outcome.graph.find("slice x [1, 1, 2, 1]"),
            outcome.graph.find("slice x [1, 0, 1, 1]"));
}

TEST(ControlFlow, ScanOfTheFirstVersionHasABatch) {
  Outcome outcome = importText(R"(
    g (float[2, 1] s, float[2, 3, 1] x) => (float[2, 1] y, float[2, 3, 1] all) {
      y, all = Scan <num_scan_inputs = 1,
                     body = b (float[1] v, float[1] e)
                         => (float[1] w, float[1] o) {
        w = Add(v, e)
        o = Identity(w)
      }> (, s, x)
    })",
                               8);
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
}

TEST(ControlFlow, SequencesOfALoop) {
  EXPECT_EQ(importText(R"(
    g (float[2] x) => (float[3, 2] y) {
      m = Constant <value_int = 3> ()
      none = SequenceEmpty <dtype = 1> ()
      all = Loop <body = b (int64 i, bool cond, seq(float[2]) v)
                      => (bool go, seq(float[2]) w) {
        go = Identity(cond)
        w = SequenceInsert(v, x)
      }> (m, , none)
      y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
    })")
                .graph,
            "%0 = reshape x\n%1 = concat %0 %0 %0 [0]\n"
            "return %1:float[3, 2]");
}

TEST(Optionals, AreTheirValueOrNone) {
  EXPECT_EQ(importText(R"(
    g (float[2] x) => (float[2] y) {
      none = Optional <type = optional(seq(float[2]))> ()
      has = OptionalHasElement(none)
      some = Optional(x)
      y = If <then_branch = a () => (float[2] t) { t = Neg(x) },
              else_branch = b () => (float[2] e) {
                e = OptionalGetElement(some) }> (has)
    })")
                .graph,
            "return x:float[2]");
}

TEST(SchemaBodies, OperatorsThatONNXDefinesByOthers) {
  Outcome outcome =
      importText("g (float[2, 3] x) => (uint8[2, 3] y, float s, uint8 z) "
                 "{ y, s, z = DynamicQuantizeLinear(x) }");
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
  outcome = importText("g (float[2] x) => (float[2] y) { y = Bernoulli(x) }");
  EXPECT_THAT(outcome.codes, ElementsAre(2101));
  EXPECT_THAT(outcome.text, HasSubstr("(Bernoulli): error"));
  EXPECT_THAT(outcome.text, HasSubstr("note: inside of it"));
  EXPECT_THAT(outcome.text, HasSubstr("(RandomUniformLike)"));
}

TEST(SchemaBodies, OperandsNeedTypes) {
  EXPECT_THAT(importText(R"(
    g (float[2] x) => (int64 y) {
      none = Optional <type = seq(float[2])> ()
      s = SequenceMap <body = b (float[2] e) => (float[2] f) { f = Neg(e) }>
          (none)
      y = SequenceLength(s)
    })")
                  .codes,
              ElementsAre(2103));
}

/// An attention whose scores go through a node.
onnx::ModelProto makeFlexAttention(const std::string &node) {
  onnx::ModelProto model = parseModel(
      R"(g (float[1, 2, 4, 8] q, float[1, 2, 4, 8] k, float[1, 2, 4, 8] v)
         => (float[1, 2, 4, 8] y) { y = FlexAttention <score_mod =
           b (float[B, H, L, S] s) => (float[B, H, L, S] t) { )" +
          node + R"( }> (q, k, v) })",
      26);
  onnx::OperatorSetIdProto &preview = *model.add_opset_import();
  preview.set_domain("ai.onnx.preview");
  preview.set_version(1);
  model.mutable_graph()->mutable_node(0)->set_domain(preview.domain());
  return model;
}

/// Such bodies are built from text, in which names are identifiers.
TEST(SchemaBodies, TakeGraphsWithAnyNames) {
  onnx::ModelProto model = makeFlexAttention("t = Tanh(s)");
  onnx::GraphProto &body = *model.mutable_graph()
                                ->mutable_node(0)
                                ->mutable_attribute(0)
                                ->mutable_g();
  const std::string input = "/layer.0/scores:0", output = "a b = c(); #";
  body.mutable_input(0)->set_name(input);
  body.mutable_node(0)->set_input(0, input);
  body.mutable_node(0)->set_output(0, output);
  body.mutable_output(0)->set_name(output);
  Outcome outcome = importBytes(serialize(model));
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
  EXPECT_THAT(outcome.graph, HasSubstr(" = tanh "));
}

/// What a graph reads from outside it does not define.
TEST(SchemaBodies, LeaveNamesFromOutsideAlone) {
  Outcome outcome =
      importBytes(serialize(makeFlexAttention("t = Add(s, outer)")));
  EXPECT_THAT(outcome.text, HasSubstr("'outer'"));
}

/// A local function may stand in for an operator, and call what ONNX defines by
/// it.
TEST(SchemaBodies, DoNotCallEachOtherForEver) {
  Outcome outcome = importText(
      "g (float[2, 3] x) => (float[2, 3] y) { y = Round(x) }", 20, {}, R"(
    <opset_import: ["" : 20], domain: "">
    Round (a) => (b) { b, s, z = DynamicQuantizeLinear(a) }
    )");
  EXPECT_THAT(outcome.codes, Contains(2107));
}

} // namespace
