//===- attention_gradient_kernel.cu - Backward of attention on a GPU ------===//
//
// Elements of 16 bits take the tensor cores
// (attention_gradient_tile_kernels.cu). Of others, and of very wide heads:
// five products of cuBLAS and one own kernel per chunk: some queries and some
// key heads, as many as the workspace holds scores of. The kernel turns scores
// into probabilities by the saved log_sum_exp, and their gradients into those
// of the scores.
//
//===----------------------------------------------------------------------===//

#include "attention_tiles.h"
#include "block.h"
#include "cuda_rank.h"
#include "failure.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/scalar_math.h"

namespace parplan {
namespace runtime {

namespace {

/// The scores of queries [first, first + rows) of one query head per key head
/// from `firstHead` on, against the first `keys` keys: [head][row][key].
struct Chunk {
  int64_t b, firstHead, heads, inGroup, first, rows, keys;
};

template <typename Stored> struct Operands {
  const Stored *result, *gradient;
  const Arithmetic<Stored> *logSumExp;
  const void *mask;
  const int64_t *queryOffset;
  int64_t gradientStride[3];
};

/// One block per row. `weights` holds q k^T and becomes P, `gradients` holds
/// dO v^T and becomes scale P (dP - sum(dO O)); products read them as Stored
/// from `narrowWeights` and `narrowGradients`, which may be the same arrays.
template <typename Stored>
__global__ void scoreKernel(const Arithmetic<Stored> *weights,
                            const Arithmetic<Stored> *gradients,
                            Stored *narrowWeights, Stored *narrowGradients,
                            Operands<Stored> in, AttentionShape s, Chunk c) {
  using Element = Arithmetic<Stored>;
  const Element lowest = -Element(INFINITY);
  const int64_t group = s.heads / s.kvHeads;
  for (int64_t row = blockIdx.x; row < c.heads * c.rows; row += gridDim.x) {
    const int64_t i = c.first + row % c.rows;
    const int64_t h = (c.firstHead + row / c.rows) * group + c.inGroup;
    const Stored *o = in.result + c.b * s.outStride[0] + i * s.outStride[1] +
                      h * s.outStride[2];
    const Stored *d = in.gradient + c.b * in.gradientStride[0] +
                      i * in.gradientStride[1] + h * in.gradientStride[2];
    Element mean = Element(0);
    for (int64_t f = threadIdx.x; f < s.valueWidth; f += threads)
      mean += Element(o[f]) * Element(d[f]);
    mean = combineBlock(mean, Add());
    const Element statistics =
        in.logSumExp[(c.b * s.heads + h) * s.queries + i];
    int64_t keys = c.keys;
    if (s.causal) {
      const int64_t visible = detail::attentionVisibleKeys(
          s, i, in.queryOffset ? *in.queryOffset : 0);
      keys = visible < keys ? visible : keys;
    }
    if (statistics == lowest)
      keys = 0;
    const int64_t maskStart = c.b * s.maskStride[0] + h * s.maskStride[1] +
                              i * s.maskStride[2] +
                              (s.wholeMask ? s.firstKey * s.maskStride[3] : 0);
    for (int64_t j = threadIdx.x; j < c.keys; j += threads) {
      const int64_t at = row * c.keys + j;
      Element weight = Element(0), difference = Element(0);
      if (j < keys) {
        Element score = weights[at] * static_cast<Element>(s.scale);
        const int64_t column = maskStart + j * s.maskStride[3];
        if (s.mask == MaskKind::Float)
          score += static_cast<const Stored *>(in.mask)[column];
        else if (s.mask == MaskKind::Bool &&
                 !static_cast<const uint8_t *>(in.mask)[column])
          score = lowest;
        weight = exponential(Element(score - statistics));
        difference =
            weight * (gradients[at] - mean) * static_cast<Element>(s.scale);
      }
      narrowWeights[at] = Stored(weight);
      narrowGradients[at] = Stored(difference);
    }
  }
}

template <typename Stored> struct RoundKernel {
  const Arithmetic<Stored> *in;
  Stored *out;
  int64_t heads, stride;
  /// in[head][key][e], out[key][head of `stride`][e].
  PARPLAN_DEVICE void operator()(int64_t head, int64_t key, int64_t e) const {
    out[key * stride + head * width + e] =
        Stored(in[(head * keys + key) * width + e]);
  }
  int64_t keys, width;
};

/// The strides [row, column] of a matrix and of the matrices of the batch.
struct Strides {
  int64_t row, column, batch;
};

template <typename Element, typename Out>
void multiply(Stream &stream, int64_t batch, int64_t m, int64_t n, int64_t k,
              const Element *lhs, Strides left, const Element *rhs,
              Strides right, Out *out, Strides result, bool accumulate) {
  MatmulShape shape = {m,
                       n,
                       k,
                       left.row,
                       left.column,
                       right.row,
                       right.column,
                       result.row,
                       result.column};
  shape.batchRank = 1;
  shape.batch[0] = batch;
  shape.lhsBatchStride[0] = left.batch;
  shape.rhsBatchStride[0] = right.batch;
  shape.outBatchStride[0] = result.batch;
  shape.accumulate = accumulate;
  matmul<Element, Out>(stream, {}, lhs, rhs, out, shape);
}

template <typename Stored, typename Out> class GradientLaunch {
public:
  using Element = Arithmetic<Stored>;

  const Stored *query, *key, *value;
  Operands<Stored> in;
  Out *queryGradient;
  Stored *keyGradient, *valueGradient;
  AttentionShape s;
  char *workspace;

  void run(Stream &stream) const {
    const int64_t heads = detail::attentionGradientHeads(s);
    if (!s.accumulate)
      zero(stream, {}, queryGradient,
           s.batch * s.queries * s.heads * s.width * sizeof(Out));
    zero(stream, {}, keyGradient,
         s.batch * s.keys * s.kvHeads * s.width * sizeof(Stored));
    zero(stream, {}, valueGradient,
         s.batch * s.keys * s.kvHeads * s.valueWidth * sizeof(Stored));
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t g = 0; g < s.kvHeads; g += heads)
        group(stream, b, g, detail::minimum(heads, s.kvHeads - g));
  }

private:
  /// Some key heads with all of their queries.
  void group(Stream &stream, int64_t b, int64_t firstHead,
             int64_t heads) const {
    const auto parts = detail::attentionGradientParts(s, sizeof(Stored));
    const int64_t rows = detail::attentionGradientQueries(s);
    // Sums of 16-bit elements stay wide until they are complete.
    Element *sums = reinterpret_cast<Element *>(workspace + parts.sums);
    const int64_t keyElements = heads * s.keys * s.width;
    if (isNarrow<Stored>)
      zero(stream, {}, sums,
           (keyElements + heads * s.keys * s.valueWidth) * sizeof(Element));
    for (int64_t inGroup = 0; inGroup < s.heads / s.kvHeads; ++inGroup)
      for (int64_t first = 0, count; first < s.queries; first += count) {
        count = detail::attentionRows(s, first, rows);
        Chunk c = {b,
                   firstHead,
                   heads,
                   inGroup,
                   first,
                   count,
                   detail::attentionKeys(s)};
        // Where the offset lies in memory, all keys may be visible.
        if (s.causal && !in.queryOffset)
          c.keys = detail::minimum(
              c.keys, detail::attentionVisibleKeys(s, first + count - 1, 0));
        if (c.keys > 0)
          chunk(stream, c, sums, sums + keyElements);
      }
    if (isNarrow<Stored>) {
      round(stream, b, firstHead, heads, sums, keyGradient, s.width);
      round(stream, b, firstHead, heads, sums + keyElements, valueGradient,
            s.valueWidth);
    }
  }

