//===- BadModelTest.cpp - What is no model, or a broken one ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Load/WireFilter.h"

#include "onnx/onnx_pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string readModel(const std::string &name) {
  std::ifstream file(std::string(PARPLAN_TEST_MODELS) + "/" + name +
                         "/model.onnx",
                     std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(BadModel, MissingFile) {
  ImportOptions options;
  options.path = "/nowhere/model.onnx";
  Outcome outcome = importFile(options);
  EXPECT_EQ(outcome.code, 2001);
  EXPECT_EQ(outcome.exitCode, 66);
  options.path = "/tmp";
  EXPECT_EQ(importFile(options).code, 2001);
}

TEST(BadModel, TooLargeForAMessage) {
  TestFolder folder;
  ImportOptions options;
  options.path = folder.write("large.onnx", "");
  std::filesystem::resize_file(options.path, uintmax_t(3) << 30); // Sparse.
  Outcome outcome = importFile(options);
  EXPECT_EQ(outcome.code, 2003);
  EXPECT_THAT(outcome.text, HasSubstr("external data"));
}

TEST(BadModel, NoModelAtAll) {
  std::string good = readModel("bert");
  ASSERT_FALSE(good.empty());
  for (const std::string &bytes :
       {std::string(), std::string("this is not a model\n"),
        good.substr(0, good.size() / 2), good.substr(0, good.size() - 1),
        std::string(4096, '\0'), std::string(4096, '\xff'),
        std::string("\x3a\xff\xff\xff\xff\x07") + good.substr(0, 64)}) {
    Outcome outcome = importBytes(bytes);
    EXPECT_EQ(outcome.code, 2002) << outcome.text;
    EXPECT_EQ(outcome.exitCode, 65);
  }
}

TEST(BadModel, WithoutGraphOrOpset) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  onnx::ModelProto without = model;
  without.clear_graph();
  EXPECT_EQ(importBytes(serialize(without)).code, 2002);
  without = model;
  without.clear_opset_import();
  EXPECT_EQ(importBytes(serialize(without)).code, 2004);
  without = model;
  without.set_ir_version(99);
  EXPECT_EQ(importBytes(serialize(without)).code, 2004);
  without = model;
  without.mutable_graph()->clear_output();
  EXPECT_EQ(importBytes(serialize(without)).code, 2002);
}

TEST(BadModel, NestedTooDeep) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  auto nest = [&](int levels) {
    onnx::ModelProto nested = model;
    onnx::GraphProto *graph = nested.mutable_graph();
    for (int level = 0; level < levels; ++level) {
      onnx::NodeProto &node = *graph->add_node();
      node.set_op_type("If");
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name("then_branch");
      attribute.set_type(onnx::AttributeProto::GRAPH);
      graph = attribute.mutable_g();
    }
    return importBytes(serialize(nested)).code;
  };
  EXPECT_EQ(nest(28), 2003);
  EXPECT_EQ(nest(1000), 2002);
}

TEST(BadModel, NamesThatNothingDefinesAndTwice) {
  EXPECT_THAT(importText("g (float[2] x) => (float[2] y) "
                         "{ a = Relu(nothing) b = Relu(nobody) y = Add(x, x) }")
                  .codes,
              ElementsAre(2104, 2104));
  EXPECT_THAT(importText("g (float[2] x) => (float[2] y) "
                         "{ y = Relu(x) y = Exp(x) }")
                  .codes,
              ElementsAre(2105));
  EXPECT_EQ(importText("g (float[2] x) => (float[2] z) { y = Relu(x) }").code,
            2104);
}

TEST(BadModel, WhatOnlyTheCheckerFinds) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  model.mutable_graph()->clear_name();
  Outcome outcome = importBytes(serialize(model));
  EXPECT_EQ(outcome.code, 2006) << outcome.text;
  EXPECT_EQ(outcome.exitCode, 65);
}

