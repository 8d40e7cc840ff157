//===- gradient_kernels.cu - Adjoints of indexing and pools on a GPU ------===//
//
// No atomic additions: every sum has one owner and a fixed order. Rows are
// owned by the block of the first index that names them.
//
//===----------------------------------------------------------------------===//

#include "block.h"
#include "cuda_rank.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

/// The index with negatives counted from the end; -1 when it is outside.
PARPLAN_DEVICE int64_t wrapped(int64_t index, int64_t size) {
  if (index < 0)
    index += size;
  return index >= 0 && index < size ? index : -1;
}

// Rows of `out` that position c of the outer index o adds to; -1: none.

template <typename Index> struct EmbeddingRow {
  const Index *ids;
  int64_t rows;
  __device__ int64_t operator()(int64_t, int64_t c) const {
    const int64_t row = static_cast<int64_t>(ids[c]);
    return row >= 0 && row < rows ? row : -1;
  }
};
template <typename Index> struct GatherRow {
  const Index *indices;
  int64_t length;
  __device__ int64_t operator()(int64_t o, int64_t c) const {
    const int64_t row = wrapped(indices[c], length);
    return row >= 0 ? o * length + row : -1;
  }
};
template <typename Index> struct GatherNdRow {
  const Index *indices;
  int64_t count, block;
  Shape indexed;
  __device__ int64_t operator()(int64_t b, int64_t c) const {
    const Index *tuple = indices + (b * count + c) * indexed.rank;
    int64_t at = 0;
    for (int32_t d = 0; d < indexed.rank; ++d) {
      const int64_t row = wrapped(tuple[d], indexed.size[d]);
      if (row < 0)
        return -1;
      at = at * indexed.size[d] + row;
    }
    return b * block + at;
  }
};

constexpr int columns = 4; // Of a thread.
constexpr int slice = columns * threads;

/// A block for each position and slice of columns. It does nothing when an
/// earlier position names the same row; else it adds up all that do.
template <typename Element, typename RowOf>
__global__ void addRowsKernel(const Element *gradient, Element *out,
                              RowOf rowOf, int64_t outer, int64_t count,
                              int64_t inner) {
  __shared__ unsigned masks[threads / 32];
  const int64_t first = int64_t(blockIdx.y) * slice + threadIdx.x;
  for (int64_t at = blockIdx.x; at < outer * count; at += gridDim.x) {
    const int64_t o = at / count, c = at % count;
    const int64_t row = rowOf(o, c);
    if (row < 0)
      continue;
    int earlier = 0;
    for (int64_t start = 0; start < c && !earlier; start += threads) {
      const int64_t j = start + threadIdx.x;
      earlier = __syncthreads_or(j < c && rowOf(o, j) == row);
    }
    if (earlier)
      continue;
    Arithmetic<Element> sums[columns] = {};
    for (int64_t start = c; start < count; start += threads) {
      const int64_t j = start + threadIdx.x;
      const unsigned found =
          __ballot_sync(~0u, j < count && rowOf(o, j) == row);
      __syncthreads(); // The last masks may still be read.
      if (threadIdx.x % 32 == 0)
        masks[threadIdx.x / 32] = found;
      __syncthreads();
      for (int word = 0; word < threads / 32; ++word)
        for (unsigned bits = masks[word]; bits; bits &= bits - 1) {
          const int64_t k = start + word * 32 + __ffs(bits) - 1;
          const Element *from = gradient + (o * count + k) * inner;
          for (int column = 0; column < columns; ++column)
            if (first + column * threads < inner)
              sums[column] += from[first + column * threads];
        }
    }
    for (int column = 0; column < columns; ++column)
      if (first + column * threads < inner)
        out[row * inner + first + column * threads] = Element(sums[column]);
  }
}

template <typename Element, typename RowOf>
void addRows(Stream &stream, Buffers buffers, const Element *gradient,
             Element *out, const RowOf &rowOf, int64_t outRows, int64_t outer,
             int64_t count, int64_t inner) {
  zero(stream, buffers, out,
       outRows * inner * static_cast<int64_t>(sizeof(Element)));
  if (outer * count * inner == 0 || outRows == 0)
    return;
  const dim3 grid(blocksOf(outer * count),
                  static_cast<unsigned>((inner + slice - 1) / slice));
  addRowsKernel<<<grid, threads, 0, streamOf(stream)>>>(gradient, out, rowOf,
                                                        outer, count, inner);
  detail::checkLaunch(stream);
}

