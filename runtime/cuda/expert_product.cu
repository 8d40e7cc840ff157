//===- expert_product.cu - Products of the rows that experts have ---------===//
//
// How many tokens an expert has is in the data, and libraries are told by the
// processor: it waits for the counts. Rows of one expert are copied side by
// side, up to a round number, so that products have few shapes; `matmul` has a
// plan for each. Vectors in place of matrices need no library.
//
//===----------------------------------------------------------------------===//

#include "block.h"
#include "cuda_rank.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/narrow_floats.h"

#include <algorithm>

namespace parplan {
namespace runtime {

namespace {

constexpr int lanes = 32;
/// Rows of a product are a multiple of this, if there are as many tokens.
constexpr int64_t rowMultiple = 64;

template <typename Index> struct Choices {
  const Index *chosen;
  const int64_t *first;
  int64_t perToken;
  ExpertGroups groups;

  /// -1: there is none.
  PARPLAN_DEVICE int64_t findRow(int64_t token, int64_t expert) const {
    return groups.findRow(chosen + token * perToken, perToken,
                          first ? *first : 0, expert);
  }
  PARPLAN_DEVICE int64_t findExpert(int64_t row, int64_t token) const {
    return groups.findExpert(chosen + token * perToken, perToken,
                             first ? *first : 0, row);
  }
};

/// The rows of each expert in the order of tokens; a block for every expert.
template <typename Index>
__global__ void selectKernel(Choices<Index> choices, int64_t tokens,
                             int64_t *counts, int32_t *numbers) {
  __shared__ int ofWarps[threads / lanes];
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  const int64_t expert = blockIdx.x;
  int64_t count = 0;
  for (int64_t begin = 0; begin < tokens; begin += threads) {
    const int64_t token = begin + threadIdx.x;
    const int64_t row = token < tokens ? choices.findRow(token, expert) : -1;
    const bool has = row >= 0;
    const unsigned mask = __ballot_sync(~0u, has);
    if (lane == 0)
      ofWarps[warp] = __popc(mask);
    __syncthreads();
    int before = __popc(mask & ((1u << lane) - 1)), all = 0;
    for (int other = 0; other < threads / lanes; ++other) {
      before += other < warp ? ofWarps[other] : 0;
      all += ofWarps[other];
    }
    if (has)
      numbers[expert * tokens + count + before] =
          static_cast<int32_t>(row * tokens + token);
    count += all;
    __syncthreads();
  }
  if (threadIdx.x == 0)
    counts[expert] = count;
}

/// Rows of tokens [rows, tokens, columns] of any strides, by their number
/// row · tokens + token.
template <typename Element> struct Rows {
  Element *data;
  int64_t rowStride, tokenStride, columnStride;
  int32_t tokens;

  PARPLAN_DEVICE Element &at(int32_t number, int64_t column) const {
    return data[number / tokens * rowStride + number % tokens * tokenStride +
                column * columnStride];
  }
};

/// out[i] = rows[numbers[i]], zeros from `count` on.
template <typename Element> struct GatherKernel {
  Rows<const Element> rows;
  int64_t columns, count;
  const int32_t *numbers;
  Element *out;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    out[i * columns + j] = i < count ? rows.at(numbers[i], j) : Element(0.0f);
  }
};

/// out[numbers[i]] = rows[i].
template <typename Element> struct ScatterKernel {
  const Element *rows;
  int64_t columns;
  const int32_t *numbers;
  Rows<Element> out;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    out.at(numbers[i], j) = rows[i * columns + j];
  }
};

/// Calls `visit(expert, row, t)` with the experts of all rows of each token, -1
/// for none; a block for every token, with a thread for each row, then all
/// threads for each row of `isVisited(expert)`.
template <typename Index, typename IsVisited, typename Visit>
__device__ void forEachRow(Choices<Index> choices, int64_t rows, int64_t tokens,
                           IsVisited isVisited, Visit visit) {
  __shared__ int64_t experts[threads];
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x)
    for (int64_t begin = 0; begin < rows; begin += threads) {
      const int64_t part = rows - begin < threads ? rows - begin : threads;
      __syncthreads(); // The last ones may still be read.
      if (threadIdx.x < part)
        experts[threadIdx.x] = choices.findExpert(begin + threadIdx.x, t);
      __syncthreads();
      for (int64_t i = 0; i < part; ++i)
        if (isVisited(experts[i]))
          visit(experts[i], begin + i, t);
    }
}