TEST(BadModel, NamesAreEscaped) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Hardmax(x) }");
  model.mutable_graph()->mutable_node(0)->set_op_type("Evil\x1b[31m\n");
  std::string text = importBytes(serialize(model)).text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("Evil"));
}

TEST(BadModel, SparseTensors) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  model.mutable_graph()->add_sparse_initializer();
  EXPECT_EQ(importBytes(serialize(model)).code, 2011);
  model.mutable_graph()->clear_sparse_initializer();
  onnx::AttributeProto &attribute =
      *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("sparse");
  attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  attribute.mutable_sparse_tensor();
  EXPECT_EQ(importBytes(serialize(model)).code, 2011);
}

TEST(BadModel, TensorsOfNodes) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) "
                 "{ c = Constant <value = float[2] {1, 2}> () y = Add(x, c) }");
  onnx::TensorProto &tensor = *model.mutable_graph()
                                   ->mutable_node(0)
                                   ->mutable_attribute(0)
                                   ->mutable_t();
  tensor.set_dims(0, 3);
  Outcome outcome = importBytes(serialize(model));
  EXPECT_EQ(outcome.code, 2010);
  EXPECT_THAT(outcome.text, HasSubstr("node 0 'c' (Constant)"));
}

TEST(WireFilter, KeepsWhatIsRead) {
  onnx::ModelProto model =
      parseModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  onnx::NodeProto &node = *model.mutable_graph()->mutable_node(0);
  node.set_name("layer/relu");
  node.set_doc_string("documentation");
  onnx::StringStringEntryProto &scope = *node.add_metadata_props();
  scope.set_key("scope");
  scope.set_value("layer");
  onnx::ValueInfoProto &info = *model.mutable_graph()->add_value_info();
  info.set_name("w");
  onnx::StringStringEntryProto &kind = *info.add_metadata_props();
  kind.set_key("pkg.torch.export.graph_signature.InputSpec.kind");
  kind.set_value("BUFFER");
  std::string bytes = serialize(model);
  uint64_t malformedAt;
  auto filtered = importer::filterModel(bytes, malformedAt);
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->marks.at("w"), importer::InitializerMark::buffer);
  ASSERT_EQ(filtered->nodes.size(), 1u);
  EXPECT_EQ(importer::readNodeName(bytes, filtered->nodes[0]), "layer/relu");
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(filtered->bytes));
  node.clear_name();
  node.clear_doc_string();
  node.clear_metadata_props();
  model.mutable_graph()->clear_value_info();
  EXPECT_EQ(serialize(parsed), serialize(model));
}

/// Changes bits, cuts, repeats pieces. None of it may crash, hang or exhaust
/// memory, and what is refused is refused as a bad model or a bad option.
TEST(BadModel, RandomDamage) {
  std::mt19937 random(1);
  for (const char *name :
       {"bert", "gpt2-dynamic", "mlp", "convnet", "mixtral-train", "vit"}) {
    std::string good = readModel(name);
    ASSERT_FALSE(good.empty()) << name;
    ImportOptions options;
    if (std::string_view(name) == "gpt2-dynamic")
      options.dims = {{"batch", 8}, {"sequence", 32}};
    TestFolder folder;
    for (int index = 0; index < 300; ++index) {
      std::string body = good;
      size_t end = index % 2 ? body.size() : body.size() / 6 + 1;
      for (int flip = 0; flip < 3; ++flip)
        body[random() % end] ^= char(1 << random() % 8);
      if (index % 10 == 0)
        body.resize(random() % body.size());
      if (index % 10 == 5)
        body.insert(random() % body.size(),
                    body.substr(random() % body.size(), random() % 4096));
      options.path = folder.write("m.onnx", body);
      Outcome outcome = importFile(options);
      EXPECT_TRUE(outcome.exitCode == 0 || outcome.exitCode == 64 ||
                  outcome.exitCode == 65)
          << name << " " << index << ": " << outcome.text;
    }
  }
}

} // namespace
