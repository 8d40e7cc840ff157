//===- ControlFlow.cpp - Conditions and loops, entered ---------*- C++ -*-===//
//
// Part of parplan. The dialect has no control flow: a branch is taken, and a
// loop is passed, while the model is imported, or the node is refused.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Tensors.h"
#include "lib/Import/Sweep/NodeSweep.h"

#include "parplan/Support/Text.h"

namespace parplan::importer {

const onnx::GraphProto &NodeSweep::getGraph(const NodeContext &context,
                                            std::string_view name) const {
  const onnx::AttributeProto *attribute = context.getAttribute(name);
  if (!attribute || !attribute->has_g())
    failNode(codes::badNode, "the graph ", name, " is missing");
  return attribute->g();
}

/// Fails unless a value of a nested graph is a tensor.
static ValueId requireTensor(const GraphBuilder &builder, ValueId value) {
  if (value == noValue)
    failNode(codes::badNode, "a value of its graph is missing");
  switch (builder.graph.getValue(value).kind) {
  case ValueKind::poison:
    throw PoisonedOperand();
  case ValueKind::sequence:
  case ValueKind::nothing:
  case ValueKind::foreign:
    failNode(codes::badNode, "a value of its graph is no tensor");
  default:
    return value;
  }
}

static bool isTrue(const GraphBuilder &builder, ValueId condition,
                   std::string_view question) {
  requireTensor(builder, condition);
  std::optional<Cell> cell = builder.getSplat(condition);
  if (!cell)
    failNode(codes::unknownValue, question,
             " is not known when the model is imported");
  if (!isBool(builder.getType(condition)))
    failNode(codes::badNode, "a condition of type ",
             printElementType(builder.getType(condition)));
  return cell->integer != 0;
}

void NodeSweep::defineInitializers(const onnx::GraphProto &graph,
                                   Scope &scope) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    define(tensor.name(), makeConstant(builder, tensor), scope);
}

NodeSweep::ValueList NodeSweep::enterGraph(const onnx::GraphProto &graph,
                                           llvm::ArrayRef<ValueId> inputs,
                                           Scope &outer) {
  size_t errors = diagnostics.getErrorCount();
  Scope scope = outer.makeInner();
  if (size_t(graph.input_size()) != inputs.size())
    failNode(codes::badNode, "its graph has ", graph.input_size(),
             " inputs, not ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    define(graph.input(int(i)).name(), inputs[i], scope);
  importNodes(graph.node(), scope);
  // The passes of a loop would repeat what is wrong with the first.
  if (diagnostics.getErrorCount() != errors)
    throw PoisonedOperand();
  ValueList outputs;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    std::optional<ValueId> value = scope.find(output.name());
    if (!value)
      failNode(codes::unknownName, "nothing defines the output ",
               quoteName(output.name()), " of its graph");
    outputs.push_back(*value);
  }
  return outputs;
}

