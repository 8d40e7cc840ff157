//===- GuardTensors.cpp - Declared sizes against real bytes ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/ExternalFiles.h"
#include "lib/Import/Load/Limits.h"
#include "lib/Import/Load/LoadedModel.h"

#include "parplan/Support/CheckedMath.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <unordered_set>

namespace parplan::importer {

/// Numbers of the typed field that holds a type's elements.
static int64_t countTypedElements(const onnx::TensorProto &tensor,
                                  ElementType type) {
  switch (type) {
  case ElementType::f32:
    return tensor.float_data_size();
  case ElementType::f64:
    return tensor.double_data_size();
  case ElementType::i64:
    return tensor.int64_data_size();
  case ElementType::u64:
  case ElementType::u32:
    return tensor.uint64_data_size();
  default:
    return tensor.int32_data_size();
  }
}

/// Type, shape and size of a tensor, or what is wrong with them.
static std::string describeTensor(const onnx::TensorProto &tensor,
                                  std::optional<ElementType> type,
                                  Initializer &result) {
  result.onnxType = tensor.data_type();
  result.shape.assign(tensor.dims().begin(), tensor.dims().end());
  if (result.shape.size() > 64 || !isWithinLimits(result.shape))
    return concat("has the impossible shape ", printShape(result.shape));
  if (tensor.has_segment())
    return "is stored in segments, which is not supported";
  if (type)
    result.bytes = getTensorBytes(*type, countElements(result.shape));
  return "";
}

/// Compares what a tensor declares with the bytes that the file has for it.
static std::string compareBytes(const onnx::TensorProto &tensor,
                                ElementType type, const Initializer &described,
                                std::optional<uint64_t> rawBytes) {
  if (rawBytes) {
    if (*rawBytes != uint64_t(described.bytes))
      return concat("has shape ", printShape(described.shape), " of ",
                    printElementType(type), ", which is ", described.bytes,
                    " bytes, but the file has ", *rawBytes);
    return "";
  }
  // Typed data of narrow types are bytes, each of several elements.
  int64_t elements =
      isNarrow(type) ? described.bytes : countElements(described.shape);
  int64_t typed = countTypedElements(tensor, type);
  if (typed != elements)
    return concat("has shape ", printShape(described.shape), ", which is ",
                  elements, " elements, but the file has ", typed);
  return "";
}

static std::string readExternal(const onnx::TensorProto &tensor, int64_t bytes,
                                ExternalData &external) {
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      external.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      std::optional<int64_t> number = parseInteger(entry.value());
      if (!number || *number < 0)
        return concat("has external data with ", entry.key(), " ",
                      quoteName(entry.value()));
      if (entry.key() == "offset")
        external.offset = *number;
      else
        external.length = *number;
    }
  }
  if (external.length && *external.length != bytes)
    return concat("needs ", bytes, " bytes, but its external data have ",
                  *external.length);
  if (!checkedAdd(external.offset, bytes))
    return concat("has external data at offset ", external.offset);
  return "";
}

static void guardInitializer(const onnx::TensorProto &tensor,
                             std::optional<FileSpan> span, LoadedModel &model,
                             DiagnosticEngine &diagnostics) {
  Location location = Location::inFile(model.path);
  Initializer initializer;
  initializer.name = tensor.name();
  initializer.message = &tensor;
  initializer.span = span;
  if (auto mark = model.filtered.marks.find(initializer.name);
      mark != model.filtered.marks.end())
    initializer.mark = mark->second;
  std::optional<ElementType> type = fromOnnxType(tensor.data_type());
  std::string problem = describeTensor(tensor, type, initializer);
  DiagnosticCode code = codes::badTensor;
  if (problem.empty() &&
      tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    initializer.external.emplace();
    initializer.span.reset();
    if (type)
      problem = readExternal(tensor, initializer.bytes, *initializer.external);
    if (problem.empty()) {
      problem = checkExternalPath(initializer.external->location);
      code = codes::badExternalData;
    }
  } else if (problem.empty() && type) {
    problem =
        compareBytes(tensor, *type, initializer,
                     span ? std::optional<uint64_t>(span->length)
                     : tensor.has_raw_data()
                         ? std::optional<uint64_t>(tensor.raw_data().size())
                         : std::nullopt);
  }
  if (!problem.empty())
    diagnostics.error(code, location)
        << "initializer " << quoteName(tensor.name()) << " " << problem;
  model.initializers.push_back(std::move(initializer));
}

