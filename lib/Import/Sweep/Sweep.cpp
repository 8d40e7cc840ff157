//===- Sweep.cpp - From a loaded model to the folded graph -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/Sweep.h"

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Operators/Tensors.h"
#include "lib/Import/Sweep/Leaves.h"
#include "lib/Import/Sweep/ListedRows.h"

#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <map>

namespace parplan::importer {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Opsets = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

/// The names that a node may read. A function has no parent; the branch of a
/// condition has the graph around it.
struct Scope {
  Scope *parent = nullptr;
  llvm::DenseMap<llvm::StringRef, ValueId> names;
  const Opsets *opsets = nullptr;
  /// Attributes of the call, by name, and the function's defaults.
  std::map<std::string_view, const onnx::AttributeProto *> attributes;
  bool isMain = false;

  ValueId find(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto found = scope->names.find(name); found != scope->names.end())
        return found->second;
    return noValue;
  }
  int getOpset(std::string_view domain) const {
    bool isDefault = domain.empty() || domain == "ai.onnx";
    for (const onnx::OperatorSetIdProto &opset : *opsets)
      if (opset.domain() == domain ||
          (isDefault &&
           (opset.domain().empty() || opset.domain() == "ai.onnx")))
        return int(opset.version());
    return 0;
  }
};

const onnx::AttributeProto *findAttribute(const void *scope,
                                          std::string_view name) {
  const Scope *place = static_cast<const Scope *>(scope);
  for (; place; place = place->parent)
    if (auto found = place->attributes.find(name);
        found != place->attributes.end())
      return found->second;
  return nullptr;
}

class Sweep {
public:
  Sweep(const LoadedModel &model, const SweepOptions &options,
        DiagnosticEngine &diagnostics)
      : model(model), options(options), diagnostics(diagnostics),
        result(std::make_unique<SweptModel>()), builder(result->graph),
        rows(builder) {
    builder.readParameter = [&model](const Parameter &parameter) {
      return readWeights(model, parameter);
    };
    for (const onnx::FunctionProto &function : model.getModel().functions())
      functions[{function.domain(), function.name(), function.overload()}] =
          &function;
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
      reportUnsupported(graph.node(), scope);
    else
      importNodes(graph.node(), scope);
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
  ValueId poison() {
    if (poisonValue == noValue)
      poisonValue =
          builder.graph.addLeaf(ValueKind::poison, ElementType::f32, {}, 0);
    return poisonValue;
  }

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
    for (BoundInputs::Input &input : bound->inputs) {
      ValueId value =
          builder.graph.addLeaf(ValueKind::input, *fromOnnxType(input.onnxType),
                                input.shape, builder.graph.inputs.size());
      builder.graph.inputs.push_back({input.name, value, input.hasBatch});
    }
    for (int i = 0, next = 0; i < model.inputCount; ++i)
      if (!isInitializer[i])
        define(graph.input(i).name(), builder.graph.inputs[next++].value,
               scope);
    builder.node = noNode;
    Leaves leaves(model, builder, diagnostics);
    for (const Initializer &initializer : model.initializers)
      define(initializer.name, leaves.add(initializer), scope);
    return true;
  }

  void define(std::string_view name, ValueId value, Scope &scope) {
    if (name.empty() || scope.names.try_emplace(name, value).second)
      return;
    diagnostics.error(codes::duplicateName, locate())
        << "the value " << quoteName(name) << " is defined twice";
  }

  Location locate() const {
    if (!current)
      return Location::inFile(model.path);
    return model.locateNode(builder.node, current->op_type());
  }

  bool isDefaultDomain(const onnx::NodeProto &node) const {
    return node.domain().empty() || node.domain() == "ai.onnx";
  }

  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const {
    if (functions.empty())
      return nullptr;
    auto found =
        functions.find({node.domain(), node.op_type(), node.overload()});
    return found == functions.end() ? nullptr : found->second;
  }

