//===- BuilderMathematics.cpp - Reductions, products, windows --*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <cmath>

namespace parplan::importer {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::foldReduce(ReduceKind kind, ValueId input,
                                 llvm::ArrayRef<int64_t> dims,
                                 ShapeRef keptShape, ShapeRef shape) {
  checkNotNarrow(OpKind::reduce, {input});
  const Constant *constant = graph.getConstant(input);
  if (!constant || !constant->isDense() || countElements(getShape(input)) == 0)
    return noValue;
  // Repeated elements count in a sum and a product.
  int64_t repeats = 1;
  Shape core = constant->core;
  for (int64_t dim : dims) {
    if (core[dim] == 1)
      repeats *= getShape(input)[dim];
    core[dim] = 1;
  }
  if (!mayFold(countElements(core), constant->cells.size()))
    return noValue;
  size_t rank = core.size();
  llvm::SmallVector<int64_t, 6> strides[] = {
      getCoreStrides(constant->core, rank), getCoreStrides(core, rank)};
  bool isReal = isFloat(constant->type);
  std::vector<double> reals(countElements(core), kind == ReduceKind::sum ? 0.0
                                                 : kind == ReduceKind::prod
                                                     ? 1.0
                                                     : -INFINITY);
  int64_t least = isUnsigned(constant->type)
                      ? 0
                      : INT64_MIN >> (64 - getElementBits(constant->type));
  std::vector<int64_t> integers(reals.size(), kind == ReduceKind::sum ? 0
                                              : kind == ReduceKind::prod
                                                  ? 1
                                                  : least);
  forEachElement(constant->core, strides, [&](const int64_t(&offsets)[2]) {
    Cell cell = constant->cells[offsets[0]];
    double &real = reals[offsets[1]];
    int64_t &integer = integers[offsets[1]];
    if (isReal)
      real = kind == ReduceKind::sum    ? real + cell.real
             : kind == ReduceKind::prod ? real * cell.real
                                        : std::fmax(real, cell.real);
    else
      integer =
          kind == ReduceKind::sum
              ? int64_t(uint64_t(integer) + uint64_t(cell.integer))
          : kind == ReduceKind::prod
              ? int64_t(uint64_t(integer) * uint64_t(cell.integer))
          : constant->type == ElementType::u64
              ? int64_t(std::max(uint64_t(integer), uint64_t(cell.integer)))
              : std::max(integer, cell.integer);
  });
  std::vector<Cell> cells(reals.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    if (isReal) {
      double value = reals[i];
      if (kind == ReduceKind::sum)
        value *= double(repeats);
      else if (kind == ReduceKind::prod)
        value = std::pow(value, double(repeats));
      cells[i].real = roundToType(value, constant->type);
      continue;
    }
    uint64_t value = integers[i];
    if (kind == ReduceKind::sum)
      value *= uint64_t(repeats);
    uint64_t factor = value;
    if (kind == ReduceKind::prod) {
      value = 1;
      for (uint64_t left = repeats; left; left >>= 1, factor *= factor)
        if (left & 1)
          value *= factor;
    }
    cells[i].integer = wrapToType(int64_t(value), constant->type);
  }
  ValueId kept = graph.addConstantValue(
      graph.constants.addDense(constant->type, std::move(core),
                               std::move(cells)),
      keptShape);
  return reshape(kept, shape);
}

/// What a reduction of no elements is.
static double getIdentity(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return 0;
  case ReduceKind::prod:
    return 1;
  case ReduceKind::max:
    return -INFINITY;
  }
  PARPLAN_UNREACHABLE("no such reduction");
}

