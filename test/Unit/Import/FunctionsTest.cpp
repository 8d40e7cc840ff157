//===- FunctionsTest.cpp - Local functions ---------------------*- C++ -*-===//
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
using testing::HasSubstr;

namespace {

TEST(Functions, AreExpandedWithTheirAttributes) {
  Outcome outcome = importText("g (float[2, 3] x) => (float[2, 3] y) "
                               "{ y = local.scaled <axis = 0> (x) }",
                               20, {}, R"(
    <opset_import: ["" : 20], domain: "local">
    scaled <axis> (a) => (b) {
      c = Softmax <axis: int = @axis> (a)
      b = local_relu(c)
    }
    )");
  // An operator that no domain has is one unsupported operator.
  EXPECT_EQ(outcome.code, 2101);
  outcome = importText("g (float[2, 3] x) => (float[2, 3] y) "
                       "{ y = local.scaled <axis = 0> (x) }",
                       20, {}, R"(
    <opset_import: ["" : 20], domain: "local">
    scaled <axis> (a) => (b) {
      c = Softmax <axis: int = @axis> (a)
      b = Relu(c)
    }
    )");
  EXPECT_EQ(outcome.graph, "%0 = softmax x [0]\n"
                           "%1 = relu %0\n"
                           "return %1:float[2, 3]")
      << outcome.text;
}

/// f_i(x) = f_{i+1}(f_{i+1}(x)), `levels` deep.
onnx::ModelProto makeBomb(int levels) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = local.f0(x) }");
  for (int level = 0; level < levels; ++level) {
    onnx::FunctionProto &function = *model.add_functions();
    function.set_domain("local");
    function.set_name("f" + std::to_string(level));
    function.add_input("x");
    function.add_output("y");
    *function.mutable_opset_import() = model.opset_import();
    const char *names[] = {"x", "t", "y"};
    for (int call = 0; call < 2; ++call) {
      onnx::NodeProto &node = *function.add_node();
      bool isLast = level + 1 == levels;
      node.set_op_type(isLast ? "Relu" : "f" + std::to_string(level + 1));
      if (!isLast)
        node.set_domain("local");
      node.add_input(names[call]);
      node.add_output(names[call + 1]);
    }
  }
  return model;
}

TEST(Functions, BombsAreCountedNotExpanded) {
  EXPECT_TRUE(importBytes(serialize(makeBomb(10))).succeeded);
  Outcome outcome = importBytes(serialize(makeBomb(50)));
  EXPECT_EQ(outcome.code, 2003);
  EXPECT_EQ(outcome.exitCode, 65);
}

TEST(Functions, RecursionIsFoundThroughBranches) {
  onnx::ModelProto model = makeBomb(2);
  // f1 calls f0 inside a branch.
  onnx::FunctionProto &function = *model.mutable_functions(1);
  onnx::NodeProto &node = *function.mutable_node(0);
  node.set_op_type("If");
  for (const char *name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto &branch = *node.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    branch.mutable_g()->set_name(name);
    onnx::NodeProto &call = *branch.mutable_g()->add_node();
    call.set_op_type("f0");
    call.set_domain("local");
    call.add_input("x");
    call.add_output("r");
    branch.mutable_g()->add_output()->set_name("r");
  }
  Outcome outcome = importBytes(serialize(model));
  EXPECT_THAT(outcome.codes, Contains(2005));
  EXPECT_THAT(outcome.text, HasSubstr("calls itself"));
}

TEST(Functions, DefinedTwice) {
  onnx::ModelProto model = makeBomb(1);
  *model.add_functions() = model.functions(0);
  EXPECT_THAT(importBytes(serialize(model)).codes, Contains(2005));
}

} // namespace
