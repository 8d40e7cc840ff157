//===- NodeSweep.cpp - Imports the nodes of graphs and functions *- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/NodeSweep.h"

#include "lib/Import/Sweep/SchemaBodies.h"

#include "parplan/Support/Text.h"

namespace parplan::importer {

NodeSweep::NodeSweep(const LoadedModel &model, GraphBuilder &builder,
                     DiagnosticEngine &diagnostics)
    : model(model), builder(builder), diagnostics(diagnostics), rows(builder) {
  for (const onnx::FunctionProto &function : model.getModel().functions())
    functions[{function.domain(), function.name(), function.overload()}] =
        &function;
}

ValueId NodeSweep::poison() {
  if (poisonValue == noValue)
    poisonValue =
        builder.graph.addLeaf(ValueKind::poison, ElementType::f32, {}, 0);
  return poisonValue;
}

Location NodeSweep::locate() const {
  if (!current)
    return Location::inFile(model.path);
  return model.locateNode(
      builder.node, model.getModel().graph().node(int(builder.node)).op_type());
}

DiagnosticBuilder NodeSweep::report(const DiagnosticCode &code) {
  DiagnosticBuilder error = diagnostics.error(code, locate());
  if (current && current != &model.getModel().graph().node(int(builder.node)))
    error.note(concat("inside of it, at ", quoteName(current->name()), " (",
                      sanitize(current->op_type()), ")"));
  return error;
}

void NodeSweep::define(std::string_view name, ValueId value, Scope &scope) {
  if (name.empty() || scope.names.try_emplace(name, value).second)
    return;
  report(codes::duplicateName)
      << "the value " << quoteName(name) << " is defined twice";
}

//===----------------------------------------------------------------------===//
// What is supported
//===----------------------------------------------------------------------===//

const onnx::FunctionProto *
NodeSweep::findFunction(const onnx::NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  auto found = functions.find({node.domain(), node.op_type(), node.overload()});
  return found == functions.end() ? nullptr : found->second;
}

bool NodeSweep::reportIfUnsupported(const onnx::NodeProto &node,
                                    const Scope &scope, Operator &found) {
  found.function = findFunction(node);
  if (found.function)
    return false;
  bool isDefault = node.domain().empty() || node.domain() == "ai.onnx";
  int opset = scope.getOpset(node.domain());
  if (isDefault)
    found.match = findOperator(node.op_type(), opset);
  if (found.match.sinceVersion > 0 ||
      (!found.match.entry && hasSchemaBody(node, opset)))
    return false;
  DiagnosticBuilder error = report(codes::unsupportedOperator);
  if (!isDefault)
    error << "operators of the domain " << quoteName(node.domain())
          << " are not supported";
  else if (!found.match.entry)
    error << "the operator " << quoteName(node.op_type())
          << " is not supported";
  else
    error << "the operator " << quoteName(node.op_type())
          << " is not supported in opset " << opset;
  return true;
}

void NodeSweep::reportUnsupported(const Nodes &nodes, const Scope &scope) {
  builder.node = 0;
  for (const onnx::NodeProto &node : nodes) {
    current = &node;
    Operator found;
    reportIfUnsupported(node, scope, found);
    ++builder.node;
  }
  current = nullptr;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

std::vector<bool> NodeSweep::importMain(const Nodes &nodes, Scope &scope) {
  std::vector<bool> isFolded;
  uint32_t index = 0;
  for (const onnx::NodeProto &node : nodes) {
    builder.node = index++;
    size_t opsBefore = builder.graph.getOpCount();
    importNode(node, scope);
    isFolded.push_back(builder.graph.getOpCount() == opsBefore);
  }
  current = nullptr;
  return isFolded;
}

void NodeSweep::importNodes(const Nodes &nodes, Scope &scope) {
  // What calls itself is found beforehand, but not through ONNX's own bodies.
  if (depth == limits::entryDepth) {
    nodeBudget = -1;
    failNode(codes::tooLarge, "calls and graphs nest more than ",
             limits::entryDepth, " levels");
  }
  ++depth;
  for (const onnx::NodeProto &node : nodes)
    importNode(node, scope);
  --depth;
  current = nullptr;
}

void NodeSweep::spendNode() {
  if (nodeBudget < 0) // Said already.
    throw PoisonedOperand();
  if (--nodeBudget < 0)
    failNode(codes::tooLarge,
             "with its functions and loops expanded the model has more than ",
             limits::nodes, " nodes");
}

void NodeSweep::importNode(const onnx::NodeProto &node, Scope &scope) {
  current = &node;
  ValueList inputs, outputs;
  bool isSound = true;
  for (const std::string &name : node.input()) {
    std::optional<ValueId> value = name.empty() ? noValue : scope.find(name);
    if (!value) {
      report(codes::unknownName) << "it reads " << quoteName(name)
                                 << ", which nothing before it defines";
      isSound = false;
    }
    inputs.push_back(value.value_or(noValue));
  }
  Operator found;
  if (reportIfUnsupported(node, scope, found))
    isSound = false;
  if (isSound) {
    try {
      outputs = enterNode(node, found, inputs, scope);
      outputs.resize(std::max<size_t>(outputs.size(), node.output_size()),
                     noValue);
      current = &node;
      for (int i = 0; i < node.output_size(); ++i)
        if (outputs[i] == noValue && !node.output(i).empty())
          failNode(codes::unsupportedForm, "its output ", i,
                   " is not supported");
    } catch (const NodeFailure &failure) {
      current = &node;
      report(failure.code).help(failure.help) << failure.message;
    } catch (const PoisonedOperand &) {
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

NodeSweep::ValueList NodeSweep::enterNode(const onnx::NodeProto &node,
                                          const Operator &found,
                                          llvm::ArrayRef<ValueId> inputs,
                                          Scope &scope) {
  spendNode();
  const OperatorEntry *entry = found.match.entry;
  if (entry && entry->import)
    return importOperator(node, found.match, inputs, scope);
  if (readsListedRows(node, scope))
    failNode(codes::unknownValue, "an operand of unknown size");
  if (found.function)
    return callFunction(node, *found.function, inputs, scope);
  if (!entry)
    return callSchemaBody(node, inputs, scope);
  if (node.op_type() == "If")
    return importCondition(node, inputs, scope);
  if (node.op_type() == "Loop")
    return importLoop(node, inputs, scope);
  PARPLAN_CHECK(node.op_type() == "Scan", "an operator without import");
  return importScan(node, found.match.sinceVersion, inputs, scope);
}

/// Functions have names of their own; what branches read is not followed.
bool NodeSweep::readsListedRows(const onnx::NodeProto &node,
                                const Scope &scope) const {
  if (!(scope.isMain || scope.parent) || !rows.reads(node))
    return false;
  if (!scope.isMain)
    failNode(codes::unknownValue, "an operand of unknown size");
  return true;
}

NodeSweep::ValueList NodeSweep::importOperator(const onnx::NodeProto &node,
                                               const OperatorMatch &match,
                                               llvm::ArrayRef<ValueId> given,
                                               const Scope &scope) {
  ValueList inputs(given);
  bool readsRows = readsListedRows(node, scope);
  if (readsRows)
    rows.prepare(node, inputs);
  NodeContext context(builder, node, match.sinceVersion, inputs, &scope,
                      Scope::findAttribute);
  if (scope.isMain && node.op_type() == "NonZero" && !readsRows &&
      !builder.graph.getConstant(context.getInput(0)))
    return {rows.list(node, context.getInput(0))};
  match.entry->import(context);
  if (readsRows)
    rows.follow(node, inputs, context.getOutput(0));
  ValueList outputs;
  for (int i = 0; i < node.output_size(); ++i)
    outputs.push_back(context.getOutput(i));
  return outputs;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

NodeSweep::ValueList
NodeSweep::callFunction(const onnx::NodeProto &node,
                        const onnx::FunctionProto &function,
                        llvm::ArrayRef<ValueId> inputs, const Scope &caller) {
  Scope scope;
  scope.opsets = &function.opset_import();
  for (const onnx::AttributeProto &attribute : function.attribute_proto())
    scope.attributes[attribute.name()] = &attribute;
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.ref_attr_name().empty())
      scope.attributes[attribute.name()] = &attribute;
    else if (const onnx::AttributeProto *outer =
                 Scope::findAttribute(&caller, attribute.ref_attr_name()))
      scope.attributes[attribute.name()] = outer;
  if (node.input_size() > function.input_size())
    failNode(codes::badNode, "function ", quoteName(function.name()), " has ",
             function.input_size(), " inputs");
  for (int i = 0; i < function.input_size(); ++i)
    define(function.input(i), size_t(i) < inputs.size() ? inputs[i] : noValue,
           scope);
  importNodes(function.node(), scope);
  ValueList outputs;
  for (const std::string &name : function.output())
    outputs.push_back(scope.find(name).value_or(noValue));
  return outputs;
}

NodeSweep::ValueList NodeSweep::callSchemaBody(const onnx::NodeProto &node,
                                               llvm::ArrayRef<ValueId> inputs,
                                               const Scope &caller) {
  NodeContext context(builder, node, 1, inputs, &caller, Scope::findAttribute);
  // What builds the body relies on the types of all operands.
  for (size_t i = 0; i < inputs.size(); ++i)
    if (context.hasInput(i) &&
        builder.graph.getValue(context.getAnyInput(i)).kind ==
            ValueKind::nothing)
      context.getInput(i);
  // The body may depend on attributes: those of the call around are filled in,
  // and those that it leaves out are left out.
  onnx::NodeProto resolved = node;
  resolved.clear_attribute();
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (const onnx::AttributeProto *found =
            context.getAttribute(attribute.name())) {
      onnx::AttributeProto &copy = *resolved.add_attribute();
      copy = *found;
      copy.set_name(attribute.name());
    }
  onnx::FunctionProto body = buildSchemaBody(
      resolved, caller.getOpset(node.domain()), inputs, builder);
  Scope own;
  own.opsets = &body.opset_import();
  if (own.getOpset("") == 0)
    body.add_opset_import()->set_version(caller.getOpset(""));
  return callFunction(resolved, body, inputs, caller);
}

} // namespace parplan::importer