NodeSweep::ValueList NodeSweep::importCondition(const onnx::NodeProto &node,
                                                llvm::ArrayRef<ValueId> inputs,
                                                Scope &outer) {
  NodeContext context(builder, node, 1, inputs, &outer, Scope::findAttribute);
  bool condition = isTrue(builder, context.getInput(0), "its condition");
  const onnx::GraphProto &branch =
      getGraph(context, condition ? "then_branch" : "else_branch");
  Scope scope = outer.makeInner();
  defineInitializers(branch, scope);
  return enterGraph(branch, {}, scope);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The tensors of all passes along a new dimension.
static ValueId stack(GraphBuilder &builder, llvm::ArrayRef<ValueId> items,
                     int64_t dim, const onnx::ValueInfoProto &declared) {
  if (!items.empty()) {
    llvm::SmallVector<ValueId, 4> slices;
    for (ValueId item : items)
      slices.push_back(builder.insertDims(
          item, {builder.normalizeDim(dim, builder.getRank(item) + 1)}));
    return builder.concat(
        slices, builder.normalizeDim(dim, builder.getRank(slices[0])));
  }
  // No pass says of what shape they would be.
  const onnx::TypeProto::Tensor &type = declared.type().tensor_type();
  std::optional<ElementType> element = fromOnnxType(type.elem_type());
  Shape shape;
  for (const auto &size : type.shape().dim()) {
    if (!size.has_dim_value() || size.dim_value() < 0)
      element.reset();
    shape.push_back(size.dim_value());
  }
  if (!element || !type.has_shape())
    failNode(codes::unsupportedForm,
             "a loop without passes, whose output has no known shape");
  shape.insert(shape.begin() + builder.normalizeDim(dim, shape.size() + 1), 0);
  return builder.makeDense(*element, shape, {});
}

NodeSweep::ValueList NodeSweep::importLoop(const onnx::NodeProto &node,
                                           llvm::ArrayRef<ValueId> inputs,
                                           Scope &outer) {
  NodeContext context(builder, node, 1, inputs, &outer, Scope::findAttribute);
  const onnx::GraphProto &body = getGraph(context, "body");
  std::optional<int64_t> passes;
  if (context.hasInput(0))
    passes = context.getKnownInteger(0, "the number of passes");
  bool goesOn = !context.hasInput(1) ||
                isTrue(builder, context.getInput(1), "whether it starts");
  ValueList carried(inputs.drop_front(std::min<size_t>(2, inputs.size())));
  if (body.output_size() < int(carried.size()) + 1)
    failNode(codes::badNode, "its graph has ", body.output_size(),
             " outputs for ", carried.size(), " values that it carries");
  size_t stackedCount = body.output_size() - 1 - carried.size();
  std::vector<std::vector<ValueId>> stacked(stackedCount);
  ValueId yes = builder.makeNumber(ElementType::i1, 1);
  Scope constants = outer.makeInner();
  defineInitializers(body, constants);
  for (int64_t pass = 0; goesOn && (!passes || pass < *passes); ++pass) {
    spendNode();
    ValueList given = {builder.makeInteger(pass), yes};
    given.append(carried);
    ValueList results = enterGraph(body, given, constants);
    goesOn = isTrue(builder, results[0], "whether it goes on");
    std::copy_n(results.begin() + 1, carried.size(), carried.begin());
    for (size_t i = 0; i < stackedCount; ++i)
      stacked[i].push_back(
          requireTensor(builder, results[1 + carried.size() + i]));
  }
  ValueList outputs = carried;
  for (size_t i = 0; i < stackedCount; ++i)
    outputs.push_back(stack(builder, stacked[i], /*dim=*/0,
                            body.output(int(1 + carried.size() + i))));
  return outputs;
}

namespace {
/// What a Scan does with one of its operands or results.
struct ScanAxis {
  int64_t dim = 0;
  bool isBackward = false;
};
} // namespace

static std::vector<ScanAxis> readAxes(const NodeContext &context, size_t count,
                                      std::string_view axes,
                                      std::string_view directions) {
  std::vector<ScanAxis> result(count);
  auto read = [&](std::string_view name, auto set) {
    std::optional<std::vector<int64_t>> list = context.getIntegers(name);
    if (!list)
      return;
    if (list->size() != count)
      failNode(codes::badNode, "attribute ", name, " has ", list->size(),
               " elements, not ", count);
    for (size_t i = 0; i < count; ++i)
      set(result[i], (*list)[i]);
  };
  read(axes, [](ScanAxis &axis, int64_t dim) { axis.dim = dim; });
  read(directions,
       [](ScanAxis &axis, int64_t way) { axis.isBackward = way != 0; });
  return result;
}

/// The slice number `index` of a dimension, without that dimension.
static ValueId takeSlice(GraphBuilder &builder, ValueId value, int64_t dim,
                         int64_t index) {
  ValueId slice = builder.slice(value, SliceRange{dim, index, index + 1});
  Shape shape = builder.getShape(slice);
  shape.erase(shape.begin() + dim);
  return builder.reshape(slice, shape);
}

/// One scan over elements of one sequence; returns states, then what is
/// stacked.
NodeSweep::ValueList NodeSweep::scanOnce(const onnx::NodeProto &node,
                                         const onnx::GraphProto &body,
                                         llvm::ArrayRef<ValueId> states,
                                         llvm::ArrayRef<ValueId> scanned,
                                         Scope &outer) {
  NodeContext context(builder, node, 1, {}, &outer, Scope::findAttribute);
  bool isFirstForm = !context.hasAttribute("scan_input_directions") &&
                     context.hasAttribute("directions");
  std::vector<ScanAxis> from =
      readAxes(context, scanned.size(), "scan_input_axes",
               isFirstForm ? "directions" : "scan_input_directions");
  int64_t stackedCount = body.output_size() - int64_t(states.size());
  if (stackedCount < 0)
    failNode(codes::badNode, "its graph has ", body.output_size(),
             " outputs for ", states.size(), " states");
  std::vector<ScanAxis> to = readAxes(context, stackedCount, "scan_output_axes",
                                      "scan_output_directions");
  int64_t length = -1;
  for (size_t i = 0; i < scanned.size(); ++i) {
    from[i].dim =
        builder.normalizeDim(from[i].dim, builder.getRank(scanned[i]));
    int64_t size = builder.getShape(scanned[i])[from[i].dim];
    if (length >= 0 && size != length)
      failNode(codes::badNode, "sequences of ", length, " and of ", size,
               " elements");
    length = size;
  }
  ValueList carried(states);
  std::vector<std::vector<ValueId>> stacked(stackedCount);
  Scope constants = outer.makeInner();
  defineInitializers(body, constants);
  for (int64_t pass = 0; pass < length; ++pass) {
    spendNode();
    ValueList given = carried;
    for (size_t i = 0; i < scanned.size(); ++i)
      given.push_back(takeSlice(builder, scanned[i], from[i].dim,
                                from[i].isBackward ? length - 1 - pass : pass));
    ValueList results = enterGraph(body, given, constants);
    std::copy_n(results.begin(), carried.size(), carried.begin());
    for (int64_t i = 0; i < stackedCount; ++i)
      stacked[i].push_back(requireTensor(builder, results[carried.size() + i]));
  }
  ValueList outputs = carried;
  for (int64_t i = 0; i < stackedCount; ++i) {
    if (to[i].isBackward)
      std::reverse(stacked[i].begin(), stacked[i].end());
    outputs.push_back(stack(builder, stacked[i], to[i].dim,
                            body.output(int(carried.size() + i))));
  }
  return outputs;
}

NodeSweep::ValueList NodeSweep::importScan(const onnx::NodeProto &node,
                                           int version,
                                           llvm::ArrayRef<ValueId> inputs,
                                           Scope &outer) {
  NodeContext context(builder, node, version, inputs, &outer,
                      Scope::findAttribute);
  const onnx::GraphProto &body = getGraph(context, "body");
  // Version 8 has lengths first, and a batch as the first dimension of all.
  bool hasBatch = version < 9;
  if (hasBatch && context.hasInput(0))
    failNode(codes::unsupportedForm, "sequences of different lengths");
  ValueList operands;
  for (size_t i = hasBatch ? 1 : 0; i < inputs.size(); ++i)
    operands.push_back(context.getInput(i));
  int64_t scannedCount = context.getRequiredInteger("num_scan_inputs");
  if (scannedCount < 1 || scannedCount > int64_t(operands.size()))
    failNode(codes::badNode, scannedCount, " sequences of ", operands.size(),
             " operands");
  auto scan = [&](llvm::ArrayRef<ValueId> all) {
    return scanOnce(node, body, all.drop_back(scannedCount),
                    all.take_back(scannedCount), outer);
  };
  if (!hasBatch)
    return scan(operands);
  std::vector<std::vector<ValueId>> samples;
  int64_t batch =
      builder.getRank(operands[0]) == 0 ? 0 : builder.getShape(operands[0])[0];
  for (int64_t sample = 0; sample < batch; ++sample) {
    ValueList own;
    for (ValueId operand : operands) {
      if (builder.getRank(operand) == 0 ||
          builder.getShape(operand)[0] != batch)
        failNode(codes::badNode, "operands of different batches");
      own.push_back(takeSlice(builder, operand, 0, sample));
    }
    ValueList results = scan(own);
    samples.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i)
      samples[i].push_back(results[i]);
  }
  ValueList outputs;
  for (size_t i = 0; i < samples.size(); ++i)
    outputs.push_back(stack(builder, samples[i], /*dim=*/0, {}));
  return outputs;
}

} // namespace parplan::importer
