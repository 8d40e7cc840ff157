//===- movement_kernels.cu - Copies, indexing and pools on a GPU ----------===//
//
// One thread per output element. Indices come from data: every one is checked.
//
//===----------------------------------------------------------------------===//

#include "cuda_rank.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

template <typename Element> struct CopyKernel {
  const Element *in;
  Element *out;
  Shape extents, inStrides, outStrides;
  PARPLAN_DEVICE void operator()(int64_t position) const {
    int64_t from = 0, to = 0;
    for (int32_t d = extents.rank - 1; d >= 0; --d) {
      const int64_t rest = position / extents.size[d];
      const int64_t index = position - rest * extents.size[d];
      from += index * inStrides.size[d];
      to += index * outStrides.size[d];
      position = rest;
    }
    out[to] = in[from];
  }
};

template <typename Element>
void copyElements(Stream &stream, Buffers buffers, const void *in, void *out,
                  const Shape &extents, const Shape &inStrides,
                  const Shape &outStrides) {
  map<1>(stream, buffers, {extents.elements()},
         CopyKernel<Element>{static_cast<const Element *>(in),
                             static_cast<Element *>(out), extents, inStrides,
                             outStrides});
}

/// The index with negatives counted from the end; -1 when it is outside.
PARPLAN_DEVICE int64_t wrapped(int64_t index, int64_t size) {
  if (index < 0)
    index += size;
  return index >= 0 && index < size ? index : -1;
}

template <typename Element, typename Index> struct EmbeddingKernel {
  const Index *ids;
  const Element *table;
  const int64_t *start;
  Element *out;
  int64_t rows, width;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    const int64_t row = static_cast<int64_t>(ids[i]) - (start ? *start : 0);
    out[i * width + j] =
        row >= 0 && row < rows ? table[row * width + j] : Element(0);
  }
};

template <typename Element, typename Index> struct GatherKernel {
  const Element *data;
  const Index *indices;
  Element *out;
  int64_t length, count, inner;
  PARPLAN_DEVICE void operator()(int64_t o, int64_t c, int64_t j) const {
    const int64_t row = wrapped(indices[c], length);
    out[(o * count + c) * inner + j] =
        row >= 0 ? data[(o * length + row) * inner + j] : Element(0);
  }
};

template <typename Element, typename Index> struct GatherElementsKernel {
  const Element *data;
  const Index *indices;
  Element *out;
  Shape dataShape, indexShape;
  int32_t dimension;
  PARPLAN_DEVICE void operator()(int64_t i) const {
    int64_t rest = i, at = 0, stride = 1;
    const int64_t row = wrapped(indices[i], dataShape.size[dimension]);
    for (int32_t d = indexShape.rank - 1; d >= 0; --d) {
      const int64_t position = rest % indexShape.size[d];
      rest /= indexShape.size[d];
      at += (d == dimension ? row : position) * stride;
      stride *= dataShape.size[d];
    }
    out[i] = row >= 0 ? data[at] : Element(0);
  }
};

template <typename Element, typename Index> struct GatherNdKernel {
  const Element *data;
  const Index *indices;
  Element *out;
  int64_t count, block, inner;
  Shape indexed;
  PARPLAN_DEVICE void operator()(int64_t b, int64_t c, int64_t j) const {
    const Index *tuple = indices + (b * count + c) * indexed.rank;
    int64_t at = 0;
    bool inside = true;
    for (int32_t d = 0; d < indexed.rank; ++d) {
      const int64_t row = wrapped(tuple[d], indexed.size[d]);
      inside = inside && row >= 0;
      at = at * indexed.size[d] + row;
    }
    out[(b * count + c) * inner + j] =
        inside ? data[(b * block + at) * inner + j] : Element(0);
  }
};

/// One output of a pool; three spatial dimensions, missing ones in front.
template <typename Element> struct PoolKernel {
  const Element *in;
  Element *out;
  int64_t inSize[3] = {1, 1, 1}, outSize[3] = {1, 1, 1}, kernel[3] = {1, 1, 1},
          stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0},
          high[3] = {0, 0, 0};
  bool average, includePadding;

  PoolKernel(const Element *in, Element *out, const PoolShape &shape,
             bool average)
      : in(in), out(out), average(average),
        includePadding(shape.countIncludePad) {
    const int32_t skip = 3 - shape.spatialRank;
    for (int32_t d = 0; d < shape.spatialRank; ++d) {
      inSize[skip + d] = shape.in[d];
      outSize[skip + d] = shape.out[d];
      kernel[skip + d] = shape.kernel[d];
      stride[skip + d] = shape.stride[d];
      dilation[skip + d] = shape.dilation[d];
      low[skip + d] = shape.padLow[d];
      high[skip + d] = shape.padHigh[d];
    }
  }
  PARPLAN_DEVICE void operator()(int64_t plane, int64_t od, int64_t oh,
                                 int64_t ow) const {
    const Element *source = in + plane * inSize[0] * inSize[1] * inSize[2];
    using Value = Arithmetic<Element>;
    Value best = average ? Value(0) : -Value(INFINITY);
    int64_t count = 0;
    for (int64_t kd = 0; kd < kernel[0]; ++kd)
      for (int64_t kh = 0; kh < kernel[1]; ++kh)
        for (int64_t kw = 0; kw < kernel[2]; ++kw) {
          const int64_t d = od * stride[0] - low[0] + kd * dilation[0];
          const int64_t h = oh * stride[1] - low[1] + kh * dilation[1];
          const int64_t w = ow * stride[2] - low[2] + kw * dilation[2];
          const bool inside = d >= 0 && d < inSize[0] && h >= 0 &&
                              h < inSize[1] && w >= 0 && w < inSize[2];
          count +=
              inside || (includePadding && d < inSize[0] + high[0] &&
                         h < inSize[1] + high[1] && w < inSize[2] + high[2]);
          if (!inside)
            continue;
          const Value x = source[(d * inSize[1] + h) * inSize[2] + w];
          best = average ? best + x : best > x || best != best ? best : x;
        }
    if (average)
      best = count ? best / static_cast<Value>(count) : Value(0);
    out[((plane * outSize[0] + od) * outSize[1] + oh) * outSize[2] + ow] =
        Element(best);
  }
};

