//===- TestModels.cpp - Small models as text -------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Sweep/ImportGraph.h"

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <stdlib.h>

namespace parplan::test {

using namespace importer;

TestFolder::TestFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "parplan-import-XXXXXX")
          .string();
  path = mkdtemp(pattern.data());
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path); }

std::string TestFolder::write(const std::string &name,
                              const std::string &bytes) const {
  std::string file = path + "/" + name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

onnx::ModelProto parseModel(const std::string &graph, int opset,
                            const std::string &functions) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
      ", \"local\" : 1]>\n" + graph + "\n" + functions;
  onnx::ModelProto model;
  onnx::Common::Status status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

std::string serialize(const onnx::ModelProto &model) {
  return model.SerializeAsString();
}

static std::string printOperand(const Graph &graph, ValueId id,
                                std::map<ValueId, int> &numbers) {
  const Value &value = graph.getValue(id);
  std::ostringstream out;
  if (value.kind == ValueKind::input) {
    out << graph.inputs[value.leaf].name;
  } else if (value.kind == ValueKind::parameter) {
    out << "@" << graph.parameters[value.leaf].name;
  } else if (const Constant *constant = graph.getConstant(id)) {
    if (constant->isSplat()) {
      if (isFloat(constant->type))
        out << constant->cells[0].real;
      else
        out << constant->cells[0].integer;
    } else if (constant->isAffine()) {
      out << "affine" << printShape(constant->coefficients) << "+"
          << constant->offset;
    } else {
      out << "{";
      for (size_t i = 0; i < constant->cells.size(); ++i) {
        out << (i ? " " : "");
        if (isFloat(constant->type))
          out << constant->cells[i].real;
        else
          out << constant->cells[i].integer;
      }
      out << "}";
    }
    if (!value.shape.empty())
      out << printShape(value.shape);
  } else {
    out << "%" << numbers[id];
  }
  return out.str();
}

static std::string printGraph(const ImportedGraph &imported) {
  static const char *const names[] = {"abs",
                                      "neg",
                                      "sign",
                                      "exp",
                                      "log",
                                      "sqrt",
                                      "reciprocal",
                                      "sin",
                                      "cos",
                                      "tan",
                                      "asin",
                                      "acos",
                                      "atan",
                                      "sinh",
                                      "cosh",
                                      "asinh",
                                      "acosh",
                                      "atanh",
                                      "tanh",
                                      "sigmoid",
                                      "erf",
                                      "floor",
                                      "ceil",
                                      "round",
                                      "relu",
                                      "silu",
                                      "gelu",
                                      "not",
                                      "is_nan",
                                      "is_inf",
                                      "bitcast",
                                      "cast",
                                      "add",
                                      "sub",
                                      "mul",
                                      "div",
                                      "pow",
                                      "mod",
                                      "max",
                                      "min",
                                      "and",
                                      "or",
                                      "xor",
                                      "compare",
                                      "select",
                                      "iota",
                                      "reshape",
                                      "broadcast",
                                      "transpose",
                                      "slice",
                                      "concat",
                                      "pad",
                                      "embedding",
                                      "gather",
                                      "gather_elements",
                                      "gather_nd",
                                      "scatter_elements",
                                      "scatter_nd",
                                      "topk",
                                      "cumsum",
                                      "reduce",
                                      "matmul",
                                      "conv",
                                      "conv_transpose",
                                      "max_pool",
                                      "average_pool",
                                      "softmax",
                                      "log_softmax",
                                      "layer_norm",
                                      "rms_norm",
                                      "batch_norm",
                                      "rope",
                                      "attention"};
  const Graph &graph = imported.graph;
  std::ostringstream out;
  std::map<ValueId, int> numbers;
  int next = 0;
  for (OpId id : imported.order) {
    const Op &op = graph.getOp(id);
    out << "%" << next << " = " << names[int(op.kind)];
    for (uint32_t i = 0; i < op.resultCount; ++i)
      numbers[op.firstResult + i] = next++;
    if (!op.text.empty())
      out << " " << op.text;
    for (ValueId operand : op.operands)
      out << " " << printOperand(graph, operand, numbers);
    if (!op.integers.empty() && op.kind != OpKind::layerNorm &&
        op.kind != OpKind::rmsNorm && op.kind != OpKind::batchNorm &&
        op.kind != OpKind::attention && op.kind != OpKind::pad)
      out << " " << printShape(op.integers);
    out << "\n";
  }
  out << "return";
  for (const GraphOutput &output : graph.outputs) {
    const Value &value = graph.getValue(output.value);
    out << " " << printOperand(graph, output.value, numbers) << ":"
        << printElementType(value.type) << printShape(value.shape);
  }
  return out.str();
}

Outcome importFile(const ImportOptions &options) {
  DiagnosticEngine diagnostics;
  std::optional<ImportedGraph> imported = importGraph(options, diagnostics);
  Outcome outcome;
  outcome.succeeded = imported.has_value();
  EXPECT_EQ(outcome.succeeded, !diagnostics.hasErrors());
  for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
    outcome.codes.push_back(diagnostic.code.number);
  outcome.code = outcome.codes.empty() ? 0 : outcome.codes[0];
  outcome.exitCode = int(diagnostics.getExitCode());
  outcome.text = diagnostics.render();
  if (imported) {
    outcome.graph = printGraph(*imported);
    outcome.ops = imported->order.size();
  }
  return outcome;
}

Outcome importBytes(const std::string &bytes, ImportOptions options) {
  TestFolder folder;
  options.path = folder.write("model.onnx", bytes);
  return importFile(options);
}

Outcome importText(const std::string &graph, int opset, ImportOptions options,
                   const std::string &functions) {
  return importBytes(serialize(parseModel(graph, opset, functions)),
                     std::move(options));
}

} // namespace parplan::test