namespace {
/// Checks the tensors in attributes, in all nested graphs and functions.
class AttributeTensors {
public:
  AttributeTensors(LoadedModel &model, DiagnosticEngine &diagnostics)
      : model(model), diagnostics(diagnostics) {}

  /// `topNode` is the node of the main graph around it, or none.
  void
  checkNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
             std::optional<uint32_t> topNode, bool isTop, int depth) {
    if (depth > limits::graphDepth)
      return; // Reported by guardFunctions.
    uint32_t index = 0;
    for (const onnx::NodeProto &node : nodes) {
      std::optional<uint32_t> place = isTop ? index++ : topNode;
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.has_t())
          checkTensor(attribute.t(), node, place);
        // ONNX's checker parses their indices without looking at the size.
        if (attribute.has_sparse_tensor() ||
            attribute.sparse_tensors_size() > 0)
          diagnostics.error(codes::unsupportedType, locate(node, place))
              << "the node has a sparse tensor";
        for (const onnx::TensorProto &tensor : attribute.tensors())
          checkTensor(tensor, node, place);
        if (attribute.has_g())
          checkGraph(attribute.g(), node, place, depth);
        for (const onnx::GraphProto &graph : attribute.graphs())
          checkGraph(graph, node, place, depth);
      }
    }
  }

private:
  Location locate(const onnx::NodeProto &node,
                  std::optional<uint32_t> place) const {
    return place ? model.locateNode(*place, node.op_type())
                 : Location::inFile(model.path);
  }

  void checkGraph(const onnx::GraphProto &graph, const onnx::NodeProto &node,
                  std::optional<uint32_t> place, int depth) {
    if (graph.sparse_initializer_size() > 0)
      diagnostics.error(codes::unsupportedType, locate(node, place))
          << "a graph of the node has sparse initializers";
    for (const onnx::TensorProto &tensor : graph.initializer())
      checkTensor(tensor, node, place);
    checkNodes(graph.node(), place, false, depth + 1);
  }

  void checkTensor(const onnx::TensorProto &tensor, const onnx::NodeProto &node,
                   std::optional<uint32_t> place) {
    Initializer described;
    std::optional<ElementType> type = fromOnnxType(tensor.data_type());
    std::string problem = describeTensor(tensor, type, described);
    if (problem.empty() &&
        tensor.data_location() == onnx::TensorProto::EXTERNAL)
      problem = "has external data, which only initializers of the main graph "
                "may have";
    else if (problem.empty() && type)
      problem =
          compareBytes(tensor, *type, described,
                       tensor.has_raw_data()
                           ? std::optional<uint64_t>(tensor.raw_data().size())
                           : std::nullopt);
    if (problem.empty())
      return;
    diagnostics.error(codes::badTensor, locate(node, place))
        << "a tensor of the node " << problem;
  }

  LoadedModel &model;
  DiagnosticEngine &diagnostics;
};
} // namespace

void guardTensors(LoadedModel &model, DiagnosticEngine &diagnostics) {
  const onnx::GraphProto &graph = model.getModel().graph();
  std::unordered_set<std::string_view> names;
  model.initializers.reserve(graph.initializer_size());
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const onnx::TensorProto &tensor = graph.initializer(i);
    std::optional<FileSpan> span;
    if (size_t(i) < model.filtered.initializers.size())
      span = model.filtered.initializers[i];
    guardInitializer(tensor, span, model, diagnostics);
    if (!names.insert(tensor.name()).second)
      diagnostics.error(codes::duplicateName, Location::inFile(model.path))
          << "initializer " << quoteName(tensor.name()) << " is defined twice";
  }
  AttributeTensors tensors(model, diagnostics);
  tensors.checkNodes(graph.node(), std::nullopt, /*isTop=*/true, 0);
  for (const onnx::FunctionProto &function : model.getModel().functions())
    tensors.checkNodes(function.node(), std::nullopt, /*isTop=*/false, 0);
}

} // namespace parplan::importer
