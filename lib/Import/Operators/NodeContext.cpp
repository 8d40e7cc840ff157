//===- NodeContext.cpp - One node while it is imported ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/NodeContext.h"

#include "lib/Import/Operators/Tensors.h"

#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

namespace parplan::importer {

ValueId NodeContext::getAnyInput(size_t index) const {
  if (!hasInput(index))
    failNode(codes::badNode, "operand ", index, " is missing");
  const Value &value = builder.graph.getValue(inputs[index]);
  if (value.kind == ValueKind::poison)
    throw PoisonedOperand();
  if (value.kind == ValueKind::foreign)
    failNode(codes::unsupportedType, "it reads ",
             builder.foreignValues[value.leaf]);
  return inputs[index];
}

ValueId NodeContext::getInput(size_t index) const {
  ValueId input = getAnyInput(index);
  switch (builder.graph.getValue(input).kind) {
  case ValueKind::sequence:
    failNode(codes::badNode, "operand ", index,
             " is a sequence of tensors, not a tensor");
  case ValueKind::nothing:
    failNode(codes::badNode, "operand ", index,
             " is an optional without a value");
  default:
    return input;
  }
}

llvm::SmallVector<ValueId, 4> NodeContext::getAllInputs() const {
  llvm::SmallVector<ValueId, 4> all;
  for (size_t i = 0; i < inputs.size(); ++i)
    all.push_back(getInput(i));
  if (all.empty())
    failNode(codes::badNode, "it has no operands");
  return all;
}

const TensorSequence &NodeContext::getSequence(size_t index) const {
  const Value &value = builder.graph.getValue(getAnyInput(index));
  if (value.kind != ValueKind::sequence)
    failNode(codes::badNode, "operand ", index,
             " is not a sequence of tensors");
  return builder.sequences[value.leaf];
}

std::vector<int64_t>
NodeContext::getKnownIntegers(size_t index, std::string_view what) const {
  ValueId value = getInput(index);
  ElementType type = builder.getType(value);
  if (isFloat(type))
    failNode(codes::badNode, what, " has type ", printElementType(type));
  std::optional<std::vector<int64_t>> integers = builder.getIntegers(value);
  if (!integers)
    failNode(codes::unknownValue, what, " (operand ", index,
             ") is not known when the model is imported: it depends on an "
             "input of the model or on weights");
  return *integers;
}

int64_t NodeContext::getKnownInteger(size_t index,
                                     std::string_view what) const {
  std::vector<int64_t> integers = getKnownIntegers(index, what);
  if (integers.size() != 1)
    failNode(codes::badNode, what, " has ", integers.size(), " elements");
  return integers[0];
}

std::vector<double> NodeContext::getKnownReals(size_t index,
                                               std::string_view what) const {
  ValueId id = getInput(index);
  ElementType type = builder.getType(id);
  if (!isFloat(type))
    failNode(codes::badNode, what, " has type ", printElementType(type));
  std::optional<std::vector<Cell>> cells = builder.getCells(id);
  if (!cells)
    failNode(codes::unknownValue, what, " (operand ", index,
             ") is not known when the model is imported: it depends on an "
             "input of the model");
  std::vector<double> reals;
  for (Cell cell : *cells)
    reals.push_back(cell.real);
  return reals;
}

Cell NodeContext::getKnownScalar(size_t index, std::string_view what) const {
  std::optional<Cell> cell = builder.getSplat(getInput(index));
  if (!cell)
    failNode(codes::unknownValue, what, " (operand ", index,
             ") is not one number that is known when the model is imported");
  return *cell;
}

size_t NodeContext::getOutputCount() const { return node.output_size(); }

bool NodeContext::isOutputWanted(size_t index) const {
  return index < size_t(node.output_size()) && !node.output(index).empty();
}

void NodeContext::setOutput(size_t index, ValueId value) {
  if (outputs.size() <= index)
    outputs.resize(index + 1, noValue);
  outputs[index] = value;
}

const onnx::AttributeProto *
NodeContext::getAttribute(std::string_view name) const {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name) {
      if (attribute.ref_attr_name().empty())
        return &attribute;
      return findAttribute(scope, attribute.ref_attr_name());
    }
  return nullptr;
}

static const onnx::AttributeProto *
requireType(const onnx::AttributeProto *attribute, std::string_view name,
            onnx::AttributeProto::AttributeType type) {
  if (attribute && attribute->type() != type)
    failNode(codes::badNode, "attribute ", name, " has another type than ",
             onnx::AttributeProto::AttributeType_Name(type));
  return attribute;
}

int64_t NodeContext::getInteger(std::string_view name,
                                int64_t otherwise) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

int64_t NodeContext::getRequiredInteger(std::string_view name) const {
  if (!hasAttribute(name))
    failNode(codes::badNode, "attribute ", name, " is missing");
  return getInteger(name, 0);
}

double NodeContext::getReal(std::string_view name, double otherwise) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : otherwise;
}

std::string NodeContext::getText(std::string_view name,
                                 std::string_view otherwise) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : std::string(otherwise);
}

ElementType NodeContext::getElementType(std::string_view name,
                                        ElementType otherwise) const {
  if (!hasAttribute(name))
    return otherwise;
  int64_t number = getInteger(name, 0);
  std::optional<ElementType> type = number >= 0 && number <= 1000
                                        ? fromOnnxType(int32_t(number))
                                        : std::nullopt;
  if (!type)
    failNode(codes::unsupportedType, name, " with elements of type ",
             printOnnxType(int32_t(number)));
  return *type;
}

std::vector<std::string> NodeContext::getTexts(std::string_view name) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::STRINGS);
  if (!attribute)
    return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::optional<std::vector<int64_t>>
NodeContext::getIntegers(std::string_view name) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

std::optional<std::vector<double>>
NodeContext::getReals(std::string_view name) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return std::vector<double>(attribute->floats().begin(),
                             attribute->floats().end());
}

ValueId NodeContext::getTensor(std::string_view name) const {
  const auto *attribute =
      requireType(getAttribute(name), name, onnx::AttributeProto::TENSOR);
  return attribute ? makeConstant(builder, attribute->t()) : noValue;
}

} // namespace parplan::importer