template <typename Element>
void pool(Stream &stream, Buffers buffers, const Element *in, Element *out,
          const PoolShape &shape, bool average) {
  const PoolKernel<Element> kernel(in, out, shape, average);
  map<4>(stream, buffers,
         {shape.batch * shape.channels, kernel.outSize[0], kernel.outSize[1],
          kernel.outSize[2]},
         kernel);
}

} // namespace

void copy(Stream &stream, Buffers buffers, ElementType type, const void *in,
          void *out, const Shape &extents, const Shape &inStrides,
          const Shape &outStrides) {
  switch (elementBytes(type)) {
  case 8:
    return copyElements<int64_t>(stream, buffers, in, out, extents, inStrides,
                                 outStrides);
  case 4:
    return copyElements<int32_t>(stream, buffers, in, out, extents, inStrides,
                                 outStrides);
  case 2:
    return copyElements<int16_t>(stream, buffers, in, out, extents, inStrides,
                                 outStrides);
  default:
    return copyElements<int8_t>(stream, buffers, in, out, extents, inStrides,
                                outStrides);
  }
}

void copyBytes(Stream &stream, Buffers buffers, const void *in, void *out,
               int64_t bytes) {
  stream.touch(buffers);
  if (in != out && bytes > 0)
    checkCuda(cudaMemcpyAsync(out, in, static_cast<size_t>(bytes),
                              cudaMemcpyDeviceToDevice, streamOf(stream)),
              "copy");
}

void zero(Stream &stream, Buffers buffers, void *out, int64_t bytes) {
  stream.touch(buffers);
  if (bytes > 0)
    checkCuda(
        cudaMemsetAsync(out, 0, static_cast<size_t>(bytes), streamOf(stream)),
        "clearing memory");
}

template <typename Element, typename Index>
void embedding(Stream &stream, Buffers buffers, const Index *ids,
               const Element *table, const int64_t *start, Element *out,
               int64_t count, int64_t rows, int64_t width) {
  map<2>(stream, buffers, {count, width},
         EmbeddingKernel<Element, Index>{ids, table, start, out, rows, width});
}

template <typename Element, typename Index>
void gather(Stream &stream, Buffers buffers, const Element *data,
            const Index *indices, Element *out, int64_t outer, int64_t length,
            int64_t count, int64_t inner) {
  map<3>(
      stream, buffers, {outer, count, inner},
      GatherKernel<Element, Index>{data, indices, out, length, count, inner});
}

template <typename Element, typename Index>
void gatherElements(Stream &stream, Buffers buffers, const Element *data,
                    const Index *indices, Element *out, const Shape &dataShape,
                    const Shape &indexShape, int32_t dimension) {
  map<1>(stream, buffers, {indexShape.elements()},
         GatherElementsKernel<Element, Index>{data, indices, out, dataShape,
                                              indexShape, dimension});
}

template <typename Element, typename Index>
void gatherNd(Stream &stream, Buffers buffers, const Element *data,
              const Index *indices, Element *out, int64_t batch, int64_t count,
              const Shape &indexed, int64_t inner) {
  map<3>(stream, buffers, {batch, count, inner},
         GatherNdKernel<Element, Index>{data, indices, out, count,
                                        indexed.elements(), inner, indexed});
}

template <typename Element>
void maxPool(Stream &stream, Buffers buffers, const Element *in, Element *out,
             const PoolShape &shape) {
  pool(stream, buffers, in, out, shape, /*average=*/false);
}

template <typename Element>
void averagePool(Stream &stream, Buffers buffers, const Element *in,
                 Element *out, const PoolShape &shape) {
  pool(stream, buffers, in, out, shape, /*average=*/true);
}

#define PARPLAN_POOLS(Element)                                                 \
  template void maxPool(Stream &, Buffers, const Element *, Element *,         \
                        const PoolShape &);                                    \
  template void averagePool(Stream &, Buffers, const Element *, Element *,     \
                            const PoolShape &);
PARPLAN_POOLS(float)
PARPLAN_POOLS(double)
PARPLAN_POOLS(BFloat16)
PARPLAN_POOLS(Float16)

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
