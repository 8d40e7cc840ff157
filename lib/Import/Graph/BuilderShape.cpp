//===- BuilderShape.cpp - Ops that move elements ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include <algorithm>
#include <bit>

namespace parplan::importer {

//===----------------------------------------------------------------------===//
// Reshape and broadcast
//===----------------------------------------------------------------------===//

namespace {
/// Dimensions [from.first, from.second) of one shape and [to.first, to.second)
/// of another with the same number of elements.
struct DimGroup {
  std::pair<size_t, size_t> from, to;
};
} // namespace

/// Cuts two shapes of equal size into the smallest groups of equal size.
static std::vector<DimGroup> matchDims(ShapeRef from, ShapeRef to) {
  std::vector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t firstFrom = i, firstTo = j;
    int64_t left = i < from.size() ? from[i++] : 1;
    int64_t right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    }
    groups.push_back({{firstFrom, i}, {firstTo, j}});
  }
  return groups;
}

ValueId GraphBuilder::foldReshape(ValueId input, ShapeRef shape) {
  const Constant *constant = graph.getConstant(input);
  if (!constant)
    return noValue;
  ShapeRef from = getShape(input);
  if (countElements(shape) == 0)
    return makeDense(constant->type, shape, {});
  if (constant->kind == Constant::Kind::parts)
    return noValue;

  // A group keeps its content if it does not vary, or varies in all of its
  // dimensions; of mixed ones the dimensions that repeat are written out.
  bool isAffine = constant->isAffine();
  Shape core(constant->core), result(shape.size(), 1);
  std::vector<int64_t> coefficients(shape.size(), 0);
  for (const DimGroup &group : matchDims(from, shape)) {
    llvm::SmallVector<size_t, 4> fromDims, toDims;
    bool varies = false;
    for (size_t dim = group.from.first; dim < group.from.second; ++dim)
      if (from[dim] != 1) {
        fromDims.push_back(dim);
        varies |= isAffine ? constant->coefficients[dim] != 0 : core[dim] != 1;
      }
    for (size_t dim = group.to.first; dim < group.to.second; ++dim)
      if (shape[dim] != 1)
        toDims.push_back(dim);
    if (!varies)
      continue;
    if (isAffine) {
      if (fromDims.size() != 1 || toDims.size() != 1)
        return noValue;
      coefficients[toDims[0]] = constant->coefficients[fromDims[0]];
      continue;
    }
    for (size_t dim : fromDims)
      core[dim] = from[dim];
    for (size_t dim : toDims)
      result[dim] = shape[dim];
  }
  if (isAffine)
    return graph.addConstantValue(
        graph.constants.addAffine({std::move(coefficients), constant->offset}),
        shape);
  if (!mayFold(countElements(core), constant->cells.size()))
    return noValue;
  std::vector<Cell> cells =
      core == constant->core ? constant->cells : expandCells(*constant, core);
  return graph.addConstantValue(graph.constants.addDense(constant->type,
                                                         std::move(result),
                                                         std::move(cells)),
                                shape);
}

ValueId GraphBuilder::reshape(ValueId input, ShapeRef shape) {
  checkShape(shape);
  if (countElements(getShape(input)) != countElements(shape))
    failNode(codes::badNode, "cannot reshape ", printShape(getShape(input)),
             " to ", printShape(shape));
  if (ShapeRef(getShape(input)) == shape)
    return input;
  if (ValueId folded = foldReshape(input, shape); folded != noValue)
    return folded;
  if (const Op *inner = graph.getDefinition(input, OpKind::reshape))
    return reshape(inner->operands[0], shape);
  return append(OpKind::reshape, {input}, getType(input), shape);
}

ValueId GraphBuilder::insertDims(ValueId input, llvm::ArrayRef<int64_t> dims) {
  size_t rank = getRank(input) + dims.size();
  Shape shape(rank, 0);
  for (int64_t dim : dims) {
    int64_t &size = shape[normalizeDim(dim, rank)];
    if (size)
      failNode(codes::badNode, "axis ", dim, " is listed twice");
    size = 1;
  }
  size_t next = 0;
  for (int64_t &size : shape)
    if (!size)
      size = getShape(input)[next++];
  return reshape(input, shape);
}