  void round(Stream &stream, int64_t b, int64_t firstHead, int64_t heads,
             const Element *sums, Stored *out, int64_t width) const {
    map<3>(stream, {}, {heads, s.keys, width},
           RoundKernel<Stored>{
               sums, out + (b * s.keys * s.kvHeads + firstHead) * width, heads,
               s.kvHeads * width, s.keys, width});
  }

  void chunk(Stream &stream, const Chunk &c, Element *keySums,
             Element *valueSums) const {
    const auto parts = detail::attentionGradientParts(s, sizeof(Stored));
    auto *weights = reinterpret_cast<Element *>(workspace + parts.scores);
    auto *gradients =
        reinterpret_cast<Element *>(workspace + parts.scoreGradients);
    auto *narrowWeights = reinterpret_cast<Stored *>(
        workspace + (isNarrow<Stored> ? parts.shortScores : parts.scores));
    auto *narrowGradients = reinterpret_cast<Stored *>(
        workspace +
        (isNarrow<Stored> ? parts.shortGradients : parts.scoreGradients));
    const int64_t group = s.heads / s.kvHeads;
    const int64_t head = c.firstHead * group + c.inGroup;
    const Stored *q = query + c.b * s.queryStride[0] +
                      c.first * s.queryStride[1] + head * s.queryStride[2];
    const Stored *d = in.gradient + c.b * in.gradientStride[0] +
                      c.first * in.gradientStride[1] +
                      head * in.gradientStride[2];
    const Stored *k = key + c.b * s.keyStride[0] + c.firstHead * s.keyStride[2];
    const Stored *v =
        value + c.b * s.valueStride[0] + c.firstHead * s.valueStride[2];
    const Strides scores = {c.keys, 1, c.rows * c.keys};
    const Strides transposed = {1, c.keys, c.rows * c.keys};
    const Strides queries = {s.queryStride[1], 1, group * s.queryStride[2]};
    const Strides outs = {in.gradientStride[1], 1,
                          group * in.gradientStride[2]};
    multiply(stream, c.heads, c.rows, c.keys, s.width, q, queries, k,
             {1, s.keyStride[1], s.keyStride[2]}, weights, scores, false);
    multiply(stream, c.heads, c.rows, c.keys, s.valueWidth, d, outs, v,
             {1, s.valueStride[1], s.valueStride[2]}, gradients, scores, false);
    scoreKernel<Stored>
        <<<blocksOf(c.heads * c.rows), threads, 0, streamOf(stream)>>>(
            weights, gradients, narrowWeights, narrowGradients, in, s, c);
    detail::checkLaunch(stream);
    multiply(stream, c.heads, c.rows, s.width, c.keys,
             const_cast<const Stored *>(narrowGradients), scores, k,
             {s.keyStride[1], 1, s.keyStride[2]},
             queryGradient +
                 ((c.b * s.queries + c.first) * s.heads + head) * s.width,
             {s.heads * s.width, 1, group * s.width}, true);
    if constexpr (isNarrow<Stored>) {
      addKeys(stream, c, narrowWeights, transposed, d, outs, valueSums,
              {s.valueWidth, 1, s.keys * s.valueWidth}, s.valueWidth);
      addKeys(stream, c, narrowGradients, transposed, q, queries, keySums,
              {s.width, 1, s.keys * s.width}, s.width);
    } else {
      const int64_t at = c.b * s.keys * s.kvHeads + c.firstHead;
      addKeys(stream, c, narrowWeights, transposed, d, outs,
              valueGradient + at * s.valueWidth,
              {s.kvHeads * s.valueWidth, 1, s.valueWidth}, s.valueWidth);
      addKeys(stream, c, narrowGradients, transposed, q, queries,
              keyGradient + at * s.width, {s.kvHeads * s.width, 1, s.width},
              s.width);
    }
  }

