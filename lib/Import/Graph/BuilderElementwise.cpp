//===- BuilderElementwise.cpp - Ops element by element ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/CellArithmetic.h"
#include "lib/Import/Graph/GraphBuilder.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <bit>

namespace parplan::importer {

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Core of an elementwise result: varies where an operand does.
static Shape mergeCores(const Graph &graph, llvm::ArrayRef<ValueId> operands,
                        ShapeRef shape) {
  Shape core(shape.size(), 1);
  for (ValueId operand : operands) {
    ShapeRef from = graph.getConstant(operand)->core;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != 1)
        core[shape.size() - from.size() + i] = from[i];
  }
  return core;
}

ValueId GraphBuilder::foldElementwise(OpKind kind, Predicate predicate,
                                      llvm::ArrayRef<ValueId> operands,
                                      ElementType type, ShapeRef shape) {
  checkNotNarrow(kind, operands);
  for (ValueId operand : operands) {
    const Constant *constant = graph.getConstant(operand);
    if (!constant)
      return foldChoice(kind, predicate, operands, type, shape);
    if (!constant->isDense())
      return foldMask(kind, predicate, operands, shape);
  }
  if (countElements(shape) == 0)
    return makeDense(type, shape, {});
  Shape core = mergeCores(graph, operands, shape);
  int64_t count = countElements(core);
  if (!mayFold(count, operands))
    return foldMask(kind, predicate, operands, shape);

  std::vector<Cell> cells;
  cells.reserve(count);
  const Constant &first = *graph.getConstant(operands[0]);
  if (operands.size() == 1) {
    for (Cell cell : first.cells)
      cells.push_back(evaluateUnary(kind, cell, first.type, type));
  } else if (operands.size() == 2) {
    const Constant &second = *graph.getConstant(operands[1]);
    llvm::SmallVector<int64_t, 6> strides[] = {
        getCoreStrides(first.core, core.size()),
        getCoreStrides(second.core, core.size())};
    forEachElement(core, strides, [&](const int64_t(&offsets)[2]) {
      cells.push_back(evaluateBinary(kind, predicate, first.cells[offsets[0]],
                                     second.cells[offsets[1]], first.type));
    });
  } else {
    const Constant &second = *graph.getConstant(operands[1]);
    const Constant &third = *graph.getConstant(operands[2]);
    llvm::SmallVector<int64_t, 6> strides[] = {
        getCoreStrides(first.core, core.size()),
        getCoreStrides(second.core, core.size()),
        getCoreStrides(third.core, core.size())};
    forEachElement(core, strides, [&](const int64_t(&offsets)[3]) {
      cells.push_back(first.cells[offsets[0]].integer
                          ? second.cells[offsets[1]]
                          : third.cells[offsets[2]]);
    });
  }
  ValueId result = graph.addConstantValue(
      graph.constants.addDense(type, std::move(core), std::move(cells)), shape);
  return kind == OpKind::compare ? makeLazyMask(result) : result;
}

ValueId GraphBuilder::makeLazyMask(ValueId mask) {
  const Constant *constant = graph.getConstant(mask);
  if (!constant)
    return mask;
  std::optional<AffineFunction> function = fitMask(*constant);
  if (!function)
    return mask;
  return graph.addConstantValue(graph.constants.addAffine(std::move(*function)),
                                getShape(mask));
}

/// left - right, right-aligned to `rank` dimensions; none if it overflows.
static std::optional<AffineFunction>
subtract(const AffineFunction &left, const AffineFunction &right, size_t rank) {
  AffineFunction result;
  result.coefficients.resize(rank, 0);
  for (size_t i = 0; i < left.coefficients.size(); ++i)
    result.coefficients[rank - left.coefficients.size() + i] =
        left.coefficients[i];
  for (size_t i = 0; i < right.coefficients.size(); ++i) {
    int64_t &slot = result.coefficients[rank - right.coefficients.size() + i];
    std::optional<int64_t> difference =
        checkedSubtract(slot, right.coefficients[i]);
    if (!difference)
      return std::nullopt;
    slot = *difference;
  }
  std::optional<int64_t> offset = checkedSubtract(left.offset, right.offset);
  if (!offset)
    return std::nullopt;
  result.offset = *offset;
  return result;
}