ValueId GraphBuilder::reduce(ReduceKind kind, ValueId input,
                             llvm::ArrayRef<int64_t> dims, bool keepDims) {
  Shape kept = getShape(input), shape;
  llvm::SmallVector<int64_t, 6> sorted;
  for (int64_t dim : dims)
    sorted.push_back(normalizeDim(dim, kept.size()));
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    failNode(codes::badNode, "an axis is listed twice in ", printShape(dims));
  if (isBool(getType(input)))
    failNode(codes::unsupportedForm, "a reduction of bool");
  if (sorted.empty())
    return input;
  // What has size 1 needs no reduction.
  bool isTrivial = true;
  for (int64_t dim : sorted) {
    isTrivial &= kept[dim] == 1;
    kept[dim] = 1;
  }
  for (size_t dim = 0; dim < kept.size(); ++dim)
    if (keepDims || !llvm::is_contained(sorted, int64_t(dim)))
      shape.push_back(kept[dim]);
  if (isTrivial)
    return reshape(input, shape);
  if (countElements(getShape(input)) == 0)
    return makeNumber(getType(input), getIdentity(kind), shape);
  if (ValueId folded = foldReduce(kind, input, sorted, kept, shape);
      folded != noValue)
    return folded;
  llvm::SmallVector<int64_t, 8> integers = {int64_t(kind), keepDims};
  integers.append(sorted);
  return append(OpKind::reduce, {input}, getType(input), shape, integers);
}