  /// Adds the product of transposed scores and rows to the sums of keys.
  void addKeys(Stream &stream, const Chunk &c, const Stored *scores,
               Strides transposed, const Stored *rows, Strides strides,
               Element *out, Strides result, int64_t width) const {
    multiply(stream, c.heads, c.keys, width, c.rows, scores, transposed, rows,
             strides, out, result, true);
  }
};

} // namespace

template <typename Element, typename Out>
void attentionGradient(Stream &stream, Buffers buffers, const Element *query,
                       const Element *key, const Element *value,
                       const Element *result,
                       const Arithmetic<Element> *logSumExp,
                       const Element *gradient, const void *mask,
                       const int64_t *queryOffset, Out *queryGradient,
                       Element *keyGradient, Element *valueGradient,
                       const AttentionShape &shape, const Shape &gradientStride,
                       Workspace workspace) {
  stream.touch(buffers);
  if (workspace.bytes < attentionGradientWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of an attention's gradient is too small");
  if constexpr (isNarrow<Element>)
    if (fitsTiles(shape, gradientTiles)) {
      const int64_t strides[3] = {gradientStride.size[0],
                                  gradientStride.size[1],
                                  gradientStride.size[2]};
      const bool isAligned =
          hasAlignedRows(query, shape.queryStride, shape.width) &&
          hasAlignedRows(key, shape.keyStride, shape.width) &&
          hasAlignedRows(value, shape.valueStride, shape.valueWidth) &&
          hasAlignedRows(gradient, strides, shape.valueWidth) &&
          hasAlignedRows(result, shape.outStride, shape.valueWidth);
      return launchAttentionGradientTiles(
          stream,
          AttentionOperands<Element>{query,
                                     key,
                                     value,
                                     mask,
                                     queryOffset,
                                     isAligned,
                                     result,
                                     gradient,
                                     logSumExp,
                                     {strides[0], strides[1], strides[2]}},
          queryGradient, keyGradient, valueGradient, shape);
    }
  GradientLaunch<Element, Out> launch = {
      query,
      key,
      value,
      {result,
       gradient,
       logSumExp,
       mask,
       queryOffset,
       {gradientStride.size[0], gradientStride.size[1],
        gradientStride.size[2]}},
      queryGradient,
      keyGradient,
      valueGradient,
      shape,
      static_cast<char *>(workspace.data)};
  launch.run(stream);
}

#define PARPLAN_ATTENTION_GRADIENT(Element, Out)                               \
  template void attentionGradient(                                             \
      Stream &, Buffers, const Element *, const Element *, const Element *,    \
      const Element *, const Arithmetic<Element> *, const Element *,           \
      const void *, const int64_t *, Out *, Element *, Element *,              \
      const AttentionShape &, const Shape &, Workspace);
PARPLAN_ATTENTION_GRADIENT(float, float)
PARPLAN_ATTENTION_GRADIENT(double, double)
PARPLAN_ATTENTION_GRADIENT(BFloat16, BFloat16)
PARPLAN_ATTENTION_GRADIENT(BFloat16, float)
PARPLAN_ATTENTION_GRADIENT(Float16, Float16)
PARPLAN_ATTENTION_GRADIENT(Float16, float)

} // namespace runtime
} // namespace parplan
