//===- NodeTest.h - One of ONNX's tests of an operator ----------*- C++ -*-===//
//
// Part of parplan.
//
// A folder with `model.onnx` and the data of one run: `input_K.pb` for the K-th
// input of the graph, `output_K.pb` for its K-th output.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_NODETEST_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_NODETEST_H

#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace parplan::test {

using NodeTestValue =
    std::variant<onnx::TensorProto, onnx::SequenceProto, onnx::OptionalProto>;

struct NodeTest {
  std::string name;
  onnx::ModelProto model;
  std::vector<NodeTestValue> inputs, outputs;
};

/// Names of all tests in the folder, sorted.
std::vector<std::string> listNodeTests(const std::string &folder);

/// Throws std::runtime_error if a file is missing or cannot be parsed.
NodeTest readNodeTest(const std::string &folder, const std::string &name);

/// The same test on tensors only: a sequence or optional that is an input is
/// made of its tensors by nodes before the others, one that is an output is
/// taken apart by nodes behind them. None if all are tensors already.
std::optional<NodeTest> flattenNodeTest(const NodeTest &test);

/// The model with the values of `constants`, by number of the input, as
/// initializers. Floats are typed data there: an importer takes them for
/// numbers, not for weights.
std::string bindInputs(const NodeTest &test, const std::vector<int> &constants);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_NODETEST_H
