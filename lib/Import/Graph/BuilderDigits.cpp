//===- BuilderDigits.cpp - Indices that count like digits ------*- C++ -*-===//
//
// Part of parplan.
//
// Lists of the positions of a tensor have indices like the digits of a number:
// column j of row n is (n / stride) % size. What is gathered by them is a
// transposed and repeated tensor, and what is added by them a sum.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

namespace parplan::importer {

/// The stride of a column of digits below `size`; 0 where it has nothing but
/// zeros, nullopt where it is no digit.
static std::optional<int64_t> findStride(llvm::ArrayRef<Cell> cells,
                                         int64_t size) {
  int64_t count = cells.size(), stride = 1;
  if (size == 1)
    stride = 0;
  else
    while (stride < count && cells[stride].integer == 0)
      ++stride;
  if (stride > 0 && count % (stride * size) != 0)
    return std::nullopt;
  for (int64_t row = 0; row < count; ++row)
    if (cells[row].integer != (stride ? row / stride % size : 0))
      return std::nullopt;
  return stride;
}

std::optional<llvm::SmallVector<int64_t, 4>>
GraphBuilder::matchDigits(ValueId indices, ShapeRef sizes) {
  std::vector<ConstantId> columns =
      getIndexColumns(indices, static_cast<int64_t>(sizes.size()));
  int64_t rows = getShape(indices)[0];
  if (getRank(indices) != 2 || columns.size() != sizes.size() || rows < 2)
    return std::nullopt;
  llvm::SmallVector<int64_t, 4> strides;
  for (auto [column, size] : llvm::zip_equal(columns, sizes)) {
    std::optional<int64_t> stride =
        findStride(expandCells(graph.constants[column], {rows}), size);
    if (!stride)
      return std::nullopt;
    strides.push_back(*stride);
  }
  return strides;
}

ValueId GraphBuilder::gatherByDigits(ValueId data, ValueId indices) {
  Shape shape(getShape(data));
  int64_t rows = getShape(indices)[0], count = getShape(indices).back();
  ShapeRef inner = ShapeRef(shape).drop_front(count);
  auto strides = matchDigits(indices, ShapeRef(shape).take_front(count));
  if (!strides)
    return noValue;
  // From the digit that changes least to the one that changes most.
  llvm::SmallVector<int64_t, 6> order;
  for (int64_t column = 0; column < static_cast<int64_t>(shape.size());
       ++column)
    order.push_back(column);
  std::stable_sort(order.begin(), order.begin() + count,
                   [&](int64_t one, int64_t other) {
                     return (*strides)[one] > (*strides)[other];
                   });
  Shape once, spread;
  int64_t left = rows;
  for (int64_t column : llvm::ArrayRef(order).take_front(count)) {
    int64_t stride = (*strides)[column];
    if (stride == 0)
      continue;
    if (left % (stride * shape[column]) != 0)
      return noValue;
    once.append({1, shape[column]});
    spread.append({left / (stride * shape[column]), shape[column]});
    left = stride;
  }
  once.push_back(1);
  spread.push_back(left);
  once.append(inner.begin(), inner.end());
  spread.append(inner.begin(), inner.end());
  Shape result = {rows};
  result.append(inner.begin(), inner.end());
  return reshape(broadcast(reshape(transpose(data, order), once), spread),
                 result);
}

ValueId GraphBuilder::addByDigits(ValueId data, ValueId indices,
                                  ValueId updates) {
  Shape shape(getShape(data));
  if (getShape(indices).back() != 1)
    return noValue;
  auto strides = matchDigits(indices, ShapeRef(shape).take_front(1));
  if (!strides || strides->front() == 0)
    return noValue;
  int64_t rows = getShape(indices)[0], stride = strides->front();
  Shape cut = {rows / (stride * shape[0]), shape[0]};
  llvm::SmallVector<int64_t, 2> summed = {0};
  if (stride != 1) {
    cut.push_back(stride);
    summed.push_back(2);
  }
  cut.append(shape.begin() + 1, shape.end());
  ValueId sum = reduce(ReduceKind::sum, reshape(updates, cut), summed,
                       /*keepDims=*/false);
  return isSplatOf(data, 0) ? sum : binary(OpKind::add, data, sum);
}

} // namespace parplan::importer
