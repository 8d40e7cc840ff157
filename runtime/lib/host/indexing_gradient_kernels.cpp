//===- indexing_gradient_kernels.cpp - Adjoints of embedding and gathers --===//
//
// The result is cleared once; rows are then added in the order of their
// indices, which makes sums the same in every run. Every index is checked.
// Sums of 16-bit elements are float: the first index of a row looks for the
// others and stores their sum.
//
//===----------------------------------------------------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

template <typename Element> void clear(Element *out, int64_t count) {
  std::memset(static_cast<void *>(out), 0,
              static_cast<size_t>(count) * sizeof(Element));
}

template <typename Element>
void addRow(const Element *from, Arithmetic<Element> *to, int64_t count) {
  PARPLAN_IGNORE_DEPENDENCES
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

/// out[rowOf(c), :] = the sum of gradient[c, :]; rowOf gives -1 for none.
template <typename Element, typename RowOf>
void addRows(const Element *gradient, Element *out, int64_t outRows,
             int64_t count, int64_t width, RowOf rowOf) {
  clear(out, outRows * width);
  if constexpr (!isNarrow<Element>) {
    for (int64_t c = 0; c < count; ++c) {
      const int64_t row = rowOf(c);
      if (row >= 0)
        addRow(gradient + c * width, out + row * width, width);
    }
    return;
  }
  constexpr int64_t slice = 1024;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t row = rowOf(c);
    bool first = row >= 0;
    for (int64_t j = 0; j < c && first; ++j)
      first = rowOf(j) != row;
    for (int64_t start = 0; start < width && first; start += slice) {
      const int64_t columns = width - start < slice ? width - start : slice;
      Arithmetic<Element> sums[slice] = {};
      for (int64_t j = c; j < count; ++j)
        if (rowOf(j) == row)
          addRow(gradient + j * width + start, sums, columns);
      for (int64_t j = 0; j < columns; ++j)
        out[row * width + start + j] = Element(sums[j]);
    }
  }
}

/// The index with negatives counted from the end; -1 when it is outside.
inline int64_t wrapped(int64_t index, int64_t size) {
  if (index < 0)
    index += size;
  return index >= 0 && index < size ? index : -1;
}

/// The lines of a tensor along one dimension, numbered row-major over the
/// other dimensions.
struct Lines {
  Shape shape;
  int32_t dimension;
  int64_t count = 1, length, stride = 1;

  Lines(const Shape &shape, int32_t dimension)
      : shape(shape), dimension(dimension), length(shape.size[dimension]) {
    for (int32_t d = 0; d < shape.rank; ++d) {
      count *= d == dimension ? 1 : shape.size[d];
      stride *= d > dimension ? shape.size[d] : 1;
    }
  }
  /// Where the line that has this number in `of` starts; -1 where this tensor
  /// is too small to have it.
  int64_t startOf(int64_t line, const Lines &of) const {
    int64_t start = 0, step = 1;
    for (int32_t d = shape.rank - 1; d >= 0; --d) {
      if (d != dimension) {
        const int64_t position = line % of.shape.size[d];
        line /= of.shape.size[d];
        if (position >= shape.size[d])
          return -1;
        start += position * step;
      }
      step *= shape.size[d];
    }
    return start;
  }
};

/// out[i] = the sum of gradient[j] over indices[j] == i, all `stride` apart.
template <typename Element, typename Index>
void addLine(const Element *gradient, const Index *indices, int64_t count,
             int64_t stride, Element *out, int64_t length, int64_t outStride) {
  for (int64_t i = 0; i < length; ++i)
    out[i * outStride] = Element(0);
  for (int64_t j = 0; j < count; ++j) {
    const int64_t row = wrapped(indices[j * stride], length);
    if (row < 0)
      continue;
    if constexpr (!isNarrow<Element>) {
      out[row * outStride] += gradient[j * stride];
    } else {
      // The last index of a row adds up all.
      Arithmetic<Element> sum = 0;
      bool last = true;
      for (int64_t k = j + 1; k < count && last; ++k)
        last = wrapped(indices[k * stride], length) != row;
      for (int64_t k = 0; k <= j && last; ++k)
        if (wrapped(indices[k * stride], length) == row)
          sum += gradient[k * stride];
      if (last)
        out[row * outStride] = Element(sum);
    }
  }
}

} // namespace

