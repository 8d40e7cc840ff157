//===- Sweep.cpp - From a loaded model to the folded graph -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/Sweep.h"

#include "lib/Import/Sweep/Leaves.h"
#include "lib/Import/Sweep/NodeSweep.h"

#include "parplan/Support/Text.h"

namespace parplan::importer {

namespace {

class Sweep {
public:
  Sweep(const LoadedModel &model, const SweepOptions &options,
        DiagnosticEngine &diagnostics)
      : model(model), options(options), diagnostics(diagnostics),
        result(std::make_unique<SweptModel>()), builder(result->graph),
        nodes(model, builder, diagnostics) {
    builder.readParameter = [&model](const Parameter &parameter) {
      return readWeights(model, parameter);
    };
  }

  std::unique_ptr<SweptModel> run() {
    size_t before = diagnostics.getErrorCount();
    const onnx::GraphProto &graph = model.getModel().graph();
    Scope scope;
    scope.opsets = &model.getModel().opset_import();
    scope.isMain = true;
    scope.names.reserve(graph.node_size() + model.initializers.size());
    // Without sizes of the inputs the rest would only repeat what is missing,
    // but operators that are not supported are worth knowing at once.
    bool isBound = addLeaves(graph, scope);
    if (!isBound)
      nodes.reportUnsupported(graph.node(), scope);
    else
      result->isFolded = nodes.importMain(graph.node(), scope);
    if (diagnostics.getErrorCount() == before)
      addOutputs(graph, scope);
    if (diagnostics.getErrorCount() == before && options.needWeights)
      checkWeights(model, result->graph, diagnostics);
    if (diagnostics.getErrorCount() != before)
      return nullptr;
    if (options.keepNames)
      for (const auto &[name, value] : scope.names)
        result->names.emplace_back(name.str(), value);
    for (const onnx::NodeProto &node : graph.node())
      result->operators.push_back(node.op_type());
    return std::move(result);
  }

private:
  bool addLeaves(const onnx::GraphProto &graph, Scope &scope) {
    std::vector<bool> isInitializer(model.inputCount, false);
    llvm::DenseMap<llvm::StringRef, int> inputs;
    for (int i = 0; i < model.inputCount; ++i)
      inputs[graph.input(i).name()] = i;
    for (const Initializer &initializer : model.initializers)
      if (auto input = inputs.find(initializer.name); input != inputs.end())
        isInitializer[input->second] = true;
    std::optional<BoundInputs> bound =
        bindInputs(graph, model.path, options.dims, options.globalBatch,
                   options.chooseSamples, isInitializer, diagnostics);
    if (!bound)
      return false;
    result->batch = bound->batch;
    result->batchSymbol = bound->batchSymbol;
    result->symbols = bound->symbols;
    bindings = std::move(bound->bindings);
    for (int i = 0, next = 0; i < model.inputCount; ++i)
      if (!isInitializer[i])
        nodes.define(graph.input(i).name(), addInput(bound->inputs[next++]),
                     scope);
    builder.node = noNode;
    Leaves leaves(model, builder);
    for (const Initializer &initializer : model.initializers)
      nodes.define(initializer.name, leaves.add(initializer), scope);
    return true;
  }

  ValueId addInput(const BoundInputs::Input &input) {
    if (!input.foreign.empty())
      return builder.addForeign(concat("the input ", quoteName(input.name),
                                       ", which ", input.foreign));
    ElementType type = *fromOnnxType(input.onnxType);
    // Without elements there is nothing to be given: a constant.
    if (countElements(input.shape) == 0)
      return builder.makeDense(type, input.shape, {});
    ValueId value = builder.graph.addLeaf(ValueKind::input, type, input.shape,
                                          builder.graph.inputs.size());
    builder.graph.inputs.push_back({input.name, value, input.hasBatch});
    return value;
  }

  /// The node that makes a value of the main graph, else the file.
  Location locateProducer(const onnx::GraphProto &graph,
                          const std::string &name) const {
    for (int node = 0; node < graph.node_size(); ++node)
      if (llvm::is_contained(graph.node(node).output(), name))
        return model.locateNode(node, graph.node(node).op_type());
    return Location::inFile(model.path);
  }

  void addOutputs(const onnx::GraphProto &graph, const Scope &scope) {
    Location location = Location::inFile(model.path);
    if (graph.output_size() == 0)
      diagnostics.error(codes::malformedModel, location)
          << "the model has no outputs";
    for (const onnx::ValueInfoProto &output : graph.output()) {
      std::optional<ValueId> found = scope.find(output.name());
      if (!found) {
        diagnostics.error(codes::unknownName, location)
            << "nothing defines the output " << quoteName(output.name());
        continue;
      }
      ValueId id = *found;
      const Value &value = builder.graph.getValue(id);
      if (nodes.hasUnknownSize(output.name())) {
        diagnostics.error(codes::unknownValue,
                          locateProducer(graph, output.name()))
            << "the size of the output " << quoteName(output.name())
            << " is not known when the model is imported";
        continue;
      }
      if (value.kind == ValueKind::foreign) {
        diagnostics.error(codes::unsupportedType, location)
            << builder.foreignValues[value.leaf] << ", is an output";
        continue;
      }
      if (value.kind == ValueKind::sequence ||
          value.kind == ValueKind::nothing) {
        diagnostics.error(codes::unsupportedType,
                          locateProducer(graph, output.name()))
            << "the output " << quoteName(output.name())
            << (value.kind == ValueKind::nothing
                    ? " is an optional without a value"
                    : " is a sequence of tensors");
        continue;
      }
      if (countElements(value.shape) == 0)
        diagnostics.error(codes::unsupportedType,
                          locateProducer(graph, output.name()))
            << "the output " << quoteName(output.name()) << " has no elements";
      checkDeclared(output, value);
      builder.graph.outputs.push_back({output.name(), id});
    }
  }

  void checkDeclared(const onnx::ValueInfoProto &output, const Value &value) {
    auto shape = readDeclaredShape(output, bindings);
    bool agrees = !shape || shape->size() == value.shape.size();
    for (size_t i = 0; agrees && shape && i < shape->size(); ++i)
      agrees = (*shape)[i] < 0 || (*shape)[i] == value.shape[i];
    int32_t type = output.type().tensor_type().elem_type();
    if (agrees && (type == 0 || fromOnnxType(type) == value.type))
      return;
    diagnostics.error(codes::shapeContradiction,
                      locateProducer(model.getModel().graph(), output.name()))
        << "the output " << quoteName(output.name()) << " is declared as "
        << printOnnxType(type) << " "
        << (shape ? printShape(*shape) : std::string("of any shape"))
        << ", but is " << printElementType(value.type) << " "
        << printShape(value.shape);
  }

  const LoadedModel &model;
  const SweepOptions &options;
  DiagnosticEngine &diagnostics;
  std::unique_ptr<SweptModel> result;
  GraphBuilder builder;
  NodeSweep nodes;
  DimBindings bindings;
};

} // namespace

std::unique_ptr<SweptModel> sweepModel(const LoadedModel &model,
                                       const SweepOptions &options,
                                       DiagnosticEngine &diagnostics) {
  return Sweep(model, options, diagnostics).run();
}

} // namespace parplan::importer
