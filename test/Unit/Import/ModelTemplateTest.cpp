//===- ModelTemplateTest.cpp - The model as a file to be filled in -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Save/ModelTemplate.h"
#include "lib/Import/Sweep/ImportGraph.h"

#include "onnx/onnx_pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace parplan;
using namespace parplan::test;

namespace {

const std::string one("\0\0\x80\x3f", 4), two("\0\0\0\x40", 4);

/// What a template of a model is, and the file.
struct Written {
  std::optional<ModelTemplate> result;
  std::string bytes;
  onnx::ModelProto model;
  DiagnosticEngine diagnostics;
};

Written writeTemplate(
    const onnx::ModelProto &model,
    const std::vector<std::pair<std::string, std::string>> &files = {}) {
  TestFolder folder;
  for (const auto &[name, bytes] : files)
    folder.write(name, bytes);
  ImportOptions options;
  options.path = folder.write("m.onnx", serialize(model));
  Written written;
  auto imported = importer::importGraph(options, written.diagnostics);
  if (!imported)
    return written;
  std::string path = folder.getPath() + "/template";
  written.result =
      writeModelTemplate(*imported->info, path, written.diagnostics);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  written.bytes = text.str();
  written.model.ParseFromString(written.bytes);
  return written;
}

onnx::ModelProto parseWeighted() {
  return parseModel(
      "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
}

TEST(ModelTemplate, HoldsTypedDataRaw) {
  Written written = writeTemplate(parseWeighted());
  ASSERT_TRUE(written.result) << written.diagnostics.render();
  ASSERT_EQ(written.result->initializers.size(), 1u);
  const TemplateInitializer &saved = written.result->initializers[0];
  EXPECT_EQ(saved.name, "w");
  EXPECT_EQ(saved.shape, std::vector<int64_t>{2});
  EXPECT_EQ(written.bytes.substr(saved.offset, saved.bytes), one + two);
  EXPECT_EQ(written.model.graph().initializer(0).raw_data(), one + two);
  EXPECT_EQ(written.model.graph().initializer(0).float_data_size(), 0);
}

TEST(ModelTemplate, HoldsExternalDataInside) {
  onnx::ModelProto model = parseWeighted();
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  Written written = writeTemplate(model, {{"w.bin", two + one}});
  ASSERT_TRUE(written.result) << written.diagnostics.render();
  const onnx::TensorProto &kept = written.model.graph().initializer(0);
  EXPECT_EQ(kept.raw_data(), two + one);
  EXPECT_EQ(kept.external_data_size(), 0);
  EXPECT_FALSE(kept.has_data_location());
}

TEST(ModelTemplate, ReportsExternalDataThatIsShort) {
  onnx::ModelProto model = parseWeighted();
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  Written written = writeTemplate(model, {{"w.bin", one}});
  EXPECT_FALSE(written.result);
  EXPECT_THAT(written.diagnostics.render(), testing::HasSubstr("E2013"));
}

TEST(ModelTemplate, KeepsAllElse) {
  onnx::ModelProto model = parseWeighted();
  model.set_doc_string("kept");
  model.mutable_graph()->mutable_node(0)->set_name("the/add");
  model.mutable_graph()->mutable_initializer(0)->set_doc_string(
      "of the weight");
  Written written = writeTemplate(model);
  ASSERT_TRUE(written.result) << written.diagnostics.render();
  EXPECT_TRUE(written.result->isModel);
  EXPECT_EQ(written.model.doc_string(), "kept");
  EXPECT_EQ(written.model.graph().node(0).name(), "the/add");
  EXPECT_EQ(written.model.graph().initializer(0).doc_string(), "of the weight");
  EXPECT_EQ(written.model.opset_import_size(), model.opset_import_size());
}

} // namespace
