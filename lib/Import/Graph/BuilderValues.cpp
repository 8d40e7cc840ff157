//===- BuilderValues.cpp - Constants and limits of the builder -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>

namespace parplan::importer {

constexpr int64_t maxFoldedCells = int64_t(1) << 22;
constexpr int64_t alwaysFoldedCells = 4096;
constexpr size_t maxRank = 16;

std::optional<std::vector<int64_t>>
GraphBuilder::getIntegers(ValueId id) const {
  const Constant *constant = graph.getConstant(id);
  if (!constant || !constant->isDense() || isFloat(constant->type) ||
      countElements(getShape(id)) > (int64_t(1) << 16))
    return std::nullopt;
  std::vector<int64_t> integers;
  for (Cell cell : expandCells(*constant, getShape(id)))
    integers.push_back(cell.integer);
  return integers;
}

std::optional<std::vector<Cell>> GraphBuilder::getCells(ValueId id) const {
  ShapeRef shape = getShape(id);
  if (countElements(shape) > (int64_t(1) << 16))
    return std::nullopt;
  if (const Constant *constant = graph.getConstant(id)) {
    if (!constant->isDense())
      return std::nullopt;
    return expandCells(*constant, shape);
  }
  const Value &value = graph.getValue(id);
  if (value.kind != ValueKind::parameter || !readParameter)
    return std::nullopt;
  std::optional<std::string> bytes =
      readParameter(graph.parameters[value.leaf]);
  int64_t size = getElementBytes(value.type);
  if (!bytes || int64_t(bytes->size()) != countElements(shape) * size)
    return std::nullopt;
  std::vector<Cell> cells;
  for (size_t offset = 0; offset < bytes->size(); offset += size)
    cells.push_back(readCell(bytes->data() + offset, value.type));
  return cells;
}

std::optional<Cell> GraphBuilder::getSplat(ValueId id) const {
  const Constant *constant = graph.getConstant(id);
  if (!constant || !constant->isSplat())
    return std::nullopt;
  return constant->cells[0];
}

bool GraphBuilder::isSplatOf(ValueId id, double value) const {
  std::optional<Cell> cell = getSplat(id);
  if (!cell)
    return false;
  return isFloat(getType(id)) ? cell->real == value
                              : double(cell->integer) == value;
}

ValueId GraphBuilder::makeDense(ElementType type, ShapeRef shape,
                                std::vector<Cell> cells) {
  PARPLAN_CHECK(int64_t(cells.size()) == countElements(shape),
                "a dense constant has ", cells.size(), " elements");
  spendCells(cells.size());
  ConstantId constant = graph.constants.addDense(
      type, Shape(shape.begin(), shape.end()), std::move(cells));
  return graph.addConstantValue(constant, shape);
}

ValueId GraphBuilder::makeSplat(ElementType type, ShapeRef shape, Cell cell) {
  checkShape(shape);
  if (countElements(shape) == 0)
    return makeDense(type, shape, {});
  ConstantId constant =
      graph.constants.addDense(type, Shape(shape.size(), 1), {cell});
  return graph.addConstantValue(constant, shape);
}

ValueId GraphBuilder::makeNumber(ElementType type, double value,
                                 ShapeRef shape) {
  Cell cell;
  cell.real = value;
  return makeSplat(type, shape, convertCell(cell, ElementType::f64, type));
}

ValueId GraphBuilder::makeIntegers(llvm::ArrayRef<int64_t> integers) {
  std::vector<Cell> cells(integers.size());
  for (size_t i = 0; i < integers.size(); ++i)
    cells[i].integer = integers[i];
  return makeDense(ElementType::i64, {int64_t(integers.size())},
                   std::move(cells));
}

ValueId GraphBuilder::makeInteger(int64_t integer) {
  Cell cell;
  cell.integer = integer;
  return makeSplat(ElementType::i64, {}, cell);
}

ValueId GraphBuilder::addForeign(std::string what) {
  foreignValues.push_back(std::move(what));
  return graph.addLeaf(ValueKind::foreign, ElementType::f32, {},
                       foreignValues.size() - 1);
}

ValueId GraphBuilder::makeRange(ElementType type, ShapeRef shape, int64_t dim,
                                int64_t start, int64_t step) {
  checkShape(shape);
  if (shape[dim] > maxFoldedCells)
    failNode(codes::tooLarge, "a range of ", shape[dim],
             " elements is longer than ", maxFoldedCells);
  spendCells(shape[dim]);
  std::vector<Cell> cells(shape[dim]);
  uint64_t value = start;
  for (Cell &cell : cells) {
    cell.integer = wrapToType(int64_t(value), type);
    value += uint64_t(step);
  }
  Shape core(shape.size(), 1);
  core[dim] = shape[dim];
  if (countElements(shape) == 0)
    return makeDense(type, shape, {});
  ConstantId constant =
      graph.constants.addDense(type, std::move(core), std::move(cells));
  return graph.addConstantValue(constant, shape);
}

Shape GraphBuilder::broadcastShapes(llvm::ArrayRef<ShapeRef> shapes) const {
  size_t rank = 0;
  for (ShapeRef shape : shapes)
    rank = std::max(rank, shape.size());
  Shape result(rank, 1);
  for (ShapeRef shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &size = result[rank - shape.size() + i];
      if (size == 1)
        size = shape[i];
      else if (shape[i] != 1 && shape[i] != size) {
        std::string list;
        for (ShapeRef one : shapes)
          list += (list.empty() ? "" : " and ") + printShape(one);
        failNode(codes::badNode, "shapes ", list, " do not broadcast");
      }
    }
  return result;
}

int64_t GraphBuilder::normalizeDim(int64_t dim, int64_t rank) const {
  if (dim < -rank || dim >= rank)
    failNode(codes::badNode, "axis ", dim, " is outside a tensor of rank ",
             rank);
  return dim < 0 ? dim + rank : dim;
}

void GraphBuilder::checkShape(ShapeRef shape) const {
  if (shape.size() > maxRank)
    failNode(codes::tooLarge, "a tensor of rank ", shape.size(),
             "; the largest supported rank is ", maxRank);
  if (!isWithinLimits(shape))
    failNode(codes::tooLarge, "a tensor of shape ", printShape(shape),
             " has more than 2^48 elements");
}

void GraphBuilder::spendCells(int64_t cells) {
  if (cells > cellBudget)
    failNode(codes::tooLarge,
             "the constants of the model need too much memory");
  cellBudget -= cells;
}

bool GraphBuilder::mayFold(int64_t cells, int64_t operandCells) {
  if (cells > alwaysFoldedCells &&
      (cells > operandCells || cells > maxFoldedCells))
    return false;
  if (foldingBudget < cells + operandCells || cellBudget < cells)
    return false;
  foldingBudget -= cells + operandCells;
  cellBudget -= cells;
  return true;
}

bool GraphBuilder::mayFold(int64_t cells, llvm::ArrayRef<ValueId> operands) {
  int64_t largest = 0;
  for (ValueId operand : operands) {
    const Constant *constant = graph.getConstant(operand);
    if (!constant || !constant->isDense())
      return false;
    largest = std::max<int64_t>(largest, constant->cells.size());
  }
  return mayFold(cells, largest);
}

static bool keepsElements(OpKind kind) {
  return kind == OpKind::cast || kind == OpKind::select ||
         (kind >= OpKind::reshape && kind <= OpKind::gatherND);
}

void GraphBuilder::checkNotNarrow(OpKind kind,
                                  llvm::ArrayRef<ValueId> operands) const {
  if (keepsElements(kind))
    return;
  for (ValueId operand : operands)
    if (isNarrow(getType(operand)))
      failNode(codes::badNode, "operand of type ",
               printElementType(getType(operand)));
}

ValueId GraphBuilder::append(OpKind kind, llvm::ArrayRef<ValueId> operands,
                             ElementType type, ShapeRef shape,
                             llvm::ArrayRef<int64_t> integers,
                             std::string text) {
  checkNotNarrow(kind, operands);
  checkShape(shape);
  Op op;
  op.kind = kind;
  op.node = node;
  op.operands.assign(operands.begin(), operands.end());
  op.integers.assign(integers.begin(), integers.end());
  op.text = std::move(text);
  return graph.addOp(std::move(op), {{type, shape}});
}

} // namespace parplan::importer