ValueId GraphBuilder::mean(ValueId input, llvm::ArrayRef<int64_t> dims,
                           bool keepDims) {
  if (!isFloat(getType(input)))
    failNode(codes::unsupportedForm, "a mean of ",
             printElementType(getType(input)));
  ValueId sum = reduce(ReduceKind::sum, input, dims, keepDims);
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= getShape(input)[normalizeDim(dim, getRank(input))];
  if (count == 0)
    failNode(codes::badNode, "a mean of no elements");
  return binary(OpKind::mul, sum,
                makeNumber(getType(input), 1.0 / double(count)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::product(ValueId lhs, ValueId rhs, std::string spec) {
  if (getType(lhs) != getType(rhs))
    failNode(codes::badNode, "operands of types ",
             printElementType(getType(lhs)), " and ",
             printElementType(getType(rhs)));
  size_t comma = spec.find(','), arrow = spec.find("->");
  std::string_view names[] = {
      std::string_view(spec).substr(0, comma),
      std::string_view(spec).substr(comma + 1, arrow - comma - 1)};
  ValueId operands[] = {lhs, rhs};
  int64_t sizes[26];
  std::fill(std::begin(sizes), std::end(sizes), -1);
  for (int operand : {0, 1})
    for (size_t i = 0; i < names[operand].size(); ++i) {
      int64_t &size = sizes[names[operand][i] - 'a'];
      int64_t own = getShape(operands[operand])[i];
      if (size >= 0 && size != own)
        failNode(codes::badNode, "shapes ", printShape(getShape(lhs)), " and ",
                 printShape(getShape(rhs)), " cannot be multiplied");
      size = own;
    }
  Shape shape;
  for (char name : std::string_view(spec).substr(arrow + 2))
    shape.push_back(sizes[name - 'a']);
  return append(OpKind::matmul, {lhs, rhs}, getType(lhs), shape, {},
                std::move(spec));
}

ValueId GraphBuilder::matmul(ValueId lhs, ValueId rhs) {
  if (getRank(lhs) == 0 || getRank(rhs) == 0)
    failNode(codes::badNode, "an operand is a scalar");
  // A vector is a row on the left and a column on the right.
  bool isLeftVector = getRank(lhs) == 1, isRightVector = getRank(rhs) == 1;
  int64_t depth = getShape(lhs).back();
  int64_t rightDepth = getShape(rhs)[isRightVector ? 0 : getRank(rhs) - 2];
  if (depth != rightDepth)
    failNode(codes::badNode, "shapes ", printShape(getShape(lhs)), " and ",
             printShape(getShape(rhs)), " cannot be multiplied");
  size_t leftBatch = isLeftVector ? 0 : getRank(lhs) - 2;
  size_t rightBatch = isRightVector ? 0 : getRank(rhs) - 2;
  size_t batch = std::max(leftBatch, rightBatch);
  Shape shape =
      broadcastShapes({ShapeRef(getShape(lhs)).take_front(leftBatch),
                       ShapeRef(getShape(rhs)).take_front(rightBatch)});
  ShapeRef batchShape(shape);

  // A batch dimension that only one operand has is absent from the other: sizes
  // of 1 and repetitions are taken out of an operand.
  auto strip = [&](ValueId operand, size_t count, ValueId other,
                   size_t otherCount, std::string &names) -> ValueId {
    const Op *source = graph.getDefinition(operand, OpKind::broadcast);
    ValueId base = source && getRank(source->operands[0]) == getRank(operand)
                       ? source->operands[0]
                       : operand;
    Shape whole = getShape(operand), kept;
    ValueId result = operand;
    llvm::SmallVector<bool, 6> drop(count, false);
    bool usesBase = false;
    for (size_t i = 0; i < count; ++i) {
      size_t position = batch - count + i;
      bool otherHas = position + otherCount >= batch &&
                      getShape(other)[position + otherCount - batch] ==
                          batchShape[position];
      if (otherHas && getShape(base)[i] == 1 && whole[i] != 1)
        usesBase = true;
      drop[i] = otherHas && getShape(base)[i] == 1 && batchShape[position] != 1;
    }
    if (usesBase) {
      // Keep the repetitions that the other operand does not supply.
      Shape partial = whole;
      for (size_t i = 0; i < count; ++i)
        if (drop[i])
          partial[i] = 1;
      result = broadcast(base, partial);
      whole = partial;
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      if (i < count && drop[i])
        continue;
      kept.push_back(whole[i]);
      if (i < count)
        names += char('a' + batch - count + i);
    }
    return reshape(result, kept);
  };
  std::string left, right, result;
  ValueId plainLhs = strip(lhs, leftBatch, rhs, rightBatch, left);
  ValueId plainRhs = strip(rhs, rightBatch, lhs, leftBatch, right);
  for (size_t i = 0; i < batch; ++i)
    result += char('a' + i);
  char row = char('a' + batch), column = char(row + 1), inner = char(row + 2);
  if (!isLeftVector) {
    left += row;
    result += row;
  }
  left += inner;
  right += inner;
  if (!isRightVector) {
    right += column;
    result += column;
  }
  return product(plainLhs, plainRhs, left + "," + right + "->" + result);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Number of positions of a window; fails if there is none.
static int64_t countPositions(int64_t size, int64_t window, int64_t stride,
                              int64_t low, int64_t high, int64_t dilation) {
  constexpr int64_t limit = int64_t(1) << 31;
  if (window < 1 || stride < 1 || dilation < 1 || low < 0 || high < 0 ||
      window > limit || stride > limit || dilation > limit || low > limit ||
      high > limit || size > limit)
    failNode(codes::badNode, "a window of ", window, " with stride ", stride,
             ", dilation ", dilation, " and padding ", low, ", ", high,
             " over size ", size);
  std::optional<int64_t> reach = checkedMultiply(window - 1, dilation);
  if (!reach || size + low + high < *reach + 1)
    failNode(codes::badNode, "a window of ", window, " with dilation ",
             dilation, " does not fit a padded size of ", size + low + high);
  return (size + low + high - *reach - 1) / stride + 1;
}

ValueId GraphBuilder::conv(ValueId input, ValueId weight, ValueId bias,
                           const Window &window, int64_t groups) {
  ShapeRef from = getShape(input), kernel = getShape(weight);
  if (from.size() < 3 || from.size() != kernel.size())
    failNode(codes::badNode, "input of shape ", printShape(from),
             " and weight of shape ", printShape(kernel));
  if (from.size() > 5)
    failNode(codes::unsupportedForm, "more than three spatial dimensions");
  if (groups < 1 || from[1] % groups != 0 || kernel[0] % groups != 0 ||
      kernel[1] != from[1] / groups || kernel[0] < 1)
    failNode(codes::badNode, "input of shape ", printShape(from),
             " and weight of shape ", printShape(kernel), " in ", groups,
             " groups");
  if (!isFloat(getType(input)) || getType(weight) != getType(input))
    failNode(codes::badNode, "operands of types ",
             printElementType(getType(input)), " and ",
             printElementType(getType(weight)));
  if (bias != noValue && (ShapeRef(getShape(bias)) != kernel.take_front(1) ||
                          getType(bias) != getType(input)))
    failNode(codes::badNode, "bias of type ", printElementType(getType(bias)),
             " and shape ", printShape(getShape(bias)));
  Shape shape = {from[0], kernel[0]};
  for (size_t i = 0; i + 2 < from.size(); ++i)
    shape.push_back(countPositions(
        from[i + 2], kernel[i + 2], window.strides[i], window.pads[2 * i],
        window.pads[2 * i + 1], window.dilations[i]));
  llvm::SmallVector<int64_t, 16> integers = {groups};
  integers.append(window.strides);
  integers.append(window.pads);
  integers.append(window.dilations);
  llvm::SmallVector<ValueId, 3> operands = {input, weight};
  if (bias != noValue)
    operands.push_back(bias);
  return append(OpKind::conv, operands, getType(input), shape, integers);
}

ValueId GraphBuilder::convTranspose(ValueId input, ValueId weight,
                                    ShapeRef shape, const Window &window,
                                    int64_t groups) {
  ShapeRef from = getShape(input), kernel = getShape(weight);
  if (from.size() < 3 || from.size() != kernel.size() ||
      shape.size() != from.size())
    failNode(codes::badNode, "input of shape ", printShape(from),
             " and weight of shape ", printShape(kernel));
  if (from.size() > 5)
    failNode(codes::unsupportedForm, "more than three spatial dimensions");
  bool fits = groups >= 1 && from[1] == kernel[0] && from[1] % groups == 0 &&
              kernel[1] >= 1 && shape[0] == from[0] &&
              shape[1] == kernel[1] * groups;
  for (size_t i = 0; fits && i + 2 < from.size(); ++i)
    fits = countPositions(shape[i + 2], kernel[i + 2], window.strides[i],
                          window.pads[2 * i], window.pads[2 * i + 1],
                          window.dilations[i]) == from[i + 2];
  if (!fits)
    failNode(codes::badNode, "input of shape ", printShape(from),
             ", weight of shape ", printShape(kernel), " and result of shape ",
             printShape(shape), " in ", groups, " groups");
  if (!isFloat(getType(input)) || getType(weight) != getType(input))
    failNode(codes::badNode, "operands of types ",
             printElementType(getType(input)), " and ",
             printElementType(getType(weight)));
  llvm::SmallVector<int64_t, 16> integers = {groups};
  integers.append(window.strides);
  integers.append(window.pads);
  integers.append(window.dilations);
  return append(OpKind::convTranspose, {input, weight}, getType(input), shape,
                integers);
}

ValueId GraphBuilder::pool(OpKind kind, ValueId input,
                           llvm::ArrayRef<int64_t> size, const Window &window,
                           bool countPadding) {
  ShapeRef from = getShape(input);
  if (!isFloat(getType(input)))
    failNode(codes::unsupportedForm, "pooling of ",
             printElementType(getType(input)));
  if (from.size() > 5)
    failNode(codes::unsupportedForm, "more than three spatial dimensions");
  Shape shape = {from[0], from[1]};
  for (size_t i = 0; i < size.size(); ++i)
    shape.push_back(countPositions(from[i + 2], size[i], window.strides[i],
                                   window.pads[2 * i], window.pads[2 * i + 1],
                                   window.dilations[i]));
  llvm::SmallVector<int64_t, 16> integers = {countPadding};
  integers.append(size.begin(), size.end());
  integers.append(window.strides);
  integers.append(window.pads);
  integers.append(window.dilations);
  return append(kind, {input}, getType(input), shape, integers);
}

} // namespace parplan::importer
