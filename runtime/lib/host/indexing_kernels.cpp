//===- indexing_kernels.cpp - Embedding and gathers -----------------------===//
//
// Indices come from data: every one is checked, and what is outside gives
// zeros instead of foreign memory.
//
//===----------------------------------------------------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

template <typename Element>
void copyOrZero(const Element *from, Element *to, int64_t count) {
  if (from)
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
  else
    std::memset(to, 0, static_cast<size_t>(count) * sizeof(Element));
}

/// The index with negatives counted from the end; -1 when it is outside.
inline int64_t wrapped(int64_t index, int64_t size) {
  if (index < 0)
    index += size;
  return index >= 0 && index < size ? index : -1;
}

} // namespace

template <typename Element, typename Index>
void embedding(Stream &stream, Buffers buffers, const Index *ids,
               const Element *table, const int64_t *start, Element *out,
               int64_t count, int64_t rows, int64_t width) {
  launch(stream, buffers, [=] {
    const int64_t first = start ? *start : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = static_cast<int64_t>(ids[i]) - first;
      copyOrZero(row >= 0 && row < rows ? table + row * width : nullptr,
                 out + i * width, width);
    }
  });
}

template <typename Element, typename Index>
void gather(Stream &stream, Buffers buffers, const Element *data,
            const Index *indices, Element *out, int64_t outer, int64_t length,
            int64_t count, int64_t inner) {
  launch(stream, buffers, [=] {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < count; ++c) {
        const int64_t row = wrapped(indices[c], length);
        copyOrZero(row >= 0 ? data + (o * length + row) * inner : nullptr,
                   out + (o * count + c) * inner, inner);
      }
  });
}

template <typename Element, typename Index>
void gatherElements(Stream &stream, Buffers buffers, const Element *data,
                    const Index *indices, Element *out, const Shape &dataShape,
                    const Shape &indexShape, int32_t dimension) {
  launch(stream, buffers, [=] {
    int64_t strides[Shape::maximumRank], stride = 1;
    for (int32_t d = dataShape.rank - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= dataShape.size[d];
    }
    const int64_t elements = indexShape.elements();
    for (int64_t i = 0; i < elements; ++i) {
      int64_t rest = i, at = 0;
      for (int32_t d = indexShape.rank - 1; d >= 0; --d) {
        const int64_t position = rest % indexShape.size[d];
        rest /= indexShape.size[d];
        if (d != dimension)
          at += position * strides[d];
      }
      const int64_t row = wrapped(indices[i], dataShape.size[dimension]);
      out[i] = row >= 0 ? data[at + row * strides[dimension]] : Element(0);
    }
  });
}

template <typename Element, typename Index>
void gatherNd(Stream &stream, Buffers buffers, const Element *data,
              const Index *indices, Element *out, int64_t batch, int64_t count,
              const Shape &indexed, int64_t inner) {
  launch(stream, buffers, [=] {
    const int64_t block = indexed.elements();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t c = 0; c < count; ++c) {
        const Index *tuple = indices + (b * count + c) * indexed.rank;
        int64_t at = b * block;
        bool inside = true;
        int64_t stride = block;
        for (int32_t d = 0; d < indexed.rank; ++d) {
          const int64_t row = wrapped(tuple[d], indexed.size[d]);
          inside &= row >= 0;
          stride = indexed.size[d] ? stride / indexed.size[d] : 0;
          at += row * stride;
        }
        copyOrZero(inside ? data + at * inner : nullptr,
                   out + (b * count + c) * inner, inner);
      }
  });
}

#define PARPLAN_INDEXING(Element, Index)                                       \
  template void embedding(Stream &, Buffers, const Index *, const Element *,   \
                          const int64_t *, Element *, int64_t, int64_t,        \
                          int64_t);                                            \
  template void gather(Stream &, Buffers, const Element *, const Index *,      \
                       Element *, int64_t, int64_t, int64_t, int64_t);         \
  template void gatherElements(Stream &, Buffers, const Element *,             \
                               const Index *, Element *, const Shape &,        \
                               const Shape &, int32_t);                        \
  template void gatherNd(Stream &, Buffers, const Element *, const Index *,    \
                         Element *, int64_t, int64_t, const Shape &, int64_t);
#define PARPLAN_INDEXED(Element)                                               \
  PARPLAN_INDEXING(Element, int64_t)                                           \
  PARPLAN_INDEXING(Element, int32_t)
PARPLAN_INDEXED(float)
PARPLAN_INDEXED(double)
PARPLAN_INDEXED(BFloat16)
PARPLAN_INDEXED(Float16)
PARPLAN_INDEXED(int64_t)
PARPLAN_INDEXED(int32_t)
PARPLAN_INDEXED(int16_t)
PARPLAN_INDEXED(int8_t)
PARPLAN_INDEXED(uint64_t)
PARPLAN_INDEXED(uint32_t)
PARPLAN_INDEXED(uint16_t)
PARPLAN_INDEXED(uint8_t)
PARPLAN_INDEXED(bool)

} // namespace runtime
} // namespace parplan