/// Zeros in rows that no expert of a token has.
template <typename Element, typename Index>
__global__ void clearKernel(Choices<Index> choices, Element *out,
                            ExpertProductShape shape) {
  const MatmulShape &s = shape.matrices;
  forEachRow(
      choices, shape.rows(), s.m, [](int64_t expert) { return expert < 0; },
      [&](int64_t, int64_t row, int64_t t) {
        Element *to = out + row * shape.strides[2] + t * s.outRowStride;
        for (int64_t column = threadIdx.x; column < s.n; column += threads)
          to[column * s.outColumnStride] = Element(0.0f);
      });
}

/// Multiples of the vectors of experts, zeros in rows that no expert of a token
/// has.
template <typename Element, typename Index>
__global__ void scaleKernel(Choices<Index> choices, const Element *factors,
                            const Element *vectors, Element *out,
                            ExpertProductShape shape) {
  using Wide = Arithmetic<Element>;
  const MatmulShape &s = shape.matrices;
  forEachRow(
      choices, shape.rows(), s.m,
      [&](int64_t expert) { return expert >= 0 || !s.accumulate; },
      [&](int64_t expert, int64_t row, int64_t t) {
        Element *to = out + row * shape.strides[2] + t * s.outRowStride;
        const Wide factor =
            expert < 0
                ? Wide(0)
                : Wide(factors[row * shape.strides[0] + t * s.lhsRowStride]);
        const Element *vector =
            vectors + (expert < 0 ? 0 : expert) * shape.strides[1];
        for (int64_t column = threadIdx.x; column < s.n; column += threads) {
          Element &element = to[column * s.outColumnStride];
          const Wide old = s.accumulate ? Wide(element) : Wide(0);
          // A vector that is no number must not reach rows of others.
          element =
              expert < 0
                  ? Element(old)
                  : Element(old +
                            factor * Wide(vector[column * s.rhsColumnStride]));
        }
      });
}

/// The sums of rows, times their factors, of each expert; a block for an expert
/// and `threads` columns at a time, which looks for the rows of as many tokens
/// at once.
template <typename Element, typename Index>
__global__ void sumKernel(Choices<Index> choices, const Element *factors,
                          const Element *values, Element *out,
                          ExpertProductShape shape) {
  using Wide = Arithmetic<Element>;
  const MatmulShape &s = shape.matrices;
  __shared__ int64_t rows[threads];
  const int64_t parts = (s.n + threads - 1) / threads;
  for (int64_t block = blockIdx.x; block < shape.experts * parts;
       block += gridDim.x) {
    const int64_t expert = block / parts;
    const int64_t column = block % parts * threads + threadIdx.x;
    const bool isOwn = column < s.n;
    Element *sum = out + expert * shape.strides[2] + column * s.outColumnStride;
    Wide total = isOwn && s.accumulate ? Wide(*sum) : Wide(0);
    for (int64_t begin = 0; begin < s.k; begin += threads) {
      const int64_t token = begin + threadIdx.x;
      __syncthreads(); // The last ones may still be read.
      rows[threadIdx.x] = token < s.k ? choices.findRow(token, expert) : -1;
      __syncthreads();
      const int64_t tokens = s.k - begin < threads ? s.k - begin : threads;
      for (int64_t i = 0; i < tokens && isOwn; ++i)
        if (const int64_t row = rows[i]; row >= 0)
          total +=
              Wide(factors[row * shape.strides[0] +
                           (begin + i) * s.lhsColumnStride]) *
              Wide(
                  values[row * shape.strides[1] + (begin + i) * s.rhsRowStride +
                         column * s.rhsColumnStride]);
    }
    if (isOwn)
      *sum = Element(total);
  }
}