/// One element of the data adds up what the indices along its line take.
template <typename Element, typename Index> struct GatherElementsAdjoint {
  const Element *gradient;
  const Index *indices;
  Element *out;
  Shape dataShape, indexShape;
  int32_t dimension;
  PARPLAN_DEVICE void operator()(int64_t i) const {
    int64_t rest = i, at = 0, stride = 1, step = 1, row = 0;
    bool inside = true;
    for (int32_t d = dataShape.rank - 1; d >= 0; --d) {
      const int64_t position = rest % dataShape.size[d];
      rest /= dataShape.size[d];
      if (d == dimension) {
        row = position;
        step = stride;
      } else {
        inside = inside && position < indexShape.size[d];
        at += position * stride;
      }
      stride *= indexShape.size[d];
    }
    Arithmetic<Element> sum = 0;
    for (int64_t j = 0; inside && j < indexShape.size[dimension]; ++j)
      if (wrapped(indices[at + j * step], dataShape.size[dimension]) == row)
        sum += gradient[at + j * step];
    out[i] = Element(sum);
  }
};

/// One element of a pool's input adds up what the windows over it give, in the
/// order of their outputs.
template <typename Element> struct PoolAdjoint {
  const Element *in, *gradient; // `in` is null for averages.
  Element *out;
  int64_t inSize[3] = {1, 1, 1}, outSize[3] = {1, 1, 1}, kernel[3] = {1, 1, 1},
          stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0},
          high[3] = {0, 0, 0};
  bool includePadding;

  PoolAdjoint(const Element *in, const Element *gradient, Element *out,
              const PoolShape &shape)
      : in(in), gradient(gradient), out(out),
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

  PARPLAN_DEVICE void operator()(int64_t plane, int64_t d, int64_t h,
                                 int64_t w) const {
    const int64_t element = (d * inSize[1] + h) * inSize[2] + w;
    Arithmetic<Element> sum = 0;
    // The last tap is the first output.
    for (int64_t kd = kernel[0] - 1; kd >= 0; --kd) {
      const int64_t od = outputOf(0, d, kd);
      if (od < 0)
        continue;
      for (int64_t kh = kernel[1] - 1; kh >= 0; --kh) {
        const int64_t oh = outputOf(1, h, kh);
        if (oh < 0)
          continue;
        for (int64_t kw = kernel[2] - 1; kw >= 0; --kw) {
          const int64_t ow = outputOf(2, w, kw);
          if (ow < 0)
            continue;
          const Arithmetic<Element> given =
              gradient[((plane * outSize[0] + od) * outSize[1] + oh) *
                           outSize[2] +
                       ow];
          if (!in)
            sum += given / static_cast<Arithmetic<Element>>(
                               taps(0, od) * taps(1, oh) * taps(2, ow));
          else if (firstMaximum(plane, od, oh, ow) == element)
            sum += given;
        }
      }
    }
    out[plane * inSize[0] * inSize[1] * inSize[2] + element] = Element(sum);
  }

