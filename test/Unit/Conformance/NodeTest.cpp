//===- NodeTest.cpp - One of ONNX's tests of an operator -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "NodeTest.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace parplan::test {

std::vector<std::string> listNodeTests(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

template <typename Message> static Message parse(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  Message message;
  if (!file || !message.ParseFromIstream(&file))
    throw std::runtime_error("cannot read " + path);
  return message;
}

static std::vector<NodeTestValue>
readValues(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> &list,
           const std::string &prefix) {
  std::vector<NodeTestValue> values;
  for (int i = 0; i < list.size(); ++i) {
    std::string path = prefix + std::to_string(i) + ".pb";
    if (list[i].type().has_sequence_type())
      values.push_back(parse<onnx::SequenceProto>(path));
    else if (list[i].type().has_optional_type())
      values.push_back(parse<onnx::OptionalProto>(path));
    else
      values.push_back(parse<onnx::TensorProto>(path));
  }
  return values;
}

NodeTest readNodeTest(const std::string &folder, const std::string &name) {
  NodeTest test;
  test.name = name;
  std::string path = folder + "/" + name + "/";
  test.model = parse<onnx::ModelProto>(path + "model.onnx");
  const onnx::GraphProto &graph = test.model.graph();
  path += "test_data_set_0/";
  test.inputs = readValues(graph.input(), path + "input_");
  test.outputs = readValues(graph.output(), path + "output_");
  return test;
}

template <typename Number>
static void moveRawData(onnx::TensorProto &tensor,
                        google::protobuf::RepeatedField<Number> &typed) {
  const std::string &bytes = tensor.raw_data();
  typed.Resize(int(bytes.size() / sizeof(Number)), Number());
  std::memcpy(typed.mutable_data(), bytes.data(), bytes.size());
  tensor.clear_raw_data();
}

static void moveFloats(onnx::TensorProto &tensor) {
  if (!tensor.has_raw_data())
    return;
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return moveRawData(tensor, *tensor.mutable_float_data());
  case onnx::TensorProto::DOUBLE:
    return moveRawData(tensor, *tensor.mutable_double_data());
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16: {
    std::string bytes = tensor.raw_data();
    for (size_t i = 0; i < bytes.size(); i += 2) {
      uint16_t bits;
      std::memcpy(&bits, bytes.data() + i, 2);
      tensor.add_int32_data(bits);
    }
    tensor.clear_raw_data();
    return;
  }
  default:
    return;
  }
}

std::string bindInputs(const NodeTest &test,
                       const std::vector<int> &constants) {
  onnx::ModelProto model = test.model;
  onnx::GraphProto &graph = *model.mutable_graph();
  for (int index : constants) {
    onnx::TensorProto &initializer = *graph.add_initializer();
    initializer = std::get<onnx::TensorProto>(test.inputs[index]);
    initializer.set_name(graph.input(index).name());
    moveFloats(initializer);
  }
  // Before IR version 4 initializers were inputs too, as they are here.
  return model.SerializeAsString();
}

} // namespace parplan::test