template <typename Element, typename Index>
void embeddingGradient(Stream &stream, Buffers buffers, const Index *ids,
                       const Element *gradient, Element *out, int64_t count,
                       int64_t rows, int64_t width) {
  launch(stream, buffers, [=] {
    addRows(gradient, out, rows, count, width, [=](int64_t i) {
      const int64_t row = static_cast<int64_t>(ids[i]);
      return row >= 0 && row < rows ? row : -1;
    });
  });
}

template <typename Element, typename Index>
void gatherGradient(Stream &stream, Buffers buffers, const Element *gradient,
                    const Index *indices, Element *out, int64_t outer,
                    int64_t length, int64_t count, int64_t inner) {
  launch(stream, buffers, [=] {
    for (int64_t o = 0; o < outer; ++o)
      addRows(gradient + o * count * inner, out + o * length * inner, length,
              count, inner,
              [=](int64_t c) { return wrapped(indices[c], length); });
  });
}

template <typename Element, typename Index>
void gatherElementsGradient(Stream &stream, Buffers buffers,
                            const Element *gradient, const Index *indices,
                            Element *out, const Shape &dataShape,
                            const Shape &indexShape, int32_t dimension) {
  launch(stream, buffers, [=] {
    const Lines data(dataShape, dimension), index(indexShape, dimension);
    for (int64_t line = 0; line < data.count; ++line) {
      const int64_t from = index.startOf(line, data);
      addLine(gradient + (from < 0 ? 0 : from), indices + (from < 0 ? 0 : from),
              from < 0 ? 0 : index.length, index.stride,
              out + data.startOf(line, data), data.length, data.stride);
    }
  });
}

template <typename Element, typename Index>
void gatherNdGradient(Stream &stream, Buffers buffers, const Element *gradient,
                      const Index *indices, Element *out, int64_t batch,
                      int64_t count, const Shape &indexed, int64_t inner) {
  launch(stream, buffers, [=] {
    const int64_t block = indexed.elements();
    for (int64_t b = 0; b < batch; ++b)
      addRows(gradient + b * count * inner, out + b * block * inner, block,
              count, inner, [&, b](int64_t c) {
                const Index *tuple = indices + (b * count + c) * indexed.rank;
                int64_t at = 0;
                for (int32_t d = 0; d < indexed.rank; ++d) {
                  const int64_t row = wrapped(tuple[d], indexed.size[d]);
                  if (row < 0)
                    return int64_t(-1);
                  at = at * indexed.size[d] + row;
                }
                return at;
              });
  });
}

#define PARPLAN_INDEXING(Element, Index)                                       \
  template void embeddingGradient(Stream &, Buffers, const Index *,            \
                                  const Element *, Element *, int64_t,         \
                                  int64_t, int64_t);                           \
  template void gatherGradient(Stream &, Buffers, const Element *,             \
                               const Index *, Element *, int64_t, int64_t,     \
                               int64_t, int64_t);                              \
  template void gatherElementsGradient(Stream &, Buffers, const Element *,     \
                                       const Index *, Element *,               \
                                       const Shape &, const Shape &, int32_t); \
  template void gatherNdGradient(Stream &, Buffers, const Element *,           \
                                 const Index *, Element *, int64_t, int64_t,   \
                                 const Shape &, int64_t);
#define PARPLAN_INDEXED(Element)                                               \
  PARPLAN_INDEXING(Element, int64_t)                                           \
  PARPLAN_INDEXING(Element, int32_t)
PARPLAN_INDEXED(float)
PARPLAN_INDEXED(double)
PARPLAN_INDEXED(BFloat16)
PARPLAN_INDEXED(Float16)

} // namespace runtime
} // namespace parplan
