//===- NarrowWeightsTest.cpp - Packed initializers, decoded ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Graph/Element.h"
#include "lib/Import/Import.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"

#include "onnx/onnx_pb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;
using parplan::importer::ElementType;

namespace {

struct Weight {
  ElementType type;
  std::vector<int64_t> shape;
};

/// Larger than constants; with whole bytes per row, and not.
const Weight weights[] = {
    {ElementType::i4, {64, 256}},
    {ElementType::u4, {90, 99}},
    {ElementType::i2, {128, 260}},
    {ElementType::u2, {17, 1001}},
    {ElementType::f8e4m3fn, {64, 80}},
    {ElementType::f8e4m3fnuz, {5000}},
    {ElementType::f8e5m2, {3, 41, 40}},
    {ElementType::f8e5m2fnuz, {71, 71}},
    {ElementType::f8e8m0, {4100}},
    {ElementType::f4e2m1, {91, 91}},
    {ElementType::i4, {3}},
};

class NarrowWeights : public testing::Test {
protected:
  /// One output per initializer, cast to float.
  onnx::ModelProto makeModel() {
    onnx::ModelProto model = parseModel(
        "g (float[1] x) => (float[1] y) { y = Relu(x) }", /*opset=*/25);
    onnx::GraphProto &graph = *model.mutable_graph();
    graph.clear_input();
    graph.clear_node();
    graph.clear_output();
    std::mt19937 random(11);
    for (const Weight &weight : weights) {
      std::string name = "w" + std::to_string(graph.initializer_size());
      onnx::TensorProto &tensor = *graph.add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(toOnnxType(weight.type));
      onnx::ValueInfoProto &output = *graph.add_output();
      output.set_name(name + "_float");
      auto &type = *output.mutable_type()->mutable_tensor_type();
      type.set_elem_type(onnx::TensorProto::FLOAT);
      for (int64_t size : weight.shape) {
        tensor.add_dims(size);
        type.mutable_shape()->add_dim()->set_dim_value(size);
      }
      std::string bytes(
          getTensorBytes(weight.type, importer::countElements(weight.shape)),
          '\0');
      for (char &byte : bytes)
        byte = char(random());
      tensor.set_raw_data(bytes);
      onnx::NodeProto &node = *graph.add_node();
      node.set_op_type("Cast");
      node.add_input(name);
      node.add_output(output.name());
      onnx::AttributeProto &to = *node.add_attribute();
      to.set_name("to");
      to.set_type(onnx::AttributeProto::INT);
      to.set_i(onnx::TensorProto::FLOAT);
    }
    return model;
  }

  MLIRContext context;
};

TEST_F(NarrowWeights, ArePackedParametersAndDecoded) {
  onnx::ModelProto model = makeModel();
  std::string bytes = serialize(model);
  TestFolder folder;
  ImportOptions options;
  options.path = folder.write("m.onnx", bytes);
  parplan::DiagnosticEngine diagnostics;
  ImportedModel imported = importModel(context, options, diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();

  // All but the last, which is a constant.
  InitializerValues values;
  for (InitializerOp op : imported.module->getOps<InitializerOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    ASSERT_TRUE(type.getElementType().isUnsignedInteger(8));
    ASSERT_EQ(type.getNumElements(), op.getLength());
    Tensor value(type);
    for (int64_t i = 0; i < value.getSize(); ++i)
      value[i].integer = uint8_t(bytes[op.getOffset() + i]);
    values[op.getSymName()] = std::move(value);
  }
  EXPECT_EQ(values.size(), std::size(weights) - 1);
  auto results = interpret(imported.module->lookupSymbol<func::FuncOp>("main"),
                           {}, values);
  ASSERT_TRUE(succeeded(results));
  for (size_t index = 0; index < std::size(weights); ++index) {
    ElementType type = weights[index].type;
    const std::string &raw = model.graph().initializer(index).raw_data();
    for (int64_t i = 0; i < (*results)[index].getSize(); ++i) {
      importer::Cell cell = importer::readElement(raw, i, type);
      double expected = isFloat(type) ? cell.real : double(cell.integer),
             actual = (*results)[index].getNumber(i);
      ASSERT_TRUE(actual == expected ||
                  (std::isnan(actual) && std::isnan(expected)))
          << printElementType(type) << " " << i << ": " << actual << ", not "
          << expected;
    }
  }
}

TEST_F(NarrowWeights, OfOtherSizeThanTheirShape) {
  onnx::ModelProto model = makeModel();
  model.mutable_graph()->mutable_initializer(1)->mutable_raw_data()->pop_back();
  EXPECT_EQ(importBytes(serialize(model)).code, 2010);
}

} // namespace
