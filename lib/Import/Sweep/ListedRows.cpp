//===- ListedRows.cpp - Rows that a NonZero lists --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/ListedRows.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/StringSet.h"

namespace parplan::importer {

[[noreturn]] static void failUnknown() {
  failNode(codes::unknownValue,
           "how many elements are not zero is not known when the model is "
           "imported");
}

static bool isElementwise(const std::string &type) {
  static const llvm::StringSet<> types = {
      "Abs",       "Add",  "And",         "Cast",      "CastLike",
      "Clip",      "Div",  "Elu",         "Equal",     "Erf",
      "Exp",       "Gelu", "HardSigmoid", "HardSwish", "Identity",
      "LeakyRelu", "Less", "Greater",     "Max",       "Min",
      "Mish",      "Mul",  "Neg",         "Not",       "Or",
      "Pow",       "Relu", "Sigmoid",     "Softplus",  "Softsign",
      "Sqrt",      "Sub",  "Swish",       "Tanh",      "Where",
      "Expand"};
  return types.contains(type);
}

bool ListedRows::reads(const onnx::NodeProto &node) const {
  if (known.empty())
    return false;
  for (const std::string &name : node.input())
    if (contains(name))
      return true;
  return false;
}

const ListedRows::Rows *ListedRows::find(const onnx::NodeProto &node,
                                         int input) const {
  if (input >= node.input_size())
    return nullptr;
  auto found = known.find(node.input(input));
  return found == known.end() ? nullptr : &found->second;
}

bool ListedRows::areOfOneList(const onnx::NodeProto &node) const {
  ValueId mask = noValue;
  for (int input = 0; input < node.input_size(); ++input)
    if (const Rows *rows = find(node, input)) {
      if (mask != noValue && mask != rows->mask)
        return false;
      mask = rows->mask;
    }
  return true;
}

ValueId ListedRows::list(const onnx::NodeProto &node, ValueId mask) {
  Shape shape(builder.getShape(mask));
  int64_t rank = shape.size(), count = countElements(shape);
  if (rank == 0 || count < 2 || rank * count > (int64_t(1) << 20))
    failUnknown();
  std::vector<Cell> cells(rank * count);
  for (int64_t row = 0; row < count; ++row) {
    int64_t left = row;
    for (int64_t dim = rank; dim-- > 0; left /= shape[dim])
      cells[dim * count + row].integer = left % shape[dim];
  }
  if (!isBool(builder.getType(mask)))
    mask = builder.cast(mask, ElementType::i1);
  known[node.output(0)] = {builder.reshape(mask, {count}), 1};
  return builder.makeDense(ElementType::i64, {rank, count}, std::move(cells));
}

void ListedRows::prepare(const onnx::NodeProto &node,
                         llvm::MutableArrayRef<ValueId> inputs) {
  if (!areOfOneList(node))
    failUnknown();
  if (node.op_type() != "ScatterND")
    return;
  const Rows *indices = find(node, 1), *updates = find(node, 2);
  bool addsUp = false;
  for (const onnx::AttributeProto &attribute : node.attribute())
    addsUp |= attribute.name() == "reduction" && attribute.s() == "add";
  if (find(node, 0) || !indices || !updates || indices->dim != 0 ||
      updates->dim != 0 || !addsUp)
    failUnknown();
  Shape spread(builder.getRank(inputs[2]), 1);
  spread[0] = builder.getShape(inputs[2])[0];
  inputs[2] = builder.select(builder.reshape(updates->mask, spread), inputs[2],
                             builder.makeNumber(builder.getType(inputs[2]), 0));
}

/// The dimension of `to` that has the elements of dimension `dim` of `from`.
static std::optional<int64_t> findReshaped(ShapeRef from, ShapeRef to,
                                           int64_t dim) {
  int64_t before = countElements(from.take_front(dim)), product = 1;
  for (size_t place = 0; place < to.size(); ++place) {
    if (product == before && to[place] == from[dim])
      return place;
    product *= to[place];
  }
  return std::nullopt;
}

/// Where the rows are in the result; nullopt: nowhere that is known.
std::optional<int64_t> ListedRows::getResultDim(const onnx::NodeProto &node,
                                                llvm::ArrayRef<ValueId> inputs,
                                                ValueId output) const {
  const std::string &type = node.op_type();
  ShapeRef to = builder.getShape(output);
  int64_t rank = to.size();
  const Rows *first = find(node, 0);
  auto isWhole = [&](int64_t dim) {
    return dim >= 0 && dim < rank &&
           to[dim] == builder.getShape(first->mask)[0];
  };
  if (isElementwise(type)) {
    // All from the right; what is no row is the same for all of them.
    std::optional<int64_t> fromRight;
    int count = type == "Expand" ? 1 : node.input_size();
    for (int input = 0; input < count; ++input)
      if (const Rows *rows = find(node, input)) {
        int64_t own = builder.getRank(inputs[input]) - rows->dim;
        if (rows->dim < 0 || (fromRight && *fromRight != own))
          return std::nullopt;
        fromRight = own;
      }
    for (int input = 0; fromRight && input < count; ++input) {
      if (find(node, input) || inputs[input] == noValue)
        continue;
      ShapeRef shape = builder.getShape(inputs[input]);
      if (static_cast<int64_t>(shape.size()) >= *fromRight &&
          shape[shape.size() - *fromRight] != 1)
        return std::nullopt;
    }
    return fromRight ? std::optional(rank - *fromRight) : std::nullopt;
  }
  if (type == "GatherND" || type == "Gather") {
    const Rows *indices = find(node, 1);
    int64_t axis = 0;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.name() == "axis")
        axis = attribute.i();
      if (attribute.name() == "batch_dims" && attribute.i() != 0)
        return std::nullopt;
    }
    if (axis < 0)
      axis += builder.getRank(inputs[0]);
    if (!first && indices && indices->dim >= 0)
      return axis + indices->dim;
    // Parts of the indices of all rows.
    if (type == "Gather" && first && !indices && axis != first->dim)
      return axis > first->dim ? first->dim
                               : first->dim - 1 + builder.getRank(inputs[1]);
    return std::nullopt;
  }
  if (!first || first->dim < 0)
    return std::nullopt;
  for (int input = 1; input < node.input_size(); ++input)
    if (const Rows *rows = find(node, input);
        rows && type != "Concat" && !(type == "Reshape" && rows->dim < 0))
      return std::nullopt;
  if (type == "Transpose") {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "perm")
        for (int64_t dim = 0; dim < attribute.ints_size(); ++dim)
          if (attribute.ints(static_cast<int>(dim)) == first->dim)
            return dim;
    return rank - 1 - first->dim;
  }
  if (type == "Reshape" || type == "Squeeze" || type == "Unsqueeze")
    return findReshaped(builder.getShape(inputs[0]), to, first->dim);
  if (type == "Slice")
    return isWhole(first->dim) ? std::optional(first->dim) : std::nullopt;
  if (type == "Concat") {
    for (int input = 0; input < node.input_size(); ++input)
      if (const Rows *rows = find(node, input);
          !rows || rows->dim != first->dim)
        return std::nullopt;
    return isWhole(first->dim) ? std::optional(first->dim) : std::nullopt;
  }
  if (type == "MatMul" || type == "Gemm") {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "transA" && attribute.i() != 0)
        return std::nullopt;
    if (first->dim + 1 < builder.getRank(inputs[0]) && isWhole(first->dim))
      return first->dim;
  }
  return std::nullopt;
}