template <typename Element> struct ZeroKernel {
  Element *out;
  int64_t rowStride, columnStride;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    out[i * rowStride + j * columnStride] = Element(0.0f);
  }
};

template <typename Element> class ExpertProduct {
public:
  ExpertProduct(Stream &stream, const Element *lhs, const Element *rhs,
                Element *out, const ExpertProductShape &shape,
                Workspace workspace)
      : stream(stream), lhs(lhs), rhs(rhs), out(out), shape(shape),
        s(shape.matrices) {
    if (shape.isOfVectors())
      return;
    const ExpertProductWorkspace parts(shape, sizeof(Element));
    char *bytes = static_cast<char *>(workspace.data);
    counts = reinterpret_cast<int64_t *>(bytes);
    numbers = reinterpret_cast<int32_t *>(bytes + parts.numbersOffset);
    first = reinterpret_cast<Element *>(bytes + parts.firstOffset);
    second = reinterpret_cast<Element *>(bytes + parts.secondOffset);
  }

  template <typename Index> void run(Choices<Index> choices) {
    if (shape.isOfVectors())
      return shape.sumsTokens ? sumVectors(choices) : scaleVectors(choices);
    if (!shape.sumsTokens && !s.accumulate)
      clear(choices);
    const std::vector<int64_t> found = count(choices);
    for (int64_t expert = 0; expert < shape.experts; ++expert)
      if (shape.sumsTokens)
        sumRows(expert, found[expert]);
      else
        multiplyRows(expert, found[expert]);
  }

private:
  template <typename Index> void scaleVectors(Choices<Index> choices) {
    if (s.m == 0 || s.n == 0)
      return;
    scaleKernel<<<blocksOf(s.m), threads, 0, streamOf(stream)>>>(
        choices, lhs, rhs, out, shape);
    detail::checkLaunch(stream);
  }

  template <typename Index> void sumVectors(Choices<Index> choices) {
    if (s.n == 0)
      return;
    const int64_t parts = (s.n + threads - 1) / threads;
    sumKernel<<<blocksOf(shape.experts * parts), threads, 0,
                streamOf(stream)>>>(choices, lhs, rhs, out, shape);
    detail::checkLaunch(stream);
  }

  template <typename Index> void clear(Choices<Index> choices) {
    if (s.m == 0 || s.n == 0)
      return;
    clearKernel<<<blocksOf(s.m), threads, 0, streamOf(stream)>>>(choices, out,
                                                                 shape);
    detail::checkLaunch(stream);
  }

  template <typename Index> std::vector<int64_t> count(Choices<Index> choices) {
    selectKernel<<<static_cast<unsigned>(shape.experts), threads, 0,
                   streamOf(stream)>>>(choices, shape.tokens(), counts,
                                       numbers);
    detail::checkLaunch(stream);
    static_cast<CudaRank &>(stream.rank()).waitFor(stream, "experts' tokens");
    std::vector<int64_t> found(static_cast<size_t>(shape.experts));
    checkCuda(cudaMemcpyAsync(found.data(), counts,
                              found.size() * sizeof(int64_t),
                              cudaMemcpyDeviceToHost, streamOf(stream)),
              "reading the counts of experts");
    checkCuda(cudaStreamSynchronize(streamOf(stream)),
              "reading the counts of experts");
    return found;
  }

  /// Calls `multiply(numbers, tokens, padded, accumulates)` for parts of an
  /// expert's tokens; all but the first add to what that one makes.
  template <typename Multiply>
  void forEachPart(int64_t expert, int64_t tokens, Multiply multiply) {
    const int32_t *own = numbers + expert * shape.tokens();
    for (int64_t begin = 0; begin < tokens; begin += shape.tokensAtOnce()) {
      const int64_t part = std::min(tokens - begin, shape.tokensAtOnce());
      multiply(own + begin, part,
               std::min((part + rowMultiple - 1) / rowMultiple * rowMultiple,
                        shape.tokensAtOnce()),
               begin > 0);
    }
  }

  template <typename Of>
  Rows<Of> rowsOf(Of *data, int64_t rowStride, int64_t tokenStride,
                  int64_t columnStride) const {
    return {data, rowStride, tokenStride, columnStride,
            static_cast<int32_t>(shape.tokens())};
  }

  void gather(Rows<const Element> rows, int64_t columns, const int32_t *of,
              int64_t part, int64_t padded, Element *to) {
    map<2>(stream, {}, {padded, columns},
           GatherKernel<Element>{rows, columns, part, of, to});
  }

  void multiplyRows(int64_t expert, int64_t tokens) {
    forEachPart(
        expert, tokens,
        [&](const int32_t *of, int64_t part, int64_t padded, bool) {
          gather(
              rowsOf(lhs, shape.strides[0], s.lhsRowStride, s.lhsColumnStride),
              s.k, of, part, padded, first);
          if (s.accumulate)
            gather(rowsOf<const Element>(out, shape.strides[2], s.outRowStride,
                                         s.outColumnStride),
                   s.n, of, part, padded, second);
          MatmulShape product = {
              padded, s.n, s.k, s.k, 1, s.rhsRowStride, s.rhsColumnStride,
              s.n,    1};
          product.accumulate = s.accumulate;
          matmul<Element>(stream, {}, first, rhs + expert * shape.strides[1],
                          second, product);
          map<2>(stream, {}, {part, s.n},
                 ScatterKernel<Element>{second, s.n, of,
                                        rowsOf(out, shape.strides[2],
                                               s.outRowStride,
                                               s.outColumnStride)});
        });
  }

  void sumRows(int64_t expert, int64_t tokens) {
    Element *sums = out + expert * shape.strides[2];
    if (tokens == 0 && !s.accumulate)
      map<2>(stream, {}, {s.m, s.n},
             ZeroKernel<Element>{sums, s.outRowStride, s.outColumnStride});
    forEachPart(
        expert, tokens,
        [&](const int32_t *of, int64_t part, int64_t padded, bool accumulates) {
          gather(
              rowsOf(lhs, shape.strides[0], s.lhsColumnStride, s.lhsRowStride),
              s.m, of, part, padded, first);
          gather(
              rowsOf(rhs, shape.strides[1], s.rhsRowStride, s.rhsColumnStride),
              s.n, of, part, padded, second);
          MatmulShape product = {s.m,
                                 s.n,
                                 padded,
                                 1,
                                 s.m,
                                 s.n,
                                 1,
                                 s.outRowStride,
                                 s.outColumnStride};
          product.accumulate = s.accumulate || accumulates;
          matmul<Element>(stream, {}, first, second, sums, product);
        });
  }

  Stream &stream;
  const Element *lhs, *rhs;
  Element *out;
  const ExpertProductShape &shape;
  const MatmulShape &s;
  int64_t *counts = nullptr;
  int32_t *numbers = nullptr;
  Element *first = nullptr, *second = nullptr;
};

} // namespace

