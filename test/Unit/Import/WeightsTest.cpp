//===- WeightsTest.cpp - Initializers and files of weights -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Sweep/ImportGraph.h"

#include "onnx/onnx_pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace parplan;
using namespace parplan::test;
using testing::Contains;
using testing::HasSubstr;

namespace {

const char *const weighted =
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }";

onnx::ModelProto makeExternal(const std::string &location,
                              const std::string &offset,
                              const std::string &length) {
  onnx::ModelProto model = parseModel(weighted);
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (auto [key, value] : {std::pair("location", &location),
                            {"offset", &offset},
                            {"length", &length}}) {
    if (value->empty())
      continue;
    onnx::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(*value);
  }
  return model;
}

TEST(Weights, StayWhereTheyAre) {
  onnx::ModelProto model = parseModel(weighted);
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_raw_data(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  std::string bytes = serialize(model);
  TestFolder folder;
  ImportOptions options;
  options.path = folder.write("m.onnx", bytes);
  DiagnosticEngine diagnostics;
  auto imported = importer::importGraph(options, diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  ASSERT_EQ(imported->graph.parameters.size(), 1u);
  const importer::Parameter &parameter = imported->graph.parameters[0];
  EXPECT_EQ(parameter.name, "w");
  EXPECT_EQ(parameter.file, "");
  EXPECT_EQ(bytes.substr(parameter.offset, parameter.length),
            tensor.raw_data());
  EXPECT_EQ(imported->info->parameterCount, 2);
}

TEST(Weights, PlanningNeedsNoFile) {
  TestFolder folder;
  ImportOptions options;
  options.path =
      folder.write("m.onnx", serialize(makeExternal("sub/w.bin", "64", "8")));
  EXPECT_EQ(importFile(options).graph, "%0 = add x @w\nreturn %0:float[2]");
  options.needWeights = true;
  Outcome outcome = importFile(options);
  EXPECT_EQ(outcome.code, 2013);
  EXPECT_EQ(outcome.exitCode, 66);
  std::filesystem::create_directory(folder.getPath() + "/sub");
  folder.write("sub/w.bin", std::string(71, '\0'));
  EXPECT_EQ(importFile(options).code, 2012);
  folder.write("sub/w.bin", std::string(72, '\0'));
  EXPECT_TRUE(importFile(options).succeeded);
}

TEST(Weights, PathsStayInTheFolderOfTheModel) {
  for (const char *location : {"/etc/passwd", "../w.bin", "a/../../w.bin", "",
                               "a//b", "./w.bin", "a\\b"}) {
    Outcome outcome = importBytes(serialize(makeExternal(location, "0", "8")));
    EXPECT_EQ(outcome.code, 2012) << location;
    EXPECT_EQ(outcome.exitCode, 65);
  }
}

TEST(Weights, LinksAreNotFollowed) {
  TestFolder folder;
  ImportOptions options;
  options.needWeights = true;
  options.path =
      folder.write("m.onnx", serialize(makeExternal("w.bin", "0", "8")));
  folder.write("real.bin", std::string(8, '\0'));
  std::filesystem::create_symlink("real.bin", folder.getPath() + "/w.bin");
  Outcome outcome = importFile(options);
  EXPECT_EQ(outcome.code, 2013);
  EXPECT_THAT(outcome.text, HasSubstr("symbolic link"));
}

TEST(Weights, OffsetsAndLengthsAreNumbersThatFit) {
  EXPECT_EQ(importBytes(serialize(makeExternal("w", "-1", "8"))).code, 2010);
  EXPECT_EQ(importBytes(serialize(makeExternal("w", "x", "8"))).code, 2010);
  EXPECT_EQ(importBytes(serialize(makeExternal("w", "0", "9"))).code, 2010);
  EXPECT_EQ(
      importBytes(serialize(makeExternal("w", "9223372036854775807", "8")))
          .code,
      2010);
}

TEST(Weights, BytesMustBeThoseOfTheShape) {
  onnx::ModelProto model = parseModel(weighted);
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.set_dims(0, 1000000);
  Outcome outcome = importBytes(serialize(model));
  EXPECT_EQ(outcome.code, 2010);
  EXPECT_THAT(outcome.text, HasSubstr("4000000 bytes"));
  tensor.set_dims(0, int64_t(1) << 62);
  EXPECT_EQ(importBytes(serialize(model)).code, 2010);
  tensor.set_dims(0, -2);
  EXPECT_EQ(importBytes(serialize(model)).code, 2010);
}

TEST(Weights, SmallExternalIntegersAreRead) {
  onnx::ModelProto model = parseModel(R"(
    g (float[6] x) => (float[2, 3] y) <int64[2] s = {2, 3}>
    { y = Reshape(x, s) })");
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_int64_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("s.bin");
  TestFolder folder;
  ImportOptions options;
  options.path = folder.write("m.onnx", serialize(model));
  // Without the file the shape is not known.
  EXPECT_EQ(importFile(options).code, 2106);
  int64_t shape[] = {2, 3};
  folder.write("s.bin", std::string(reinterpret_cast<char *>(shape), 16));
  EXPECT_EQ(importFile(options).graph, "%0 = reshape x\nreturn %0:float[2, 3]");
}

/// Half a byte without a dimension, in a file that is not there.
TEST(Weights, PackedScalarsNeedNoFile) {
  onnx::ModelProto model = parseModel(R"(
    g (float[2] x) => (float[2] y) <float z = {1}>
    { w = Cast <to = 1> (z) y = Add(x, w) })");
  onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.clear_raw_data();
  tensor.set_data_type(onnx::TensorProto::INT4);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("z.bin");
  Outcome outcome = importBytes(serialize(model));
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
}

TEST(Weights, RepeatedSlicesAreOneSlice) {
  Outcome outcome = importText(R"(
    g (float[2, 1, 3] x) => (float[2, 1, 3] y)
    <float[2, 1, 3] w = {1, 2, 3, 1, 2, 3}> { y = Mul(x, w) })");
  EXPECT_EQ(outcome.graph, "%0 = mul x @w\nreturn %0:float[2, 1, 3]");
}

TEST(Weights, ScalarsAreConstants) {
  Outcome outcome = importText(R"(
    g (float[2] x) => (float[2] y) <float half = {0.5}> { y = Mul(x, half) })");
  EXPECT_EQ(outcome.graph, "%0 = mul x 0.5\nreturn %0:float[2]");
}

TEST(Weights, DefinedTwice) {
  onnx::ModelProto model = parseModel(weighted);
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_THAT(importBytes(serialize(model)).codes, Contains(2105));
}

} // namespace