/// Adds 1 to a function, so that f < 0 becomes f + 1 <= 0.
static std::optional<AffineFunction>
increment(std::optional<AffineFunction> function) {
  if (!function || function->offset == INT64_MAX)
    return std::nullopt;
  ++function->offset;
  return function;
}

ValueId GraphBuilder::foldMask(OpKind kind, Predicate predicate,
                               llvm::ArrayRef<ValueId> operands,
                               ShapeRef shape) {
  std::optional<AffineFunction> mask;
  if (kind == OpKind::compare) {
    std::optional<AffineFunction> left =
        fitAffine(*graph.getConstant(operands[0]));
    std::optional<AffineFunction> right =
        fitAffine(*graph.getConstant(operands[1]));
    if (!left || !right)
      return noValue;
    size_t rank = shape.size();
    if (predicate == Predicate::le)
      mask = subtract(*left, *right, rank);
    else if (predicate == Predicate::lt)
      mask = increment(subtract(*left, *right, rank));
    else if (predicate == Predicate::ge)
      mask = subtract(*right, *left, rank);
    else if (predicate == Predicate::gt)
      mask = increment(subtract(*right, *left, rank));
  } else if (kind == OpKind::logicalNot) {
    const Constant &constant = *graph.getConstant(operands[0]);
    if (constant.isAffine())
      mask = increment(
          subtract({}, {constant.coefficients, constant.offset}, shape.size()));
  }
  return mask ? makeMask(std::move(*mask), shape) : noValue;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The smallest shape that a constant needs: 1 where it does not vary, leading
/// ones dropped.
static Shape getCompactShape(const Constant &constant, ShapeRef shape) {
  Shape compact(shape.begin(), shape.end());
  if (constant.kind == Constant::Kind::parts)
    return compact;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (constant.isAffine() ? constant.coefficients[dim] == 0
                            : constant.core[dim] == 1)
      compact[dim] = 1;
  size_t leading = 0;
  while (leading < compact.size() && compact[leading] == 1)
    ++leading;
  compact.erase(compact.begin(), compact.begin() + leading);
  return compact;
}

void GraphBuilder::peelBroadcasts(llvm::MutableArrayRef<ValueId> operands,
                                  ShapeRef shape) {
  for (size_t index = 0; index < operands.size(); ++index) {
    ValueId candidate;
    if (const Op *source =
            graph.getDefinition(operands[index], OpKind::broadcast)) {
      candidate = source->operands[0];
    } else if (const Constant *constant = graph.getConstant(operands[index])) {
      Shape compact = getCompactShape(*constant, getShape(operands[index]));
      if (compact == getShape(operands[index]))
        continue;
      candidate = removeDims(operands[index], compact);
    } else {
      continue;
    }
    llvm::SmallVector<ShapeRef, 3> shapes;
    for (size_t other = 0; other < operands.size(); ++other)
      shapes.push_back(getShape(other == index ? candidate : operands[other]));
    if (ShapeRef(broadcastShapes(shapes)) == shape)
      operands[index] = candidate;
  }
}

ValueId GraphBuilder::removeDims(ValueId input, ShapeRef shape) {
  // A constant keeps its content where the dropped dimensions do not vary.
  const Constant &constant = *graph.getConstant(input);
  size_t dropped = getRank(input) - shape.size();
  if (constant.isAffine()) {
    AffineFunction function{
        {constant.coefficients.begin() + dropped, constant.coefficients.end()},
        constant.offset};
    return graph.addConstantValue(
        graph.constants.addAffine(std::move(function)), shape);
  }
  Shape core(constant.core.begin() + dropped, constant.core.end());
  return graph.addConstantValue(
      graph.constants.addDense(constant.type, std::move(core), constant.cells),
      shape);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool isFloatOnly(OpKind kind) {
  switch (kind) {
  case OpKind::abs:
  case OpKind::neg:
  case OpKind::sign:
  case OpKind::relu:
  case OpKind::logicalNot:
    return false;
  default:
    return true;
  }
}

ValueId GraphBuilder::unary(OpKind kind, ValueId input) {
  ElementType type = getType(input);
  if (kind == OpKind::logicalNot
          ? isFloat(type)
          : isBool(type) || (isFloatOnly(kind) && !isFloat(type)))
    failNode(codes::badNode, "operand of type ", printElementType(type));
  bool givesBool = kind == OpKind::isNaN || kind == OpKind::isInf;
  ElementType resultType = givesBool ? ElementType::i1 : type;
  ShapeRef shape = getShape(input);
  if (ValueId folded =
          foldElementwise(kind, Predicate::eq, {input}, resultType, shape);
      folded != noValue)
    return folded;
  if (kind == OpKind::logicalNot)
    if (const Op *inner = graph.getDefinition(input, OpKind::logicalNot))
      return inner->operands[0];
  return append(kind, {input}, resultType, shape);
}

ValueId GraphBuilder::gelu(ValueId input, bool tanh) {
  if (!isFloat(getType(input)))
    failNode(codes::badNode, "operand of type ",
             printElementType(getType(input)));
  return append(OpKind::gelu, {input}, getType(input), getShape(input), {tanh});
}

ValueId GraphBuilder::cast(ValueId input, ElementType type,
                           const NarrowRounding &rounding) {
  ElementType from = getType(input);
  if (from == type)
    return input;
  if (isNarrow(from))
    return cast(retype(input, getCarrier(from)), type, rounding);
  if (isNarrow(type))
    return castToNarrow(input, type, rounding);
  if (const Constant *constant = graph.getConstant(input);
      constant && constant->kind == Constant::Kind::parts) {
    std::vector<ConstantPart> parts;
    for (const ConstantPart &part : constant->parts) {
      const Constant &from = graph.constants[part.constant];
      std::vector<Cell> cells;
      for (Cell cell : from.cells)
        cells.push_back(convertCell(cell, from.type, type));
      parts.push_back(
          {graph.constants.addDense(type, from.core, std::move(cells)),
           part.size});
    }
    return graph.addConstantValue(
        graph.constants.addParts(type, constant->core, std::move(parts)),
        getShape(input));
  }
  if (const Constant *mask = graph.getConstant(input); mask && mask->isAffine())
    return select(input, makeNumber(type, 1), makeNumber(type, 0));
  if (ValueId folded = foldElementwise(OpKind::cast, Predicate::eq, {input},
                                       type, getShape(input));
      folded != noValue)
    return folded;
  return append(OpKind::cast, {input}, type, getShape(input));
}

ValueId GraphBuilder::bitcast(ValueId input, ElementType type) {
  ElementType from = getType(input);
  if (from == type)
    return input;
  if (getElementBits(from) != getElementBits(type) || isBool(type) ||
      isNarrow(from) || isNarrow(type))
    failNode(codes::badNode, "the bits of ", printElementType(from), " as ",
             printElementType(type));
  if (ValueId folded = foldElementwise(OpKind::bitcast, Predicate::eq, {input},
                                       type, getShape(input));
      folded != noValue)
    return folded;
  return append(OpKind::bitcast, {input}, type, getShape(input));
}

ValueId GraphBuilder::simplifyBinary(OpKind kind, ValueId lhs, ValueId rhs,
                                     ShapeRef shape) {
  auto neutral = [&](ValueId kept, ValueId other, double value) -> ValueId {
    return isSplatOf(other, value) ? broadcast(kept, shape) : noValue;
  };
  ValueId result = noValue;
  switch (kind) {
  case OpKind::add:
  case OpKind::logicalOr:
    result = neutral(lhs, rhs, 0);
    return result != noValue ? result : neutral(rhs, lhs, 0);
  case OpKind::mul:
    result = neutral(lhs, rhs, 1);
    return result != noValue ? result : neutral(rhs, lhs, 1);
  case OpKind::sub:
    return neutral(lhs, rhs, 0);
  case OpKind::div:
  case OpKind::pow:
    return neutral(lhs, rhs, 1);
  case OpKind::logicalAnd: {
    if (isSplatOf(lhs, 0) || isSplatOf(rhs, 0))
      return makeNumber(getType(lhs), 0, shape);
    if (!isBool(getType(lhs)))
      return noValue;
    result = neutral(lhs, rhs, 1);
    return result != noValue ? result : neutral(rhs, lhs, 1);
  }
  default:
    return noValue;
  }
}

static bool areConstants(const Graph &graph, llvm::ArrayRef<ValueId> operands) {
  return llvm::all_of(operands,
                      [&](ValueId id) { return graph.getConstant(id); });
}

ValueId GraphBuilder::appendElementwise(OpKind kind,
                                        llvm::ArrayRef<ValueId> operands,
                                        ElementType type, ShapeRef shape,
                                        llvm::ArrayRef<int64_t> integers) {
  llvm::SmallVector<ValueId, 3> peeled(operands.begin(), operands.end());
  if (!areConstants(graph, operands)) {
    peelBroadcasts(peeled, shape);
    return append(kind, peeled, type, shape, integers);
  }
  llvm::SmallVector<ShapeRef, 3> shapes;
  for (ValueId &operand : peeled) {
    Shape compact =
        getCompactShape(*graph.getConstant(operand), getShape(operand));
    if (compact != getShape(operand))
      operand = removeDims(operand, compact);
    shapes.push_back(getShape(operand));
  }
  Shape small = broadcastShapes(shapes);
  return broadcast(append(kind, peeled, type, small, integers), shape);
}

ValueId GraphBuilder::binary(OpKind kind, ValueId lhs, ValueId rhs) {
  ElementType type = getType(lhs);
  if (type != getType(rhs))
    failNode(codes::badNode, "operands of types ", printElementType(type),
             " and ", printElementType(getType(rhs)));
  bool isLogical = kind == OpKind::logicalAnd || kind == OpKind::logicalOr ||
                   kind == OpKind::logicalXor;
  if (isLogical ? isFloat(type) : isBool(type))
    failNode(codes::badNode, "operands of type ", printElementType(type));
  Shape shape = broadcastShapes({getShape(lhs), getShape(rhs)});
  checkShape(shape);
  ValueId result =
      foldElementwise(kind, Predicate::eq, {lhs, rhs}, type, shape);
  if (result == noValue)
    result = simplifyBinary(kind, lhs, rhs, shape);
  if (result == noValue)
    result = appendElementwise(kind, {lhs, rhs}, type, shape);
  return result;
}

ValueId GraphBuilder::compare(Predicate predicate, ValueId lhs, ValueId rhs) {
  if (getType(lhs) != getType(rhs))
    failNode(codes::badNode, "operands of types ",
             printElementType(getType(lhs)), " and ",
             printElementType(getType(rhs)));
  Shape shape = broadcastShapes({getShape(lhs), getShape(rhs)});
  checkShape(shape);
  ValueId result = foldElementwise(OpKind::compare, predicate, {lhs, rhs},
                                   ElementType::i1, shape);
  if (result == noValue)
    result = appendElementwise(OpKind::compare, {lhs, rhs}, ElementType::i1,
                               shape, {int64_t(predicate)});
  return result;
}

ValueId GraphBuilder::select(ValueId condition, ValueId onTrue,
                             ValueId onFalse) {
  ElementType type = getType(onTrue);
  if (!isBool(getType(condition)) || type != getType(onFalse))
    failNode(codes::badNode, "operands of types ",
             printElementType(getType(condition)), ", ", printElementType(type),
             " and ", printElementType(getType(onFalse)));
  Shape shape = broadcastShapes(
      {getShape(condition), getShape(onTrue), getShape(onFalse)});
  checkShape(shape);
  if (onTrue == onFalse)
    return broadcast(onTrue, shape);
  if (std::optional<Cell> fixed = getSplat(condition))
    return broadcast(fixed->integer ? onTrue : onFalse, shape);
  if (isBool(type) && isSplatOf(onTrue, 1) && isSplatOf(onFalse, 0))
    return broadcast(condition, shape);
  if (isBool(type) && isSplatOf(onTrue, 0) && isSplatOf(onFalse, 1))
    return broadcast(unary(OpKind::logicalNot, condition), shape);
  ValueId result = foldElementwise(OpKind::select, Predicate::eq,
                                   {condition, onTrue, onFalse}, type, shape);
  if (result != noValue)
    return result;
  if (const Constant *mask = graph.getConstant(condition);
      mask && mayFold(0, mask->cells.size()))
    condition = makeLazyMask(condition);
  return appendElementwise(OpKind::select, {condition, onTrue, onFalse}, type,
                           shape);
}

} // namespace parplan::importer