private:
  /// The output whose window has this position under a tap; -1: none.
  PARPLAN_DEVICE int64_t outputOf(int d, int64_t position, int64_t tap) const {
    const int64_t start = position + low[d] - tap * dilation[d];
    if (start < 0 || start % stride[d] != 0)
      return -1;
    return start / stride[d] < outSize[d] ? start / stride[d] : -1;
  }
  PARPLAN_DEVICE int64_t taps(int d, int64_t o) const {
    int64_t count = 0;
    for (int64_t tap = 0; tap < kernel[d]; ++tap) {
      const int64_t at = o * stride[d] - low[d] + tap * dilation[d];
      count +=
          includePadding ? at < inSize[d] + high[d] : at >= 0 && at < inSize[d];
    }
    return count;
  }
  PARPLAN_DEVICE int64_t firstMaximum(int64_t plane, int64_t od, int64_t oh,
                                      int64_t ow) const {
    const Element *source = in + plane * inSize[0] * inSize[1] * inSize[2];
    int64_t first = -1;
    Arithmetic<Element> highest = 0;
    for (int64_t kd = 0; kd < kernel[0]; ++kd)
      for (int64_t kh = 0; kh < kernel[1]; ++kh)
        for (int64_t kw = 0; kw < kernel[2]; ++kw) {
          const int64_t d = od * stride[0] - low[0] + kd * dilation[0];
          const int64_t h = oh * stride[1] - low[1] + kh * dilation[1];
          const int64_t w = ow * stride[2] - low[2] + kw * dilation[2];
          if (d < 0 || d >= inSize[0] || h < 0 || h >= inSize[1] || w < 0 ||
              w >= inSize[2])
            continue;
          const int64_t at = (d * inSize[1] + h) * inSize[2] + w;
          const Arithmetic<Element> x = source[at];
          if (first < 0 || x > highest || (x != x && highest == highest)) {
            first = at;
            highest = x;
          }
        }
    return first;
  }
};

template <typename Element>
void poolAdjoint(Stream &stream, Buffers buffers, const Element *in,
                 const Element *gradient, Element *out,
                 const PoolShape &shape) {
  const PoolAdjoint<Element> kernel(in, gradient, out, shape);
  map<4>(stream, buffers,
         {shape.batch * shape.channels, kernel.inSize[0], kernel.inSize[1],
          kernel.inSize[2]},
         kernel);
}

} // namespace

template <typename Element, typename Index>
void embeddingGradient(Stream &stream, Buffers buffers, const Index *ids,
                       const Element *gradient, Element *out, int64_t count,
                       int64_t rows, int64_t width) {
  addRows(stream, buffers, gradient, out, EmbeddingRow<Index>{ids, rows}, rows,
          1, count, width);
}

template <typename Element, typename Index>
void gatherGradient(Stream &stream, Buffers buffers, const Element *gradient,
                    const Index *indices, Element *out, int64_t outer,
                    int64_t length, int64_t count, int64_t inner) {
  addRows(stream, buffers, gradient, out, GatherRow<Index>{indices, length},
          outer * length, outer, count, inner);
}

template <typename Element, typename Index>
void gatherElementsGradient(Stream &stream, Buffers buffers,
                            const Element *gradient, const Index *indices,
                            Element *out, const Shape &dataShape,
                            const Shape &indexShape, int32_t dimension) {
  map<1>(stream, buffers, {dataShape.elements()},
         GatherElementsAdjoint<Element, Index>{
             gradient, indices, out, dataShape, indexShape, dimension});
}

template <typename Element, typename Index>
void gatherNdGradient(Stream &stream, Buffers buffers, const Element *gradient,
                      const Index *indices, Element *out, int64_t batch,
                      int64_t count, const Shape &indexed, int64_t inner) {
  addRows(stream, buffers, gradient, out,
          GatherNdRow<Index>{indices, count, indexed.elements(), indexed},
          batch * indexed.elements(), batch, count, inner);
}

template <typename Element>
void maxPoolGradient(Stream &stream, Buffers buffers, const Element *in,
                     const Element *gradient, Element *out,
                     const PoolShape &shape) {
  poolAdjoint(stream, buffers, in, gradient, out, shape);
}

template <typename Element>
void averagePoolGradient(Stream &stream, Buffers buffers,
                         const Element *gradient, Element *out,
                         const PoolShape &shape) {
  poolAdjoint<Element>(stream, buffers, nullptr, gradient, out, shape);
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
#define PARPLAN_ADJOINTS(Element)                                              \
  PARPLAN_INDEXING(Element, int64_t)                                           \
  PARPLAN_INDEXING(Element, int32_t)                                           \
  template void maxPoolGradient(Stream &, Buffers, const Element *,            \
                                const Element *, Element *,                    \
                                const PoolShape &);                            \
  template void averagePoolGradient(Stream &, Buffers, const Element *,        \
                                    Element *, const PoolShape &);
PARPLAN_ADJOINTS(float)
PARPLAN_ADJOINTS(double)
PARPLAN_ADJOINTS(BFloat16)
PARPLAN_ADJOINTS(Float16)

} // namespace runtime
} // namespace parplan