  /// Says what a node is not supported for; true if it did.
  bool reportIfUnsupported(const onnx::NodeProto &node, const Scope &scope,
                           OperatorMatch &match) {
    if (!isDefaultDomain(node)) {
      diagnostics.error(codes::unsupportedOperator, locate())
          << "operators of the domain " << quoteName(node.domain())
          << " are not supported";
      return true;
    }
    if (node.op_type() == "If")
      return false;
    int opset = scope.getOpset(node.domain());
    match = findOperator(node.op_type(), opset);
    if (!match.entry)
      diagnostics.error(codes::unsupportedOperator, locate())
          << "the operator " << quoteName(node.op_type())
          << " is not supported";
    else if (match.sinceVersion == 0)
      diagnostics.error(codes::unsupportedOperator, locate())
          << "the operator " << quoteName(node.op_type())
          << " is not supported in opset " << opset;
    else
      return false;
    return true;
  }

  /// Looks for unsupported operators only.
  void reportUnsupported(const Nodes &nodes, const Scope &scope) {
    builder.node = 0;
    for (const onnx::NodeProto &node : nodes) {
      current = &node;
      OperatorMatch match;
      if (!findFunction(node))
        reportIfUnsupported(node, scope, match);
      ++builder.node;
    }
    current = nullptr;
  }

  void importNodes(const Nodes &nodes, Scope &scope) {
    uint32_t index = 0;
    for (const onnx::NodeProto &node : nodes) {
      if (scope.isMain) {
        builder.node = index++;
        size_t opsBefore = builder.graph.getOpCount();
        importNode(node, scope);
        result->isFolded.push_back(builder.graph.getOpCount() == opsBefore);
      } else {
        importNode(node, scope);
      }
    }
    current = nullptr;
  }

  void importNode(const onnx::NodeProto &node, Scope &scope) {
    current = &node;
    llvm::SmallVector<ValueId, 4> inputs, outputs;
    bool isSound = true;
    for (const std::string &name : node.input()) {
      ValueId value = name.empty() ? noValue : scope.find(name);
      if (!name.empty() && value == noValue) {
        diagnostics.error(codes::unknownName, locate())
            << "it reads " << quoteName(name)
            << ", which nothing before it defines";
        isSound = false;
      }
      inputs.push_back(value);
    }
    OperatorMatch match;
    const onnx::FunctionProto *function = findFunction(node);
    if (!function && reportIfUnsupported(node, scope, match))
      isSound = false;
    if (isSound) {
      try {
        if ((function || node.op_type() == "If") &&
            readsListedRows(node, scope))
          failNode(codes::unknownValue, "an operand of unknown size");
        if (function)
          outputs = callFunction(node, *function, inputs, scope);
        else if (node.op_type() == "If")
          outputs = importCondition(node, inputs, scope);
        else
          outputs = importOperator(node, match, inputs, scope);
      } catch (const NodeFailure &failure) {
        current = &node;
        diagnostics.error(failure.code, locate()).help(failure.help)
            << failure.message;
        outputs.clear();
      } catch (const PoisonedOperand &) {
        outputs.clear();
      }
      current = &node;
    }
    for (int i = 0; i < node.output_size(); ++i) {
      ValueId value = size_t(i) < outputs.size() ? outputs[i] : noValue;
      if (value == noValue)
        value = poison();
      define(node.output(i), value, scope);
    }
  }

  /// Functions have names of their own; what branches read is not followed.
  bool readsListedRows(const onnx::NodeProto &node, const Scope &scope) const {
    if (!(scope.isMain || scope.parent) || !rows.reads(node))
      return false;
    if (!scope.isMain)
      failNode(codes::unknownValue, "an operand of unknown size");
    return true;
  }

  llvm::SmallVector<ValueId, 4> importOperator(const onnx::NodeProto &node,
                                               const OperatorMatch &match,
                                               llvm::ArrayRef<ValueId> given,
                                               const Scope &scope) {
    llvm::SmallVector<ValueId, 4> inputs(given);
    bool readsRows = readsListedRows(node, scope);
    if (readsRows)
      rows.prepare(node, inputs);
    NodeContext context(builder, node, match.sinceVersion, inputs, &scope,
                        findAttribute);
    if (scope.isMain && node.op_type() == "NonZero" && !readsRows &&
        !builder.graph.getConstant(context.getInput(0)))
      return {rows.list(node, context.getInput(0))};
    match.entry->import(context);
    if (readsRows)
      rows.follow(node, inputs, context.getOutput(0));
    llvm::SmallVector<ValueId, 4> outputs;
    for (int i = 0; i < node.output_size(); ++i) {
      outputs.push_back(context.getOutput(i));
      if (outputs.back() == noValue && !node.output(i).empty())
        failNode(codes::unsupportedForm, "its output ", i, " is not supported");
    }
    return outputs;
  }