template <typename Element, typename Index>
void moeMatmul(Stream &stream, Buffers buffers, const Element *lhs,
               const Element *rhs, const Index *chosen, const int64_t *first,
               Element *out, const ExpertProductShape &shape,
               Workspace workspace) {
  stream.touch(buffers);
  if (shape.experts > 0)
    ExpertProduct<Element>(stream, lhs, rhs, out, shape, workspace)
        .run(Choices<Index>{chosen, first, shape.choices, shape.groups});
}

#define PARPLAN_EXPERT_PRODUCT(Element, Index)                                 \
  template void moeMatmul(Stream &, Buffers, const Element *, const Element *, \
                          const Index *, const int64_t *, Element *,           \
                          const ExpertProductShape &, Workspace);
#define PARPLAN_EXPERT_PRODUCTS(Element)                                       \
  PARPLAN_EXPERT_PRODUCT(Element, int64_t)                                     \
  PARPLAN_EXPERT_PRODUCT(Element, int32_t)
PARPLAN_EXPERT_PRODUCTS(float)
PARPLAN_EXPERT_PRODUCTS(double)
PARPLAN_EXPERT_PRODUCTS(BFloat16)
PARPLAN_EXPERT_PRODUCTS(Float16)

} // namespace runtime
} // namespace parplan
