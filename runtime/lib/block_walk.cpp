//===- block_walk.cpp - Copies between blocks and strided arrays ----------===//

#include "block_walk.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {
template <typename Element>
void copyRow(const char *from, int64_t fromStride, char *to, int64_t toStride,
             int64_t count) {
  if (fromStride == sizeof(Element) && toStride == sizeof(Element)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, sizeof(Element));
}

void copyRow(int64_t width, const char *from, int64_t fromStride, char *to,
             int64_t toStride, int64_t count) {
  if (width == 8)
    copyRow<int64_t>(from, fromStride, to, toStride, count);
  else if (width == 4)
    copyRow<int32_t>(from, fromStride, to, toStride, count);
  else if (width == 2)
    copyRow<int16_t>(from, fromStride, to, toStride, count);
  else
    copyRow<int8_t>(from, fromStride, to, toStride, count);
}

} // namespace

BlockWalk::BlockWalk(const Program &program,
                     const std::vector<int64_t> &coordinates,
                     Table<Dimension> dimensions,
                     const std::vector<int64_t> &strides, int64_t width)
    : loops(dimensions.size), width(width) {
  for (int64_t d = dimensions.size - 1; d >= 0; --d) {
    const Interval interval =
        blockOf(program, coordinates, dimensions[d].size, dimensions[d].axes);
    const int64_t zigzag = dimensions[d].zigzag;
    loops[d] = {strides[d] * width, count * width,      interval.valid,
                interval.start,     dimensions[d].size, zigzag};
    if (zigzag == 1)
      start += interval.start * strides[d];
    count *= interval.size;
    empty |= interval.valid == 0;
    hasPadding |= interval.valid < interval.size;
  }
}

void BlockWalk::copy(bool gather, char *strided, char *dense) const {
  if (!empty)
    walk(0, gather, strided + start * width, dense);
}

void BlockWalk::walk(size_t depth, bool gather, char *strided,
                     char *dense) const {
  if (depth == loops.size()) {
    std::memcpy(gather ? dense : strided, gather ? strided : dense,
                static_cast<size_t>(width));
    return;
  }
  const Loop &loop = loops[depth];
  if (loop.zigzag > 1) {
    for (int64_t i = 0; i < loop.valid; ++i)
      walk(depth + 1, gather,
           strided + loop.strided *
                         zigzagPosition(loop.first + i, loop.size, loop.zigzag),
           dense + i * loop.dense);
    return;
  }
  if (depth + 1 == loops.size()) {
    if (gather)
      copyRow(width, strided, loop.strided, dense, loop.dense, loop.valid);
    else
      copyRow(width, dense, loop.dense, strided, loop.strided, loop.valid);
    return;
  }
  for (int64_t i = 0; i < loop.valid; ++i)
    walk(depth + 1, gather, strided + i * loop.strided, dense + i * loop.dense);
}

std::vector<int64_t> rowMajorStrides(Table<Dimension> dimensions) {
  std::vector<int64_t> strides(dimensions.size);
  int64_t stride = 1;
  for (int64_t d = dimensions.size - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dimensions[d].size;
  }
  return strides;
}

std::vector<int64_t> stridesOf(const Parameter &parameter) {
  std::vector<int64_t> strides;
  for (const Dimension &dimension : parameter.dimensions)
    strides.push_back(dimension.stride);
  return strides;
}

Staging::Staging(EngineRank &rank, Range range) : rank(rank), range(range) {
  if (char *arena = rank.mapped(range.tier)) {
    target = arena + range.offset;
  } else {
    buffer.resize(static_cast<size_t>(range.bytes));
    target = buffer.data();
  }
  zero();
}

void Staging::zero() {
  std::memset(target, 0, static_cast<size_t>(range.bytes));
}

} // namespace runtime
} // namespace parplan