  llvm::SmallVector<ValueId, 4>
  callFunction(const onnx::NodeProto &node, const onnx::FunctionProto &function,
               llvm::ArrayRef<ValueId> inputs, const Scope &caller) {
    Scope scope;
    scope.opsets = &function.opset_import();
    for (const onnx::AttributeProto &attribute : function.attribute_proto())
      scope.attributes[attribute.name()] = &attribute;
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.ref_attr_name().empty())
        scope.attributes[attribute.name()] = &attribute;
      else if (const onnx::AttributeProto *outer =
                   findAttribute(&caller, attribute.ref_attr_name()))
        scope.attributes[attribute.name()] = outer;
    if (node.input_size() > function.input_size())
      failNode(codes::badNode, "function ", quoteName(function.name()), " has ",
               function.input_size(), " inputs");
    for (int i = 0; i < function.input_size(); ++i)
      if (size_t(i) < inputs.size() && inputs[i] != noValue)
        define(function.input(i), inputs[i], scope);
    importNodes(function.node(), scope);
    llvm::SmallVector<ValueId, 4> outputs;
    for (const std::string &name : function.output())
      outputs.push_back(scope.find(name));
    return outputs;
  }

  llvm::SmallVector<ValueId, 4> importCondition(const onnx::NodeProto &node,
                                                llvm::ArrayRef<ValueId> inputs,
                                                Scope &outer) {
    NodeContext context(builder, node, 1, inputs, &outer, findAttribute);
    std::optional<Cell> condition = builder.getSplat(context.getInput(0));
    if (!condition)
      failNode(codes::unsupportedForm,
               "a condition that is not known when the model is imported");
    const onnx::AttributeProto *branch = context.getAttribute(
        condition->integer ? "then_branch" : "else_branch");
    if (!branch || !branch->has_g())
      failNode(codes::badNode, "a branch is missing");
    Scope scope;
    scope.parent = &outer;
    scope.opsets = outer.opsets;
    for (const onnx::TensorProto &tensor : branch->g().initializer())
      define(tensor.name(), makeConstant(builder, tensor), scope);
    importNodes(branch->g().node(), scope);
    llvm::SmallVector<ValueId, 4> outputs;
    for (const onnx::ValueInfoProto &output : branch->g().output())
      outputs.push_back(scope.find(output.name()));
    return outputs;
  }

  void addOutputs(const onnx::GraphProto &graph, const Scope &scope) {
    Location location = Location::inFile(model.path);
    if (graph.output_size() == 0)
      diagnostics.error(codes::malformedModel, location)
          << "the model has no outputs";
    for (const onnx::ValueInfoProto &output : graph.output()) {
      ValueId id = scope.find(output.name());
      if (id == noValue) {
        diagnostics.error(codes::unknownName, location)
            << "nothing defines the output " << quoteName(output.name());
        continue;
      }
      const Value &value = builder.graph.getValue(id);
      if (rows.contains(output.name())) {
        diagnostics.error(codes::unknownValue, location)
            << "the size of the output " << quoteName(output.name())
            << " is not known when the model is imported";
        continue;
      }
      if (value.kind == ValueKind::sequence) {
        diagnostics.error(codes::unsupportedType, location)
            << "the output " << quoteName(output.name())
            << " is a sequence of tensors";
        continue;
      }
      if (countElements(value.shape) == 0)
        diagnostics.error(codes::unsupportedType, location)
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
    diagnostics.error(codes::shapeContradiction, Location::inFile(model.path))
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
  ListedRows rows;
  DimBindings bindings;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
           const onnx::FunctionProto *>
      functions;
  const onnx::NodeProto *current = nullptr;
  ValueId poisonValue = noValue;
};

} // namespace

std::unique_ptr<SweptModel> sweepModel(const LoadedModel &model,
                                       const SweepOptions &options,
                                       DiagnosticEngine &diagnostics) {
  return Sweep(model, options, diagnostics).run();
}

} // namespace parplan::importer
