//===- BuilderIndexing.cpp - Gathers and scans -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include <algorithm>

namespace parplan::importer {

static void requireIndices(const GraphBuilder &builder, ValueId indices) {
  ElementType type = builder.getType(indices);
  if (type != ElementType::i64 && type != ElementType::i32)
    failNode(codes::badNode, "indices of type ", printElementType(type));
}

/// Counts from the end if negative; fails outside of a dimension of `size`.
static int64_t normalizeIndex(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    failNode(codes::badNode, "index ", index,
             " is outside a dimension of size ", size);
  return index < 0 ? index + size : index;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::foldGather(ValueId data, ValueId indices, int64_t dim,
                                 ShapeRef shape) {
  const Constant *from = graph.getConstant(data);
  const Constant *where = graph.getConstant(indices);
  if (!from || !from->isDense())
    return noValue;
  size_t indexRank = getRank(indices);
  // Along a dimension in which the data does not vary, indices do not matter.
  bool varies = from->core[dim] != 1;
  if (varies && (!where || !where->isDense()))
    return noValue;
  Shape core(from->core.begin(), from->core.begin() + dim);
  if (varies)
    core.append(where->core.begin(), where->core.end());
  else
    core.append(indexRank, 1);
  core.append(from->core.begin() + dim + 1, from->core.end());
  if (!mayFold(countElements(core),
               int64_t(from->cells.size() + (where ? where->cells.size() : 0))))
    return noValue;

  size_t inner = countElements(ShapeRef(from->core).drop_front(dim + 1));
  size_t outer = countElements(ShapeRef(from->core).take_front(dim));
  size_t block = inner * from->core[dim];
  std::vector<int64_t> positions = {0};
  if (varies) {
    positions.clear();
    for (Cell cell : where->cells)
      positions.push_back(normalizeIndex(cell.integer, getShape(data)[dim]));
  }
  std::vector<Cell> cells;
  cells.reserve(countElements(core));
  for (size_t i = 0; i < outer; ++i)
    for (int64_t position : positions) {
      auto start = from->cells.begin() + i * block + position * inner;
      cells.insert(cells.end(), start, start + inner);
    }
  return graph.addConstantValue(
      graph.constants.addDense(from->type, std::move(core), std::move(cells)),
      shape);
}

ValueId GraphBuilder::gatherByRange(ValueId data, ValueId indices, int64_t dim,
                                    ShapeRef shape) {
  // Constant indices that advance by equal steps along at most one dimension:
  // a slice, repeated along the others.
  const Constant *where = graph.getConstant(indices);
  if (!where || !where->isDense() || where->cells.empty())
    return noValue;
  size_t varying = where->core.size();
  for (size_t i = 0; i < where->core.size(); ++i)
    if (where->core[i] != 1) {
      if (varying != where->core.size())
        return noValue;
      varying = i;
    }
  int64_t size = getShape(data)[dim];
  int64_t count = where->cells.size();
  llvm::SmallVector<int64_t, 8> positions;
  for (Cell cell : where->cells)
    positions.push_back(normalizeIndex(cell.integer, size));
  int64_t step = count > 1 ? positions[1] - positions[0] : 1;
  for (int64_t i = 1; i < count; ++i)
    if (positions[i] - positions[i - 1] != step)
      return noValue;
  if (step <= 0)
    return noValue;
  ValueId cut = slice(
      data, SliceRange{dim, positions[0], positions[count - 1] + 1, step});
  Shape spread(getShape(data).begin(), getShape(data).begin() + dim);
  for (size_t i = 0; i < where->core.size(); ++i)
    spread.push_back(i == varying ? count : 1);
  spread.append(getShape(data).begin() + dim + 1, getShape(data).end());
  return broadcast(reshape(cut, spread), shape);
}

ValueId GraphBuilder::countFromStart(ValueId indices, int64_t size) {
  const Constant *known = graph.getConstant(indices);
  if (known && known->isDense() &&
      llvm::all_of(known->cells, [](Cell cell) { return cell.integer >= 0; }))
    return indices;
  if (const Value &value = graph.getValue(indices);
      value.kind == ValueKind::result &&
      graph.getOp(value.op).kind == OpKind::topK)
    return indices;
  ElementType type = getType(indices);
  return select(compare(Predicate::lt, indices, makeNumber(type, 0)),
                binary(OpKind::add, indices, makeNumber(type, double(size))),
                indices);
}

ValueId GraphBuilder::gather(ValueId data, ValueId indices, int64_t dim) {
  requireIndices(*this, indices);
  dim = normalizeDim(dim, getRank(data));
  Shape shape(getShape(data).begin(), getShape(data).begin() + dim);
  shape.append(getShape(indices).begin(), getShape(indices).end());
  shape.append(getShape(data).begin() + dim + 1, getShape(data).end());
  checkShape(shape);
  if (countElements(shape) == 0)
    return makeDense(getType(data), shape, {});
  if (ValueId folded = foldGather(data, indices, dim, shape); folded != noValue)
    return folded;
  if (ValueId sliced = gatherByRange(data, indices, dim, shape);
      sliced != noValue)
    return sliced;
  if (dim == 0 && getRank(indices) == 1)
    if (ValueId spread =
            gatherByDigits(data, reshape(indices, {getShape(indices)[0], 1}));
        spread != noValue)
      return spread;
  if (dim != 0 || getRank(data) != 2 || !isFloat(getType(data)) ||
      getRank(indices) == 0)
    return append(OpKind::gather, {data, indices}, getType(data), shape, {dim});

  // Rows of a table. Ids that count from the end are made to count from 0.
  ValueId ids = countFromStart(indices, getShape(data)[0]);
  return append(OpKind::embedding, {ids, data}, getType(data), shape);
}

ValueId GraphBuilder::gatherElements(ValueId data, ValueId indices,
                                     int64_t dim) {
  requireIndices(*this, indices);
  dim = normalizeDim(dim, getRank(data));
  Shape shape = getShape(indices);
  if (shape.size() != getShape(data).size())
    failNode(codes::badNode, "data of rank ", getRank(data),
             " and indices of rank ", shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    if (int64_t(i) != dim && shape[i] > getShape(data)[i])
      failNode(codes::badNode, "indices of shape ", printShape(shape),
               " reach past data of shape ", printShape(getShape(data)));
  const Constant *from = graph.getConstant(data);
  const Constant *where = graph.getConstant(indices);
  if (countElements(shape) == 0)
    return makeDense(getType(data), shape, {});
  // Data that does not vary along `dim` needs no indices.
  if (from && from->isDense() && from->core[dim] == 1) {
    llvm::SmallVector<SliceRange, 6> ranges;
    for (size_t i = 0; i < shape.size(); ++i)
      if (int64_t(i) != dim)
        ranges.push_back({int64_t(i), 0, shape[i]});
    ranges.push_back({dim, 0, 1});
    return broadcast(slice(data, ranges), shape);
  }
  if (from && where && from->isDense() && where->isDense()) {
    Shape core(shape.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i)
      if (where->core[i] != 1 || (int64_t(i) != dim && from->core[i] != 1))
        core[i] = shape[i];
    if (mayFold(countElements(core), {data, indices})) {
      llvm::SmallVector<int64_t, 6> strides[] = {
          getCoreStrides(from->core, shape.size()),
          getCoreStrides(where->core, shape.size())};
      int64_t along = strides[0][dim];
      strides[0][dim] = 0;
      std::vector<Cell> cells;
      forEachElement(core, strides, [&](const int64_t(&offsets)[2]) {
        int64_t position = normalizeIndex(where->cells[offsets[1]].integer,
                                          getShape(data)[dim]);
        cells.push_back(from->cells[offsets[0] + along * position]);
      });
      return graph.addConstantValue(graph.constants.addDense(from->type,
                                                             std::move(core),
                                                             std::move(cells)),
                                    shape);
    }
  }
  // Constant indices that are equal across the other dimensions: a gather.
  if (where && where->isDense()) {
    bool onlyAlong = true;
    for (size_t i = 0; i < shape.size(); ++i)
      onlyAlong &= int64_t(i) == dim ||
                   (where->core[i] == 1 && shape[i] == getShape(data)[i]);
    if (onlyAlong) {
      std::vector<int64_t> positions;
      for (Cell cell : where->cells)
        positions.push_back(cell.integer);
      positions.resize(shape[dim], positions[0]);
      return gather(data, makeIntegers(positions), dim);
    }
  }
  return append(OpKind::gatherElements, {data, indices}, getType(data), shape,
                {dim});
}

//===----------------------------------------------------------------------===//
// GatherND
//===----------------------------------------------------------------------===//

std::vector<ConstantId> GraphBuilder::getIndexColumns(ValueId indices,
                                                      int64_t count) {
  const Constant *where = graph.getConstant(indices);
  std::vector<ConstantId> columns;
  if (!where || where->isAffine())
    return columns;
  if (where->kind == Constant::Kind::parts) {
    for (const ConstantPart &part : where->parts) {
      const Constant &constant = graph.constants[part.constant];
      if (part.size != 1 || !constant.isDense())
        return {};
      Shape core(constant.core.begin(), constant.core.end() - 1);
      columns.push_back(graph.constants.addDense(constant.type, std::move(core),
                                                 constant.cells));
    }
    return columns;
  }
  Shape core(where->core.begin(), where->core.end() - 1);
  bool varies = where->core.back() != 1;
  for (int64_t column = 0; column < count; ++column) {
    std::vector<Cell> cells;
    if (varies)
      for (size_t i = column; i < where->cells.size(); i += count)
        cells.push_back(where->cells[i]);
    else
      cells = where->cells;
    columns.push_back(
        graph.constants.addDense(where->type, core, std::move(cells)));
  }
  return columns;
}

ValueId GraphBuilder::foldGatherND(ValueId data, ValueId indices,
                                   ShapeRef shape) {
  const Constant *from = graph.getConstant(data);
  if (!from || !from->isDense())
    return noValue;
  int64_t count = getShape(indices).back();
  size_t tupleRank = getRank(indices) - 1;
  bool varies = false;
  for (int64_t i = 0; i < count; ++i)
    varies |= from->core[i] != 1;
  std::vector<ConstantId> columns;
  if (varies) {
    columns = getIndexColumns(indices, count);
    if (columns.empty())
      return noValue;
  }
  // The result varies where a column that matters does.
  Shape tuples(tupleRank, 1);
  int64_t operandCells = from->cells.size();
  for (int64_t i = 0; varies && i < count; ++i) {
    if (from->core[i] == 1)
      continue;
    const Constant &column = graph.constants[columns[i]];
    operandCells += column.cells.size();
    for (size_t dim = 0; dim < tupleRank; ++dim)
      if (column.core[dim] != 1)
        tuples[dim] = column.core[dim];
  }
  ShapeRef innerCore = ShapeRef(from->core).drop_front(count);
  size_t inner = countElements(innerCore);
  Shape core = tuples;
  core.append(innerCore.begin(), innerCore.end());
  if (!mayFold(countElements(core), operandCells))
    return noValue;

  llvm::SmallVector<int64_t, 6> dataStrides =
      getCoreStrides(from->core, from->core.size());
  std::vector<int64_t> starts(countElements(tuples), 0);
  for (int64_t i = 0; varies && i < count; ++i) {
    if (from->core[i] == 1)
      continue;
    const Constant &column = graph.constants[columns[i]];
    llvm::SmallVector<int64_t, 6> strides[] = {
        getCoreStrides(column.core, tupleRank)};
    size_t next = 0;
    forEachElement(tuples, strides, [&](const int64_t(&offsets)[1]) {
      starts[next++] +=
          dataStrides[i] *
          normalizeIndex(column.cells[offsets[0]].integer, getShape(data)[i]);
    });
  }
  std::vector<Cell> cells;
  cells.reserve(starts.size() * inner);
  for (int64_t start : starts)
    cells.insert(cells.end(), from->cells.begin() + start,
                 from->cells.begin() + start + inner);
  return graph.addConstantValue(
      graph.constants.addDense(from->type, std::move(core), std::move(cells)),
      shape);
}

ValueId GraphBuilder::gatherByIndexGrid(ValueId data, ValueId indices,
                                        ShapeRef shape) {
  // Columns that count 0, 1, .. each along a dimension of its own read the
  // data in place: result[i, 0, 0, j] = data[i, j].
  int64_t count = getShape(indices).back();
  std::vector<ConstantId> columns = getIndexColumns(indices, count);
  if (columns.empty())
    return noValue;
  size_t tupleRank = getRank(indices) - 1;
  Shape spread(tupleRank, 1);
  llvm::SmallVector<int64_t, 4> target;
  for (int64_t i = 0; i < count; ++i) {
    const Constant &column = graph.constants[columns[i]];
    int64_t size = getShape(data)[i];
    int64_t along = -1;
    for (size_t dim = 0; dim < tupleRank; ++dim)
      if (column.core[dim] != 1) {
        if (along >= 0 || column.core[dim] != size)
          return noValue;
        along = dim;
      }
    for (size_t k = 0; k < column.cells.size(); ++k)
      if (column.cells[k].integer != int64_t(k))
        return noValue;
    if (along < 0) {
      if (size != 1)
        return noValue;
      continue;
    }
    if (!target.empty() && along <= target.back())
      return noValue;
    target.push_back(along);
    spread[along] = size;
  }
  ShapeRef inner = ShapeRef(getShape(data)).drop_front(count);
  spread.append(inner.begin(), inner.end());
  return broadcast(reshape(data, spread), shape);
}

ValueId GraphBuilder::gatherND(ValueId data, ValueId indices,
                               int64_t batchDims) {
  requireIndices(*this, indices);
  ShapeRef dataShape = getShape(data), indexShape = getShape(indices);
  if (indexShape.empty() || dataShape.empty() || batchDims < 0 ||
      batchDims >= int64_t(std::min(dataShape.size(), indexShape.size())) ||
      dataShape.take_front(batchDims) != indexShape.take_front(batchDims) ||
      indexShape.back() < 1 ||
      indexShape.back() + batchDims > int64_t(dataShape.size()))
    failNode(codes::badNode, "data of shape ", printShape(dataShape),
             " does not fit indices of shape ", printShape(indexShape),
             " with batch_dims ", batchDims);
  int64_t count = indexShape.back();
  Shape shape(indexShape.begin(), indexShape.end() - 1);
  shape.append(dataShape.begin() + batchDims + count, dataShape.end());
  checkShape(shape);
  if (countElements(shape) == 0)
    return makeDense(getType(data), shape, {});
  if (batchDims == 0) {
    ValueId result = foldGatherND(data, indices, shape);
    if (result == noValue)
      result = gatherByIndexGrid(data, indices, shape);
    if (result == noValue)
      result = gatherByDigits(data, indices);
    if (result != noValue)
      return result;
    if (count == 1) {
      Shape flat(indexShape.begin(), indexShape.end() - 1);
      return gather(data, reshape(indices, flat), 0);
    }
  }
  return append(OpKind::gatherND, {data, indices}, getType(data), shape,
                {batchDims});
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

ValueId GraphBuilder::topK(ValueId input, int64_t k, int64_t dim,
                           bool largest) {
  dim = normalizeDim(dim, getRank(input));
  Shape shape = getShape(input);
  if (k < 1 || k > shape[dim])
    failNode(codes::badNode, "the ", k, " largest of ", shape[dim],
             " elements");
  shape[dim] = k;
  Op op;
  op.kind = OpKind::topK;
  op.node = node;
  op.operands = {input};
  op.integers = {k, dim, largest};
  return graph.addOp(std::move(op),
                     {{getType(input), shape}, {ElementType::i64, shape}});
}

ValueId GraphBuilder::cumSum(ValueId input, int64_t dim, bool exclusive,
                             bool reverse) {
  dim = normalizeDim(dim, getRank(input));
  ElementType type = getType(input);
  ShapeRef shape = getShape(input);
  if (isBool(type))
    failNode(codes::badNode, "operand of type bool");
  const Constant *constant = graph.getConstant(input);
  if (constant && constant->isSplat() && isSplatOf(input, 0))
    return input;
  if (constant && constant->isDense() && countElements(shape) > 0) {
    Shape core = constant->core;
    core[dim] = shape[dim];
    // Linear in what it makes: a repeated dimension may be written out.
    if (mayFold(countElements(core),
                std::max<int64_t>(countElements(core), 1))) {
      std::vector<Cell> cells = expandCells(*constant, core);
      int64_t inner = countElements(ShapeRef(core).drop_front(dim + 1));
      int64_t length = core[dim];
      for (int64_t start = 0; start < int64_t(cells.size());
           start += inner * length)
        for (int64_t i = 0; i < inner; ++i) {
          Cell sum{.integer = 0};
          for (int64_t k = 0; k < length; ++k) {
            int64_t position = reverse ? length - 1 - k : k;
            Cell &cell = cells[start + position * inner + i];
            Cell next;
            if (isFloat(type))
              next.real = roundToType(sum.real + cell.real, type);
            else
              next.integer = wrapToType(
                  int64_t(uint64_t(sum.integer) + uint64_t(cell.integer)),
                  type);
            cell = exclusive ? sum : next;
            sum = next;
          }
        }
      return graph.addConstantValue(
          graph.constants.addDense(type, std::move(core), std::move(cells)),
          shape);
    }
  }
  return append(OpKind::cumSum, {input}, type, shape,
                {dim, exclusive, reverse});
}

} // namespace parplan::importer
