//===- attention_kernel.cu - Attention with running softmax on a GPU ------===//
//
// Elements of 16 bits take the tensor cores (attention_tile_kernel.cu). Of
// others, and of very wide heads, a block of 128 threads computes one query row
// of one head: it walks the keys 128 at a time, a thread per key for the scores
// and a thread per column for the result. Needs no workspace.
//
//===----------------------------------------------------------------------===//

#include "attention_tiles.h"
#include "cuda_rank.h"
#include "failure.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/scalar_math.h"

#include <algorithm>

namespace parplan {
namespace runtime {

namespace {

constexpr int keyBlock = 128;
constexpr int columnLimit = 8; // Columns of the result per thread.

template <typename Element, typename Combine>
__device__ Element combineBlock(Element value, Element *shared,
                                Combine combine) {
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = keyBlock / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half)
      shared[threadIdx.x] =
          combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

/// Computes in Element on operands that are stored as another type.
template <typename Stored, typename Out>
__global__ void
attentionKernel(const Stored *query, const Stored *key, const Stored *value,
                const void *mask, const int64_t *queryOffset, Out *out,
                Arithmetic<Stored> *logSumExp, AttentionShape s, int64_t rows) {
  using Element = Arithmetic<Stored>;
  __shared__ Element weights[keyBlock];
  __shared__ Element reduction[keyBlock];
  extern __shared__ char dynamicShared[];
  auto *q = reinterpret_cast<Element *>(dynamicShared);
  const Element lowest = -Element(INFINITY);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t i = row % s.queries;
    const int64_t h = row / s.queries % s.heads;
    const int64_t b = row / s.queries / s.heads;
    const int64_t g = h / (s.heads / s.kvHeads);
    __syncthreads();
    for (int64_t e = threadIdx.x; e < s.width; e += keyBlock)
      q[e] = query[b * s.queryStride[0] + i * s.queryStride[1] +
                   h * s.queryStride[2] + e];
    __syncthreads();
    int64_t keys = s.keys;
    if (s.causal) {
      const int64_t visible =
          detail::attentionVisibleKeys(s, i, queryOffset ? *queryOffset : 0);
      keys = visible < keys ? visible : keys;
    }
    // Nothing of this block is seen: what is there stays.
    if (keys <= 0 && s.accumulate)
      continue;
    Out *target =
        out + b * s.outStride[0] + i * s.outStride[1] + h * s.outStride[2];
    Element highest = lowest, sum = Element(0);
    Element result[columnLimit] = {};
    if (s.accumulate) {
      // Weights are relative to their sum, which then is one.
      highest = logSumExp[row];
      sum = Element(highest == lowest ? 0 : 1);
      for (int c = 0; c < columnLimit; ++c) {
        const int64_t f = threadIdx.x + int64_t(c) * keyBlock;
        if (f < s.valueWidth)
          result[c] = target[f];
      }
    }
    for (int64_t start = 0; start < keys; start += keyBlock) {
      const int64_t j = start + threadIdx.x;
      Element score = lowest;
      if (j < keys) {
        const Stored *k =
            key + b * s.keyStride[0] + j * s.keyStride[1] + g * s.keyStride[2];
        Element dot = Element(0);
        for (int64_t e = 0; e < s.width; ++e)
          dot += q[e] * k[e];
        score = dot * static_cast<Element>(s.scale);
        const int64_t at =
            b * s.maskStride[0] + h * s.maskStride[1] + i * s.maskStride[2] +
            (j + (s.wholeMask ? s.firstKey : 0)) * s.maskStride[3];
        if (s.mask == MaskKind::Float)
          score += static_cast<const Stored *>(mask)[at];
        else if (s.mask == MaskKind::Bool &&
                 !static_cast<const uint8_t *>(mask)[at])
          score = lowest;
      }
      const Element next = maximum(
          highest, combineBlock(score, reduction, [](Element x, Element y) {
            return maximum(x, y);
          }));
      const bool empty = next == lowest;
      const Element weight =
          empty ? Element(0) : exponential(Element(score - next));
      const Element shrink = empty || highest == next
                                 ? Element(1)
                                 : exponential(Element(highest - next));
      weights[threadIdx.x] = weight;
      sum = sum * shrink +
            combineBlock(weight, reduction,
                         [](Element x, Element y) { return x + y; });
      highest = next;
      const int64_t count = keys - start < keyBlock ? keys - start : keyBlock;
      const Stored *v = value + b * s.valueStride[0] +
                        start * s.valueStride[1] + g * s.valueStride[2];
      for (int c = 0; c < columnLimit; ++c) {
        const int64_t f = threadIdx.x + int64_t(c) * keyBlock;
        if (f >= s.valueWidth)
          break;
        Element total = result[c] * shrink;
        for (int64_t l = 0; l < count; ++l)
          total += weights[l] * v[l * s.valueStride[1] + f];
        result[c] = total;
      }
      __syncthreads();
    }
    const bool givesZeros = s.zeroMaskedRows || logSumExp;
    for (int c = 0; c < columnLimit; ++c) {
      const int64_t f = threadIdx.x + int64_t(c) * keyBlock;
      if (f < s.valueWidth)
        target[f] =
            Out(sum == Element(0) && givesZeros ? Element(0) : result[c] / sum);
    }
    if (logSumExp && threadIdx.x == 0)
      logSumExp[row] = sum == Element(0) ? lowest : highest + logarithm(sum);
  }
}

} // namespace

template <typename Element, typename Out>
void attention(Stream &stream, Buffers buffers, const Element *query,
               const Element *key, const Element *value, const void *mask,
               const int64_t *queryOffset, Out *out,
               Arithmetic<Element> *logSumExp, const AttentionShape &given,
               Workspace) {
  stream.touch(buffers);
  AttentionShape shape = given;
  shape.keys = detail::attentionKeys(given);
  if (shape.valueWidth > int64_t(columnLimit) * keyBlock ||
      shape.width * int64_t(sizeof(Arithmetic<Element>)) > 32768)
    fail(exitInternal, "attention heads of this width are not supported");
  const int64_t rows = shape.batch * shape.heads * shape.queries;
  if (rows == 0)
    return;
  // Without an offset in memory the last query that counts is known here.
  if (shape.accumulate && shape.causal && !queryOffset &&
      detail::attentionVisibleKeys(shape, shape.queries - 1, 0) <= 0)
    return;
  if constexpr (isNarrow<Element>)
    if (fitsTiles(shape, forwardTiles)) {
      const bool isAligned =
          hasAlignedRows(query, shape.queryStride, shape.width) &&
          hasAlignedRows(key, shape.keyStride, shape.width) &&
          hasAlignedRows(value, shape.valueStride, shape.valueWidth);
      return launchAttentionTiles(stream,
                                  AttentionOperands<Element>{query, key, value,
                                                             mask, queryOffset,
                                                             isAligned},
                                  out, logSumExp, shape);
    }
  attentionKernel<<<
      static_cast<unsigned>(std::min<int64_t>(rows, 1 << 20)), keyBlock,
      static_cast<size_t>(shape.width) * sizeof(Arithmetic<Element>),
      streamOf(stream)>>>(query, key, value, mask, queryOffset, out, logSumExp,
                          shape, rows);
  detail::checkLaunch(stream);
}

#define PARPLAN_ATTENTION(Element, Out)                                        \
  template void attention(Stream &, Buffers, const Element *, const Element *, \
                          const Element *, const void *, const int64_t *,      \
                          Out *, Arithmetic<Element> *,                        \
                          const AttentionShape &, Workspace);
PARPLAN_ATTENTION(float, float)
PARPLAN_ATTENTION(double, double)
PARPLAN_ATTENTION(BFloat16, BFloat16)
PARPLAN_ATTENTION(BFloat16, float)
PARPLAN_ATTENTION(Float16, Float16)
PARPLAN_ATTENTION(Float16, float)

} // namespace runtime
} // namespace parplan
