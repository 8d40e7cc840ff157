//===- Extremes.cpp - Where the greatest and the least are -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

/// The position of an extreme of every row along `dim`, which gets size 1. Of
/// equal ones the first, or the last.
static ValueId findExtreme(GraphBuilder &builder, ValueId input, int64_t dim,
                           bool largest, bool last) {
  if (isBool(builder.getType(input)))
    failNode(codes::badNode, "operand of type bool");
  int64_t size = builder.getShape(input)[dim];
  if (last)
    input = builder.slice(input, SliceRange{dim, size - 1, -1, -1});
  ValueId position = builder.topK(input, 1, dim, largest) + 1;
  if (!last)
    return position;
  return builder.binary(OpKind::sub,
                        builder.makeNumber(ElementType::i64, double(size - 1)),
                        position);
}

template <bool largest> static void importArgExtreme(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  Shape shape = builder.getShape(input);
  int64_t dim = builder.normalizeDim(node.getInteger("axis", 0), shape.size());
  bool last = node.version >= 12 && node.getInteger("select_last_index", 0);
  ValueId position = findExtreme(builder, input, dim, largest, last);
  if (node.getInteger("keepdims", 1) == 0) {
    shape.erase(shape.begin() + dim);
    position = builder.reshape(position, shape);
  }
  node.setOutput(0, position);
}

/// One at the first maximum of every row, zero elsewhere.
static void importHardmax(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ElementType type = Formula(node).type;
  Shape shape = builder.getShape(input);
  int64_t dim = builder.normalizeDim(
      node.getInteger("axis", node.version < 13 ? 1 : -1), shape.size());
  ValueId rows = input;
  if (node.version < 13) {
    // The dimensions from the axis on are one.
    rows = builder.reshape(input,
                           {countElements(ShapeRef(shape).take_front(dim)),
                            countElements(ShapeRef(shape).drop_front(dim))});
    dim = 1;
  }
  Shape numbers(builder.getRank(rows), 1);
  numbers[dim] = builder.getShape(rows)[dim];
  ValueId isFirst = builder.compare(
      Predicate::eq, findExtreme(builder, rows, dim, true, false),
      builder.makeRange(ElementType::i64, numbers, dim, 0, 1));
  node.setOutput(0, builder.reshape(builder.cast(isFirst, type), shape));
}

llvm::ArrayRef<OperatorEntry> getExtremeOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"ArgMax", {1, 11, 12, 13}, lowered, importArgExtreme<true>, "topk"},
      {"ArgMin", {1, 11, 12, 13}, lowered, importArgExtreme<false>, "topk"},
      {"Hardmax", {1, 11, 13}, lowered, importHardmax, "topk, comparison"},
  };
  return entries;
}

} // namespace parplan::importer
