//===- GuardStructure.cpp - Versions, nesting, functions -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Load/LoadedModel.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <algorithm>
#include <map>

namespace parplan::importer {

static void guardOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &opsets,
    std::string_view owner, const LoadedModel &model,
    DiagnosticEngine &diagnostics) {
  Location location = Location::inFile(model.path);
  for (const onnx::OperatorSetIdProto &opset : opsets) {
    bool isDefault = opset.domain().empty() || opset.domain() == "ai.onnx";
    if (isDefault && (opset.version() < limits::minimumOpset ||
                      opset.version() > limits::maximumOpset))
      diagnostics.error(codes::unsupportedVersion, location)
          << owner << " uses opset " << opset.version() << "; supported are "
          << limits::minimumOpset << " to " << limits::maximumOpset;
    int imports =
        std::count_if(opsets.begin(), opsets.end(), [&](const auto &other) {
          return &other <= &opset && other.domain() == opset.domain();
        });
    if (imports == 2)
      diagnostics.error(codes::malformedModel, location)
          << owner << " imports the domain " << quoteName(opset.domain())
          << " twice";
  }
}

void guardStructure(LoadedModel &model, DiagnosticEngine &diagnostics) {
  const onnx::ModelProto &message = model.getModel();
  Location location = Location::inFile(model.path);
  if (message.ir_version() < limits::minimumIrVersion ||
      message.ir_version() > limits::maximumIrVersion)
    diagnostics.error(codes::unsupportedVersion, location)
        << "IR version " << message.ir_version() << "; supported are "
        << limits::minimumIrVersion << " to " << limits::maximumIrVersion;
  if (message.opset_import_size() == 0)
    diagnostics.error(codes::unsupportedVersion, location)
        << "the model names no opset";
  guardOpsets(message.opset_import(), "the model", model, diagnostics);
  for (const onnx::FunctionProto &function : message.functions())
    guardOpsets(function.opset_import(),
                concat("function ", quoteName(function.name())), model,
                diagnostics);
  if (message.graph().sparse_initializer_size() > 0)
    diagnostics.error(codes::unsupportedType, location)
        << "the model has sparse initializers";
}

namespace {

using FunctionKey =
    std::tuple<std::string_view, std::string_view, std::string_view>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Walks the calls of functions through all nested graphs and counts the nodes
/// that expanding them would give.
class CallGraph {
public:
  CallGraph(const LoadedModel &model, DiagnosticEngine &diagnostics)
      : model(model), diagnostics(diagnostics) {
    for (const onnx::FunctionProto &function : model.getModel().functions()) {
      FunctionKey key(function.domain(), function.name(), function.overload());
      if (!functions.try_emplace(key, State{&function}).second)
        diagnostics.error(codes::badFunction, Location::inFile(model.path))
            << "function " << quoteName(function.name()) << " of domain "
            << quoteName(function.domain()) << " is defined twice";
    }
  }

  void check() {
    int64_t total = countNodes(model.getModel().graph().node(), 0, 0);
    for (auto &[key, state] : functions)
      expand(state, 0);
    if (total > limits::nodes)
      diagnostics.error(codes::modelTooLarge, Location::inFile(model.path))
          << "with its functions expanded the model has more than "
          << limits::nodes << " nodes";
    if (isTooDeep)
      diagnostics.error(codes::modelTooLarge, Location::inFile(model.path))
          << "graphs nest more than " << limits::graphDepth
          << " levels, or function calls more than " << limits::callDepth;
  }

private:
  enum class Visit { fresh, open, done };
  struct State {
    const onnx::FunctionProto *function;
    Visit visit = Visit::fresh;
    int64_t nodes = 0;
    /// Length of the longest chain of calls from here.
    int depth = 1;
  };

  /// Counts saturate just above the limit.
  static int64_t addNodes(int64_t left, int64_t right) {
    return std::min(left + right, limits::nodes + 1);
  }

  int64_t expand(State &state, int callDepth) {
    if (state.visit == Visit::done)
      return state.nodes;
    if (state.visit == Visit::open) {
      diagnostics.error(codes::badFunction, Location::inFile(model.path))
          << "function " << quoteName(state.function->name())
          << " calls itself, directly or through others";
      return 0;
    }
    if (callDepth > limits::callDepth) {
      isTooDeep = true;
      return 0;
    }
    state.visit = Visit::open;
    state.nodes = countNodes(state.function->node(), 0, callDepth + 1);
    state.visit = Visit::done;
    return state.nodes;
  }

  int64_t countNodes(const Nodes &nodes, int graphDepth, int callDepth) {
    if (graphDepth > limits::graphDepth) {
      isTooDeep = true;
      return 0;
    }
    int64_t count = nodes.size();
    for (const onnx::NodeProto &node : nodes) {
      if (!functions.empty()) {
        auto callee = functions.find(
            FunctionKey(node.domain(), node.op_type(), node.overload()));
        if (callee != functions.end())
          count = addNodes(count, expand(callee->second, callDepth));
      }
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g())
          count = addNodes(count, countNodes(attribute.g().node(),
                                             graphDepth + 1, callDepth));
        for (const onnx::GraphProto &graph : attribute.graphs())
          count = addNodes(count,
                           countNodes(graph.node(), graphDepth + 1, callDepth));
      }
    }
    return addNodes(count, 0);
  }

  const LoadedModel &model;
  DiagnosticEngine &diagnostics;
  std::map<FunctionKey, State> functions;
  bool isTooDeep = false;
};

} // namespace

void guardFunctions(LoadedModel &model, DiagnosticEngine &diagnostics) {
  CallGraph(model, diagnostics).check();
}

} // namespace parplan::importer
