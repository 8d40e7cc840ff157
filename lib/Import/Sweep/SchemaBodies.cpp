//===- SchemaBodies.cpp - Operators that ONNX defines by others *- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/SchemaBodies.h"

#include "parplan/Support/Text.h"

#include "onnx/defs/schema.h"

#include <algorithm>
#include <map>

namespace parplan::importer {

static const onnx::OpSchema *findSchema(const onnx::NodeProto &node,
                                        int opset) {
  std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  const onnx::OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.op_type(), opset, domain);
  return schema && !schema->Deprecated() ? schema : nullptr;
}

/// The newest of `versions` that holds in `opset`; 0 if none does.
static int findVersion(const std::vector<int> &versions, int opset) {
  int found = 0;
  for (int version : versions)
    if (version <= opset)
      found = std::max(found, version);
  return found;
}

bool hasSchemaBody(const onnx::NodeProto &node, int opset) {
  const onnx::OpSchema *schema = findSchema(node, opset);
  return schema &&
         (findVersion(schema->function_opset_versions(), opset) ||
          findVersion(schema->context_dependent_function_opset_versions(),
                      opset));
}

static void setType(onnx::TypeProto &type, ElementType element,
                    ShapeRef shape) {
  onnx::TypeProto::Tensor &tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(toOnnxType(element));
  onnx::TensorShapeProto &dims = *tensor.mutable_shape();
  for (int64_t size : shape)
    dims.add_dim()->set_dim_value(size);
}

static std::vector<onnx::TypeProto> getTypes(llvm::ArrayRef<ValueId> inputs,
                                             const GraphBuilder &builder) {
  std::vector<onnx::TypeProto> types(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == noValue)
      continue;
    const Value &value = builder.graph.getValue(inputs[i]);
    if (value.kind != ValueKind::sequence)
      setType(types[i], value.type, value.shape);
    else
      setType(*types[i].mutable_sequence_type()->mutable_elem_type(),
              builder.sequences[value.leaf].type, {});
  }
  return types;
}

namespace {

/// Gives the values that graphs in attributes define names that are
/// identifiers. ONNX builds bodies from text, and its parser reads no others.
/// What a graph reads from outside keeps its name.
class IdentifierNames {
public:
  void rename(onnx::NodeProto &node) { renameGraphs(node, {}); }

private:
  using Names = std::map<std::string, std::string>;

  void renameGraphs(onnx::NodeProto &node, const Names &outer) {
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        renameGraph(*attribute.mutable_g(), outer);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        renameGraph(graph, outer);
    }
  }

  void define(std::string &name, Names &names) {
    if (name.empty()) // An optional value that is not there.
      return;
    names[name] = "value" + std::to_string(count++);
    name = names[name];
  }

  static void use(std::string &name, const Names &names) {
    if (auto known = names.find(name); known != names.end())
      name = known->second;
  }

  void renameGraph(onnx::GraphProto &graph, Names names) {
    for (onnx::ValueInfoProto &input : *graph.mutable_input())
      define(*input.mutable_name(), names);
    for (onnx::TensorProto &initializer : *graph.mutable_initializer()) {
      // Of an input it is the default.
      if (auto known = names.find(initializer.name());
          known != names.end() && isInput(graph, known->second))
        initializer.set_name(known->second);
      else
        define(*initializer.mutable_name(), names);
    }
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      for (std::string &name : *node.mutable_input())
        use(name, names);
      renameGraphs(node, names);
      for (std::string &name : *node.mutable_output())
        define(name, names);
    }
    for (auto *values : {graph.mutable_output(), graph.mutable_value_info()})
      for (onnx::ValueInfoProto &value : *values)
        use(*value.mutable_name(), names);
  }

  static bool isInput(const onnx::GraphProto &graph, llvm::StringRef name) {
    return llvm::any_of(graph.input(), [&](const onnx::ValueInfoProto &input) {
      return name == input.name();
    });
  }

  int count = 0;
};

} // namespace

onnx::FunctionProto buildSchemaBody(const onnx::NodeProto &original, int opset,
                                    llvm::ArrayRef<ValueId> inputs,
                                    const GraphBuilder &builder) {
  onnx::NodeProto node = original;
  IdentifierNames().rename(node);
  const onnx::OpSchema &schema = *findSchema(node, opset);
  onnx::FunctionProto body;
  try {
    // The builders of bodies rely on what this checks.
    schema.Verify(node);
    // A body is read in the opset that it was written for.
    if (int version = findVersion(schema.function_opset_versions(), opset)) {
      body = *schema.GetFunction(version);
    } else {
      version = findVersion(schema.context_dependent_function_opset_versions(),
                            opset);
      onnx::FunctionBodyBuildContextImpl context(node,
                                                 getTypes(inputs, builder));
      if (!schema.BuildContextDependentFunction(context, body, version))
        failNode(codes::unsupportedForm,
                 "ONNX defines no body for this form of the operator");
    }
  } catch (const std::exception &exception) {
    failNode(codes::badNode, sanitize(exception.what()));
  }
  for (const auto &[name, attribute] : schema.attributes())
    if (!attribute.default_value.name().empty())
      *body.add_attribute_proto() = attribute.default_value;
  return body;
}

} // namespace parplan::importer