ValueId GraphBuilder::broadcast(ValueId input, ShapeRef shape) {
  ShapeRef from = getShape(input);
  if (from == shape)
    return input;
  checkShape(shape);
  if (ShapeRef(broadcastShapes({from, shape})) != shape)
    failNode(codes::badNode, "cannot expand ", printShape(from), " to ",
             printShape(shape));
  size_t added = shape.size() - from.size();
  if (const Constant *constant = graph.getConstant(input)) {
    if (countElements(shape) == 0)
      return makeDense(constant->type, shape, {});
    if (constant->isAffine()) {
      std::vector<int64_t> coefficients(added, 0);
      coefficients.insert(coefficients.end(), constant->coefficients.begin(),
                          constant->coefficients.end());
      return graph.addConstantValue(
          graph.constants.addAffine(
              {std::move(coefficients), constant->offset}),
          shape);
    }
    if (constant->isDense()) {
      Shape core(added, 1);
      core.append(constant->core.begin(), constant->core.end());
      return graph.addConstantValue(graph.constants.addDense(constant->type,
                                                             std::move(core),
                                                             constant->cells),
                                    shape);
    }
  }
  if (const Op *inner = graph.getDefinition(input, OpKind::broadcast))
    return broadcast(inner->operands[0], shape);
  return append(OpKind::broadcast, {input}, getType(input), shape);
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::transpose(ValueId input,
                                llvm::ArrayRef<int64_t> permutation) {
  ShapeRef from = getShape(input);
  size_t rank = from.size();
  llvm::SmallVector<bool, 6> seen(rank, false);
  bool isValid = permutation.size() == rank;
  for (int64_t dim : permutation) {
    isValid = isValid && dim >= 0 && dim < int64_t(rank) && !seen[dim];
    if (!isValid)
      failNode(codes::badNode, "perm ", printShape(permutation),
               " is not a permutation of ", rank, " dimensions");
    seen[dim] = true;
  }
  if (!isValid)
    failNode(codes::badNode, "perm ", printShape(permutation),
             " is not a permutation of ", rank, " dimensions");
  Shape shape;
  int64_t last = -1;
  bool keepsOrder = true;
  for (int64_t dim : permutation) {
    shape.push_back(from[dim]);
    if (from[dim] == 1)
      continue;
    keepsOrder &= dim > last;
    last = dim;
  }
  if (keepsOrder)
    return reshape(input, shape);

  if (const Constant *constant = graph.getConstant(input)) {
    if (countElements(shape) == 0)
      return makeDense(constant->type, shape, {});
    if (constant->isAffine()) {
      AffineFunction function{{}, constant->offset};
      for (int64_t dim : permutation)
        function.coefficients.push_back(constant->coefficients[dim]);
      return graph.addConstantValue(
          graph.constants.addAffine(std::move(function)), shape);
    }
    if (constant->isDense() &&
        mayFold(constant->cells.size(), constant->cells.size())) {
      llvm::SmallVector<int64_t, 6> strides =
          getCoreStrides(constant->core, rank);
      llvm::SmallVector<int64_t, 6> permuted[1];
      Shape core;
      for (int64_t dim : permutation) {
        core.push_back(constant->core[dim]);
        permuted[0].push_back(strides[dim]);
      }
      std::vector<Cell> cells;
      cells.reserve(constant->cells.size());
      forEachElement(core, permuted, [&](const int64_t(&offsets)[1]) {
        cells.push_back(constant->cells[offsets[0]]);
      });
      return graph.addConstantValue(graph.constants.addDense(constant->type,
                                                             std::move(core),
                                                             std::move(cells)),
                                    shape);
    }
  }
  if (const Op *inner = graph.getDefinition(input, OpKind::transpose)) {
    Shape composed;
    for (int64_t dim : permutation)
      composed.push_back(inner->integers[dim]);
    return transpose(inner->operands[0], composed);
  }
  return append(OpKind::transpose, {input}, getType(input), shape, permutation);
}

//===----------------------------------------------------------------------===//
// Slice, concatenation, padding
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::findJoined(ValueId input, SliceRange range) const {
  auto isSlice = [&](const Op *op) {
    return op && op->integers.size() == 4 && op->integers[0] == range.dim &&
           op->integers[3] == 1;
  };
  for (const Op *inner = graph.getDefinition(input, OpKind::slice);
       isSlice(inner); inner = graph.getDefinition(input, OpKind::slice)) {
    range.start += inner->integers[1];
    range.limit += inner->integers[1];
    input = inner->operands[0];
  }
  const Op *joined = graph.getDefinition(input, OpKind::concat);
  if (!joined || joined->integers[0] != range.dim)
    return noValue;
  int64_t start = 0;
  for (ValueId operand : joined->operands) {
    int64_t size = getShape(operand)[range.dim];
    if (start == range.start && start + size == range.limit)
      return operand;
    start += size;
  }
  return noValue;
}

ValueId GraphBuilder::slice(ValueId input, llvm::ArrayRef<SliceRange> ranges) {
  Shape shape = getShape(input);
  llvm::SmallVector<SliceRange, 4> cuts;
  for (const SliceRange &range : ranges) {
    int64_t size = range.getSize();
    if (size == shape[range.dim] && range.step == 1)
      continue;
    shape[range.dim] = size;
    cuts.push_back(range);
  }
  if (cuts.empty())
    return input;
  llvm::sort(cuts, [](const SliceRange &left, const SliceRange &right) {
    return left.dim < right.dim;
  });

  if (const Constant *constant = graph.getConstant(input)) {
    if (countElements(shape) == 0)
      return makeDense(constant->type, shape, {});
    if (constant->isDense() && mayFold(0, constant->cells.size())) {
      size_t rank = shape.size();
      llvm::SmallVector<int64_t, 6> strides[] = {
          getCoreStrides(constant->core, rank)};
      Shape core = constant->core;
      int64_t first = 0;
      for (const SliceRange &cut : cuts) {
        if (core[cut.dim] == 1)
          continue;
        core[cut.dim] = shape[cut.dim];
        first += strides[0][cut.dim] * cut.start;
        strides[0][cut.dim] *= cut.step;
      }
      std::vector<Cell> cells;
      forEachElement(core, strides, [&](const int64_t(&offsets)[1]) {
        cells.push_back(constant->cells[first + offsets[0]]);
      });
      return graph.addConstantValue(graph.constants.addDense(constant->type,
                                                             std::move(core),
                                                             std::move(cells)),
                                    shape);
    }
  }
  if (ValueId mask = sliceMask(input, cuts); mask != noValue)
    return mask;
  if (cuts.size() == 1 && cuts[0].step == 1)
    if (ValueId operand = findJoined(input, cuts[0]); operand != noValue)
      return operand;
  llvm::SmallVector<int64_t, 8> integers;
  for (const SliceRange &cut : cuts)
    integers.append({cut.dim, cut.start, cut.limit, cut.step});
  return append(OpKind::slice, {input}, getType(input), shape, integers);
}

ValueId GraphBuilder::foldConcat(llvm::ArrayRef<ValueId> inputs, int64_t dim,
                                 ShapeRef shape) {
  Shape core(shape.size(), 1);
  core[dim] = shape[dim];
  for (ValueId input : inputs) {
    const Constant *constant = graph.getConstant(input);
    if (!constant || !constant->isDense())
      return noValue;
    for (size_t i = 0; i < core.size(); ++i)
      if (constant->core[i] != 1)
        core[i] = shape[i];
  }
  ElementType type = getType(inputs[0]);
  if (countElements(shape) == 0)
    return makeDense(type, shape, {});
  int64_t operandCells = 0;
  for (ValueId input : inputs)
    operandCells += graph.getConstant(input)->cells.size();
  if (mayFold(countElements(core), operandCells)) {
    int64_t outer = countElements(ShapeRef(core).take_front(dim));
    std::vector<std::vector<Cell>> blocks;
    for (ValueId input : inputs) {
      Shape whole = core;
      whole[dim] = getShape(input)[dim];
      blocks.push_back(expandCells(*graph.getConstant(input), whole));
    }
    std::vector<Cell> cells;
    cells.reserve(countElements(core));
    for (int64_t i = 0; i < outer; ++i)
      for (const std::vector<Cell> &block : blocks) {
        size_t length = block.size() / outer;
        cells.insert(cells.end(), block.begin() + i * length,
                     block.begin() + (i + 1) * length);
      }
    return graph.addConstantValue(
        graph.constants.addDense(type, std::move(core), std::move(cells)),
        shape);
  }
  if (dim + 1 != int64_t(shape.size()) || isFloat(type))
    return noValue;
  std::vector<ConstantPart> parts;
  for (ValueId input : inputs)
    parts.push_back({graph.getValue(input).constant, getShape(input)[dim]});
  return graph.addConstantValue(
      graph.constants.addParts(type, std::move(core), std::move(parts)), shape);
}

ValueId GraphBuilder::concat(llvm::ArrayRef<ValueId> inputs, int64_t dim) {
  Shape shape = getShape(inputs[0]);
  ElementType type = getType(inputs[0]);
  if (shape.empty())
    failNode(codes::badNode, "cannot concatenate scalars");
  llvm::SmallVector<ValueId, 4> kept;
  shape[dim] = 0;
  for (ValueId input : inputs) {
    Shape other = getShape(input);
    if (getType(input) != type || other.size() != shape.size())
      failNode(codes::badNode, "cannot concatenate ", printElementType(type),
               " ", printShape(getShape(inputs[0])), " and ",
               printElementType(getType(input)), " ", printShape(other));
    shape[dim] += other[dim];
    if (shape[dim] > (int64_t(1) << 48))
      failNode(codes::tooLarge, "the concatenation has too many elements");
    if (other[dim] > 0)
      kept.push_back(input);
    other[dim] = shape[dim];
    if (other != shape)
      failNode(codes::badNode, "cannot concatenate shapes ",
               printShape(getShape(inputs[0])), " and ",
               printShape(getShape(input)), " along axis ", dim);
  }
  checkShape(shape);
  if (kept.size() <= 1)
    return kept.empty() ? inputs[0] : kept[0];
  if (ValueId folded = foldConcat(kept, dim, shape); folded != noValue)
    return folded;
  return append(OpKind::concat, kept, type, shape, {dim});
}

ValueId GraphBuilder::pad(ValueId input, llvm::ArrayRef<int64_t> low,
                          llvm::ArrayRef<int64_t> high, double value) {
  Shape shape = getShape(input);
  llvm::SmallVector<int64_t, 8> integers = {std::bit_cast<int64_t>(value)};
  llvm::SmallVector<SliceRange, 4> cuts;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    for (int64_t amount : {low[dim], high[dim]})
      if (amount > (int64_t(1) << 40) || amount < -(int64_t(1) << 40))
        failNode(codes::tooLarge, "a padding of ", amount);
    // Negative amounts cut.
    int64_t start = std::max<int64_t>(0, -low[dim]);
    int64_t limit = shape[dim] - std::max<int64_t>(0, -high[dim]);
    if (start > limit)
      failNode(codes::badNode, "axis ", dim, " of size ", shape[dim],
               " cannot be cut by ", low[dim], " and ", high[dim]);
    cuts.push_back({int64_t(dim), start, limit});
    int64_t before = std::max<int64_t>(0, low[dim]);
    int64_t after = std::max<int64_t>(0, high[dim]);
    shape[dim] = limit - start + before + after;
    if (before || after)
      integers.append({int64_t(dim), before, after});
  }
  ValueId inner = slice(input, cuts);
  if (integers.size() == 1)
    return inner;
  if (isBool(getType(input)))
    failNode(codes::unsupportedForm, "padding of bool tensors");
  checkShape(shape);
  const Constant *constant = graph.getConstant(inner);
  if (!constant || !constant->isDense())
    return append(OpKind::pad, {inner}, getType(input), shape, integers);
  // Constants are padded by concatenation, which folds or stays lazy.
  ValueId result = inner;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    llvm::SmallVector<ValueId, 3> parts;
    for (int64_t side : {0, 1}) {
      int64_t amount = std::max<int64_t>(0, side ? high[dim] : low[dim]);
      if (side)
        parts.push_back(result);
      if (!amount)
        continue;
      Shape border = getShape(result);
      border[dim] = amount;
      parts.push_back(makeNumber(getType(input), value, border));
    }
    result = concat(parts, dim);
  }
  return result;
}

} // namespace parplan::importer
