//===- Constants.cpp - Operators that make constants -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <cmath>

namespace parplan::importer {

static void importConstant(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId value = node.getTensor("value");
  if (value != noValue) {
    node.setOutput(0, value);
    return;
  }
  if (node.hasAttribute("value_int")) {
    value = builder.makeInteger(node.getInteger("value_int", 0));
  } else if (node.hasAttribute("value_float")) {
    value =
        builder.makeNumber(ElementType::f32, node.getReal("value_float", 0));
  } else if (auto integers = node.getIntegers("value_ints")) {
    value = builder.makeIntegers(*integers);
  } else if (auto reals = node.getReals("value_floats")) {
    std::vector<Cell> cells(reals->size());
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i].real = (*reals)[i];
    Shape shape = {int64_t(cells.size())};
    value = builder.makeDense(ElementType::f32, shape, std::move(cells));
  } else if (node.hasAttribute("value_string") ||
             node.hasAttribute("value_strings")) {
    failNode(codes::unsupportedType, "a constant of strings");
  } else if (node.hasAttribute("sparse_value")) {
    failNode(codes::unsupportedType, "a sparse constant");
  } else {
    failNode(codes::badNode, "it has no value");
  }
  node.setOutput(0, value);
}

static void importConstantOfShape(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  std::vector<int64_t> shape = node.getKnownIntegers(0, "the shape");
  for (int64_t size : shape)
    if (size < 0)
      failNode(codes::badNode, "shape ", printShape(shape));
  ValueId value = node.getTensor("value");
  if (value == noValue)
    value = builder.makeNumber(ElementType::f32, 0);
  std::optional<Cell> cell = builder.getSplat(value);
  if (!cell || countElements(builder.getShape(value)) != 1)
    failNode(codes::badNode, "value must have one element");
  node.setOutput(0, builder.makeSplat(builder.getType(value), shape, *cell));
}

static void importRange(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ElementType type = builder.getType(node.getInput(0));
  Cell start = node.getKnownScalar(0, "the start");
  Cell limit = node.getKnownScalar(1, "the limit");
  Cell step = node.getKnownScalar(2, "the step");
  for (size_t operand : {1, 2})
    if (builder.getType(node.getInput(operand)) != type)
      failNode(codes::badNode, "operands of different types");
  constexpr int64_t longest = int64_t(1) << 22;
  if (isFloat(type)) {
    double count = std::ceil((limit.real - start.real) / step.real);
    if (std::isnan(count) || step.real == 0)
      failNode(codes::badNode, "a range with step ", step.real);
    if (count > double(longest))
      failNode(codes::tooLarge, "a range of more than ", longest, " elements");
    std::vector<Cell> cells(count > 0 ? size_t(count) : 0);
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i].real = roundToType(start.real + double(i) * step.real, type);
    Shape shape = {int64_t(cells.size())};
    node.setOutput(0, builder.makeDense(type, shape, std::move(cells)));
    return;
  }
  if (isBool(type) || step.integer == 0)
    failNode(codes::badNode, "a range with step ", step.integer);
  // In 128 bits no difference overflows.
  __int128 span = __int128(limit.integer) - start.integer;
  __int128 stride = step.integer;
  __int128 count = stride > 0 ? (span + stride - 1) / stride
                              : (-span - stride - 1) / -stride;
  if (count > longest)
    failNode(codes::tooLarge, "a range of more than ", longest, " elements");
  int64_t size = count > 0 ? int64_t(count) : 0;
  node.setOutput(
      0, builder.makeRange(type, {size}, 0, start.integer, step.integer));
}

static void importShape(NodeContext &node) {
  ShapeRef shape = node.builder.getShape(node.getInput(0));
  int64_t rank = shape.size();
  auto clamp = [&](int64_t position) {
    if (position < 0)
      position = position < -rank ? 0 : position + rank;
    return std::min(position, rank);
  };
  int64_t start = clamp(node.getInteger("start", 0));
  int64_t end = clamp(node.getInteger("end", rank));
  node.setOutput(0, node.builder.makeIntegers(
                        shape.slice(start, std::max<int64_t>(0, end - start))));
}

static void importSize(NodeContext &node) {
  node.setOutput(0, node.builder.makeInteger(countElements(
                        node.builder.getShape(node.getInput(0)))));
}

static void importNonZero(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  const Constant *constant = builder.graph.getConstant(input);
  ShapeRef shape = builder.getShape(input);
  if (!constant || !constant->isDense() ||
      countElements(shape) > (int64_t(1) << 16))
    failNode(codes::unknownValue,
             "how many elements are not zero is not known when the model is "
             "imported");
  std::vector<Cell> expanded = expandCells(*constant, shape);
  std::vector<int64_t> found;
  for (size_t i = 0; i < expanded.size(); ++i)
    if (isFloat(constant->type) ? expanded[i].real != 0
                                : expanded[i].integer != 0)
      found.push_back(i);
  int64_t rank = shape.size(), count = found.size();
  std::vector<Cell> cells(rank * count);
  for (int64_t k = 0; k < count; ++k) {
    int64_t left = found[k];
    for (int64_t dim = rank; dim-- > 0; left /= shape[dim])
      cells[dim * count + k].integer = left % shape[dim];
  }
  node.setOutput(
      0, builder.makeDense(ElementType::i64, {rank, count}, std::move(cells)));
}

llvm::ArrayRef<OperatorEntry> getConstantOperators() {
  constexpr Support folded = Support::folded;
  static const OperatorEntry entries[] = {
      {"Constant",
       {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
       folded,
       importConstant},
      {"ConstantOfShape",
       {9, 20, 21, 23, 24, 25},
       folded,
       importConstantOfShape},
      {"Range",
       {11, 27},
       folded,
       importRange,
       "of known start, limit and step"},
      {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, folded, importShape},
      {"Size", {1, 13, 19, 21, 23, 24, 25}, folded, importSize},
      {"NonZero", {9, 13}, folded, importNonZero, "of constants"},
  };
  return entries;
}

} // namespace parplan::importer
