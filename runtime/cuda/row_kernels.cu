//===- row_kernels.cu - Reductions, softmax and norms on a GPU ------------===//
//
// Contiguous rows get a block each. Of columns neighbouring threads walk
// neighbours; the rows of long ones are shared by the threads of a block, and
// by blocks whose sums a second kernel adds. Sums have an order that depends on
// nothing but the shape.
//
//===----------------------------------------------------------------------===//

#include "block.h"
#include "cuda_rank.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/scalar_math.h"

#include <limits>

namespace parplan {
namespace runtime {

namespace {

template <typename Element, typename Value, typename Combine>
__global__ void reduceRowKernel(const Element *in, Element *out, int64_t outer,
                                int64_t length, Value neutral,
                                Combine combine) {
  for (int64_t o = blockIdx.x; o < outer; o += gridDim.x) {
    Value value = neutral;
    for (int64_t i = threadIdx.x; i < length; i += threads)
      value = combine(value, Value(in[o * length + i]));
    value = combineBlock(value, combine);
    if (threadIdx.x == 0)
      out[o] = Element(value);
  }
}

/// A thread walks a column: for short ones.
template <typename Element, typename Out, typename Value, typename Combine>
__global__ void reduceColumnKernel(const Element *in, Out *out, int64_t outer,
                                   int64_t length, int64_t inner, Value neutral,
                                   Combine combine) {
  for (int64_t at = blockIdx.x * int64_t(threads) + threadIdx.x;
       at < outer * inner; at += int64_t(gridDim.x) * threads) {
    const Element *column = in + at / inner * length * inner + at % inner;
    Value value = neutral;
    for (int64_t i = 0; i < length; ++i)
      value = combine(value, Value(column[i * inner]));
    out[at] = Out(value);
  }
}

/// Columns that a block walks, and rows that it walks at a time.
constexpr int blockColumns = 32, blockRows = threads / blockColumns;

/// A block combines the rows of one part of 32 columns: [part][outer][inner].
template <typename Element, typename Out, typename Value, typename Combine>
__global__ void reduceBlockKernel(const Element *in, Out *out, int64_t outer,
                                  int64_t length, int64_t inner, int64_t parts,
                                  Value neutral, Combine combine) {
  __shared__ Value partial[blockRows][blockColumns];
  const int64_t tiles = (inner + blockColumns - 1) / blockColumns;
  const int64_t rows = (length + parts - 1) / parts;
  const int row = threadIdx.x / blockColumns;
  for (int64_t at = blockIdx.x; at < tiles * outer * parts; at += gridDim.x) {
    const int64_t o = at / tiles % outer, part = at / tiles / outer;
    const int64_t column =
        at % tiles * blockColumns + threadIdx.x % blockColumns;
    const int64_t end = length < (part + 1) * rows ? length : (part + 1) * rows;
    Value value = neutral;
    if (column < inner)
      for (int64_t i = part * rows + row; i < end; i += blockRows)
        value = combine(value, Value(in[(o * length + i) * inner + column]));
    __syncthreads(); // The last result may still be read.
    partial[row][threadIdx.x % blockColumns] = value;
    __syncthreads();
    if (row != 0 || column >= inner)
      continue;
    for (int other = 1; other < blockRows; ++other)
      value = combine(value, partial[other][threadIdx.x]);
    out[(part * outer + o) * inner + column] = Out(value);
  }
}

/// Parts of the rows that fill a GPU: about a thousand blocks of at least 64
/// rows each, as far as the sums of all have a place in the stream's memory.
template <typename Value>
int64_t countParts(int64_t outer, int64_t length, int64_t inner) {
  const int64_t blocks = outer * ((inner + blockColumns - 1) / blockColumns);
  const int64_t held = CudaStream::scratchBytes / sizeof(Value);
  return std::max<int64_t>(
      1, std::min({1024 / blocks, length / 64, held / (outer * inner)}));
}

template <typename Element, typename Value, typename Combine>
void launchReduce(Stream &stream, const Element *in, Element *out,
                  int64_t outer, int64_t length, int64_t inner, Value neutral,
                  Combine combine) {
  if (outer * inner == 0)
    return;
  const int64_t blocks = outer * ((inner + blockColumns - 1) / blockColumns);
  const int64_t parts = countParts<Value>(outer, length, inner);
  if (inner == 1)
    reduceRowKernel<<<blocksOf(outer), threads, 0, streamOf(stream)>>>(
        in, out, outer, length, neutral, combine);
  else if (length <= 4 * blockRows)
    reduceColumnKernel<<<blocksOf((outer * inner + threads - 1) / threads),
                         threads, 0, streamOf(stream)>>>(
        in, out, outer, length, inner, neutral, combine);
  else if (parts == 1)
    reduceBlockKernel<<<blocksOf(blocks), threads, 0, streamOf(stream)>>>(
        in, out, outer, length, inner, parts, neutral, combine);
  else {
    auto *sums =
        static_cast<Value *>(static_cast<CudaStream &>(stream).scratch());
    reduceBlockKernel<<<blocksOf(blocks * parts), threads, 0,
                        streamOf(stream)>>>(in, sums, outer, length, inner,
                                            parts, neutral, combine);
    reduceColumnKernel<<<blocksOf((outer * inner + threads - 1) / threads),
                         threads, 0, streamOf(stream)>>>(
        sums, out, int64_t(1), parts, outer * inner, neutral, combine);
  }
  detail::checkLaunch(stream);
}

template <typename Element>
__global__ void softmaxRowKernel(const Element *in, Element *out, int64_t outer,
                                 int64_t length, bool logarithmic) {
  for (int64_t o = blockIdx.x; o < outer; o += gridDim.x) {
    const Element *row = in + o * length;
    Element largest = -Element(INFINITY);
    for (int64_t i = threadIdx.x; i < length; i += threads)
      largest = Highest()(largest, row[i]);
    largest = combineBlock(largest, Highest());
    Element sum = Element(0);
    for (int64_t i = threadIdx.x; i < length; i += threads)
      sum += exponential(Element(row[i] - largest));
    sum = combineBlock(sum, Add());
    const Element last = logarithmic ? logarithm(sum) : Element(1) / sum;
    for (int64_t i = threadIdx.x; i < length; i += threads) {
      const Element difference = row[i] - largest;
      out[o * length + i] =
          logarithmic ? difference - last : exponential(difference) * last;
    }
  }
}

template <typename Element> struct SoftmaxColumn {
  const Element *in;
  Element *out;
  int64_t length, inner;
  bool logarithmic;
  PARPLAN_DEVICE void operator()(int64_t o, int64_t j) const {
    const int64_t start = o * length * inner + j;
    Element largest = -Element(INFINITY), sum = Element(0);
    for (int64_t i = 0; i < length; ++i)
      largest = maximum(largest, in[start + i * inner]);
    for (int64_t i = 0; i < length; ++i)
      sum += exponential(Element(in[start + i * inner] - largest));
    const Element last = logarithmic ? logarithm(sum) : Element(1) / sum;
    for (int64_t i = 0; i < length; ++i) {
      const Element difference = in[start + i * inner] - largest;
      out[start + i * inner] =
          logarithmic ? difference - last : exponential(difference) * last;
    }
  }
};

template <typename Element>
void launchSoftmax(Stream &stream, Buffers buffers, const Element *in,
                   Element *out, int64_t outer, int64_t length, int64_t inner,
                   bool logarithmic) {
  if (inner != 1)
    return map<2>(stream, buffers, {outer, inner},
                  SoftmaxColumn<Element>{in, out, length, inner, logarithmic});
  stream.touch(buffers);
  if (outer == 0)
    return;
  softmaxRowKernel<<<blocksOf(outer), threads, 0, streamOf(stream)>>>(
      in, out, outer, length, logarithmic);
  detail::checkLaunch(stream);
}

template <typename Element>
__global__ void normKernel(const Element *in, const Element *scale,
                           const Element *bias, Element *out, int64_t outer,
                           int64_t length, Element epsilon, bool centred) {
  for (int64_t o = blockIdx.x; o < outer; o += gridDim.x) {
    const Element *row = in + o * length;
    Element mean = Element(0);
    if (centred) {
      Element sum = Element(0);
      for (int64_t i = threadIdx.x; i < length; i += threads)
        sum += row[i];
      mean = combineBlock(sum, Add()) / static_cast<Element>(length);
    }
    Element square = Element(0);
    for (int64_t i = threadIdx.x; i < length; i += threads)
      square += (row[i] - mean) * (row[i] - mean);
    square = combineBlock(square, Add()) / static_cast<Element>(length);
    const Element factor = Element(1) / squareRoot(square + epsilon);
    for (int64_t i = threadIdx.x; i < length; i += threads)
      out[o * length + i] =
          (row[i] - mean) * factor * (scale ? scale[i] : Element(1)) +
          (bias ? bias[i] : Element(0));
  }
}

template <typename Element> struct CumsumColumn {
  const Element *in;
  Element *out;
  int64_t length, inner;
  bool exclusive, reverse;
  PARPLAN_DEVICE void operator()(int64_t o, int64_t j) const {
    Element sum = Element(0);
    for (int64_t step = 0; step < length; ++step) {
      const int64_t i = reverse ? length - 1 - step : step;
      const int64_t at = (o * length + i) * inner + j;
      const Element before = sum;
      sum = Element(sum + in[at]);
      out[at] = exclusive ? before : sum;
    }
  }
};

/// Keeps the best `count` in order, as the host does.
template <typename Element> struct TopkColumn {
  const Element *in;
  Element *values;
  int64_t *indices;
  int64_t length, inner, count;
  bool largest;
  PARPLAN_DEVICE bool before(Element a, Element b) const {
    if (a != a || b != b)
      return largest ? a != a && b == b : b != b && a == a;
    return largest ? a > b : a < b;
  }
  PARPLAN_DEVICE void operator()(int64_t o, int64_t j) const {
    const Element *column = in + o * length * inner + j;
    // Either may be absent; the other then tells which element is in a slot.
    Element *best = values ? values + o * count * inner + j : nullptr;
    int64_t *where = indices ? indices + o * count * inner + j : nullptr;
    const auto element = [&](int64_t slot) {
      return best ? best[slot * inner] : column[where[slot * inner] * inner];
    };
    int64_t found = 0;
    for (int64_t i = 0; i < length; ++i) {
      const Element x = column[i * inner];
      if (found == count && (count == 0 || !before(x, element(count - 1))))
        continue;
      int64_t slot = found < count ? found++ : count - 1;
      for (; slot > 0 && before(x, element(slot - 1)); --slot) {
        if (best)
          best[slot * inner] = best[(slot - 1) * inner];
        if (where)
          where[slot * inner] = where[(slot - 1) * inner];
      }
      if (best)
        best[slot * inner] = x;
      if (where)
        where[slot * inner] = i;
    }
  }
};

template <typename Element>
void launchNorm(Stream &stream, Buffers buffers, const Element *in,
                const Element *scale, const Element *bias, Element *out,
                int64_t outer, int64_t length, double epsilon, bool centred) {
  stream.touch(buffers);
  if (outer == 0)
    return;
  normKernel<<<blocksOf(outer), threads, 0, streamOf(stream)>>>(
      in, scale, bias, out, outer, length, static_cast<Element>(epsilon),
      centred);
  detail::checkLaunch(stream);
}

} // namespace

template <typename Element>
void reduce(Stream &stream, Buffers buffers, Reduction kind, const Element *in,
            Element *out, int64_t outer, int64_t length, int64_t inner) {
  using Value = Arithmetic<Element>;
  using Limits = std::numeric_limits<Value>;
  stream.touch(buffers);
  switch (kind) {
  case Reduction::Sum:
    return launchReduce(stream, in, out, outer, length, inner, Value(0), Add());
  case Reduction::Max:
    return launchReduce(stream, in, out, outer, length, inner,
                        Limits::has_infinity ? Value(-Limits::infinity())
                                             : Limits::lowest(),
                        Highest());
  case Reduction::Min:
    return launchReduce(
        stream, in, out, outer, length, inner,
        Limits::has_infinity ? Limits::infinity() : Limits::max(), Lowest());
  case Reduction::Product:
    return launchReduce(stream, in, out, outer, length, inner, Value(1),
                        Multiply());
  }
}

template <typename Element>
void softmax(Stream &stream, Buffers buffers, const Element *in, Element *out,
             int64_t outer, int64_t length, int64_t inner) {
  launchSoftmax(stream, buffers, in, out, outer, length, inner, false);
}

template <typename Element>
void logSoftmax(Stream &stream, Buffers buffers, const Element *in,
                Element *out, int64_t outer, int64_t length, int64_t inner) {
  launchSoftmax(stream, buffers, in, out, outer, length, inner, true);
}

template <typename Element>
void layerNorm(Stream &stream, Buffers buffers, const Element *in,
               const Element *scale, const Element *bias, Element *out,
               int64_t outer, int64_t length, double epsilon) {
  launchNorm(stream, buffers, in, scale, bias, out, outer, length, epsilon,
             true);
}

template <typename Element>
void rmsNorm(Stream &stream, Buffers buffers, const Element *in,
             const Element *scale, Element *out, int64_t outer, int64_t length,
             double epsilon) {
  launchNorm<Element>(stream, buffers, in, scale, nullptr, out, outer, length,
                      epsilon, false);
}

template <typename Element>
void cumsum(Stream &stream, Buffers buffers, const Element *in, Element *out,
            int64_t outer, int64_t length, int64_t inner, bool exclusive,
            bool reverse) {
  map<2>(stream, buffers, {outer, inner},
         CumsumColumn<Element>{in, out, length, inner, exclusive, reverse});
}

template <typename Element>
void topk(Stream &stream, Buffers buffers, const Element *in, Element *values,
          int64_t *indices, int64_t outer, int64_t length, int64_t inner,
          int64_t count, bool largest) {
  map<2>(
      stream, buffers, {outer, inner},
      TopkColumn<Element>{in, values, indices, length, inner, count, largest});
}

#define PARPLAN_FLOATS(Element)                                                \
  template void softmax(Stream &, Buffers, const Element *, Element *,         \
                        int64_t, int64_t, int64_t);                            \
  template void logSoftmax(Stream &, Buffers, const Element *, Element *,      \
                           int64_t, int64_t, int64_t);                         \
  template void layerNorm(Stream &, Buffers, const Element *, const Element *, \
                          const Element *, Element *, int64_t, int64_t,        \
                          double);                                             \
  template void rmsNorm(Stream &, Buffers, const Element *, const Element *,   \
                        Element *, int64_t, int64_t, double);
#define PARPLAN_NUMBERS(Element)                                               \
  template void reduce(Stream &, Buffers, Reduction, const Element *,          \
                       Element *, int64_t, int64_t, int64_t);                  \
  template void cumsum(Stream &, Buffers, const Element *, Element *, int64_t, \
                       int64_t, int64_t, bool, bool);                          \
  template void topk(Stream &, Buffers, const Element *, Element *, int64_t *, \
                     int64_t, int64_t, int64_t, int64_t, bool);
PARPLAN_FLOATS(float)
PARPLAN_FLOATS(double)
PARPLAN_NUMBERS(float)
PARPLAN_NUMBERS(double)
PARPLAN_NUMBERS(int64_t)
PARPLAN_NUMBERS(int32_t)
PARPLAN_NUMBERS(int16_t)
PARPLAN_NUMBERS(int8_t)
PARPLAN_NUMBERS(uint64_t)
PARPLAN_NUMBERS(uint32_t)
PARPLAN_NUMBERS(uint16_t)
PARPLAN_NUMBERS(uint8_t)
#define PARPLAN_REDUCE(Element)                                                \
  template void reduce(Stream &, Buffers, Reduction, const Element *,          \
                       Element *, int64_t, int64_t, int64_t);
PARPLAN_REDUCE(bool)
PARPLAN_REDUCE(BFloat16)
PARPLAN_REDUCE(Float16)

} // namespace runtime
} // namespace parplan
