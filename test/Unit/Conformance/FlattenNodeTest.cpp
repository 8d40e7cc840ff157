//===- FlattenNodeTest.cpp - Sequences and optionals as tensors -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "NodeTest.h"

namespace parplan::test {

namespace {

class Flattener {
public:
  explicit Flattener(const NodeTest &test) : test(test) {
    result.name = test.name;
    result.model = test.model;
    graph().clear_input();
    graph().clear_output();
    graph().clear_node();
  }

  NodeTest flatten() {
    const onnx::GraphProto &from = test.model.graph();
    for (int i = 0; i < from.input_size(); ++i)
      addInput(from.input(i).name(), from.input(i).type(), test.inputs[i],
               from.input(i));
    for (const onnx::NodeProto &node : from.node())
      *graph().add_node() = node;
    for (int i = 0; i < from.output_size(); ++i)
      addOutput(from.output(i).name(), test.outputs[i], from.output(i));
    return std::move(result);
  }

private:
  onnx::GraphProto &graph() { return *result.model.mutable_graph(); }

  onnx::NodeProto &addNode(const std::string &type,
                           const std::vector<std::string> &inputs,
                           const std::string &output) {
    onnx::NodeProto &node = *graph().add_node();
    node.set_op_type(type);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }

  void declare(onnx::ValueInfoProto &info, const std::string &name,
               const onnx::TensorProto &data) {
    info.set_name(name);
    onnx::TypeProto::Tensor &type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(data.data_type());
    type.mutable_shape();
    for (int64_t size : data.dims())
      type.mutable_shape()->add_dim()->set_dim_value(size);
  }

  void addTensorInput(const std::string &name, const onnx::TensorProto &data) {
    declare(*graph().add_input(), name, data);
    result.inputs.push_back(data);
  }

  void addSequenceInput(const std::string &name, const onnx::TypeProto &type,
                        const onnx::SequenceProto &data) {
    std::vector<std::string> items;
    for (const onnx::TensorProto &item : data.tensor_values()) {
      items.push_back(name + "_" + std::to_string(items.size()));
      addTensorInput(items.back(), item);
    }
    if (!items.empty()) {
      addNode("SequenceConstruct", items, name);
      return;
    }
    onnx::AttributeProto &element =
        *addNode("SequenceEmpty", {}, name).add_attribute();
    element.set_name("dtype");
    element.set_type(onnx::AttributeProto::INT);
    element.set_i(type.sequence_type().elem_type().tensor_type().elem_type());
  }

  void addInput(const std::string &name, const onnx::TypeProto &type,
                const NodeTestValue &value, const onnx::ValueInfoProto &info) {
    if (const auto *tensor = std::get_if<onnx::TensorProto>(&value)) {
      *graph().add_input() = info;
      result.inputs.push_back(*tensor);
      return;
    }
    if (const auto *sequence = std::get_if<onnx::SequenceProto>(&value))
      return addSequenceInput(name, type, *sequence);
    const auto &optional = std::get<onnx::OptionalProto>(value);
    const onnx::TypeProto &inner = type.optional_type().elem_type();
    std::vector<std::string> content = {name + "_value"};
    if (optional.has_tensor_value())
      addTensorInput(content[0], optional.tensor_value());
    else if (optional.has_sequence_value())
      addSequenceInput(content[0], inner, optional.sequence_value());
    else
      content.clear();
    onnx::NodeProto &node = addNode("Optional", content, name);
    if (content.empty()) {
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name("type");
      attribute.set_type(onnx::AttributeProto::TYPE_PROTO);
      *attribute.mutable_tp() = inner;
    }
  }

  onnx::TensorProto makeNumber(int64_t number) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(number);
    return tensor;
  }

  void addTensorOutput(const std::string &name, const onnx::TensorProto &data) {
    declare(*graph().add_output(), name, data);
    result.outputs.push_back(data);
  }

  /// The length and each tensor.
  void addSequenceOutput(const std::string &name,
                         const onnx::SequenceProto &data) {
    addNode("SequenceLength", {name}, name + "_length");
    addTensorOutput(name + "_length", makeNumber(data.tensor_values_size()));
    for (int i = 0; i < data.tensor_values_size(); ++i) {
      std::string item = name + "_" + std::to_string(i);
      onnx::TensorProto &position = *graph().add_initializer();
      position = makeNumber(i);
      position.set_name(item + "_position");
      addNode("SequenceAt", {name, position.name()}, item);
      addTensorOutput(item, data.tensor_values(i));
    }
  }

  void addOutput(const std::string &name, const NodeTestValue &value,
                 const onnx::ValueInfoProto &info) {
    if (const auto *tensor = std::get_if<onnx::TensorProto>(&value)) {
      *graph().add_output() = info;
      result.outputs.push_back(*tensor);
      return;
    }
    if (const auto *sequence = std::get_if<onnx::SequenceProto>(&value))
      return addSequenceOutput(name, *sequence);
    const auto &optional = std::get<onnx::OptionalProto>(value);
    if (!optional.has_tensor_value() && !optional.has_sequence_value()) {
      onnx::TensorProto no;
      no.set_data_type(onnx::TensorProto::BOOL);
      no.add_int32_data(0);
      addNode("OptionalHasElement", {name}, name + "_has");
      return addTensorOutput(name + "_has", no);
    }
    std::string content = name + "_value";
    addNode("OptionalGetElement", {name}, content);
    if (optional.has_tensor_value())
      addTensorOutput(content, optional.tensor_value());
    else
      addSequenceOutput(content, optional.sequence_value());
  }

  const NodeTest &test;
  NodeTest result;
};

} // namespace

std::optional<NodeTest> flattenNodeTest(const NodeTest &test) {
  bool isFlat = true;
  for (const auto *values : {&test.inputs, &test.outputs})
    for (const NodeTestValue &value : *values)
      isFlat &= std::holds_alternative<onnx::TensorProto>(value);
  if (isFlat)
    return std::nullopt;
  return Flattener(test).flatten();
}

} // namespace parplan::test