/// Whether it only hands on the number of rows, as part of a shape.
static bool handsOnNumber(const std::string &type) {
  static const llvm::StringSet<> types = {
      "Cast", "Concat", "Gather", "Identity", "Slice", "Squeeze", "Unsqueeze"};
  return types.contains(type);
}

void ListedRows::follow(const onnx::NodeProto &node,
                        llvm::ArrayRef<ValueId> inputs, ValueId output) {
  if (node.op_type() == "ScatterND")
    return;
  Rows result;
  bool areNumbers = true;
  for (int input = 0; input < node.input_size(); ++input)
    if (const Rows *rows = find(node, input)) {
      result.mask = rows->mask;
      areNumbers &= rows->dim < 0;
    }
  // Only the first operand may be a number: positions and sizes may not.
  const Rows *first = find(node, 0);
  bool isNumber =
      node.op_type() == "Concat" ? areNumbers : first && first->dim < 0;
  for (int input = 1; input < node.input_size(); ++input)
    isNumber &= node.op_type() == "Concat" || !find(node, input);
  isNumber = (isNumber && handsOnNumber(node.op_type())) ||
             (node.op_type() == "Shape" && first && first->dim >= 0);
  if (!isNumber) {
    std::optional<int64_t> dim = getResultDim(node, inputs, output);
    if (!dim)
      failUnknown();
    result.dim = *dim;
  }
  known[node.output(0)] = result;
}

} // namespace parplan::importer
