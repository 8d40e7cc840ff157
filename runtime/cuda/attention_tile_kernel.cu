//===- attention_tile_kernel.cu - Attention on tensor cores ---------------===//
//
// A block has 64 queries of a head and walks the keys; the maximum, the sum and
// the result of a row run along.
//
//===----------------------------------------------------------------------===//

#include "attention_tiles.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

template <typename Combine>
__device__ float combineRow(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

template <typename Stored, typename Out, int columns>
__global__ void __launch_bounds__(tileThreads)
    attentionTileKernel(AttentionOperands<Stored> in, Out *out,
                        float *logSumExp, AttentionShape s) {
  using Tile = AttentionTile<Stored, columns>;
  extern __shared__ uint4 shared[];
  // Two of keys and two of values: one is loaded while the other is used.
  auto *keys = reinterpret_cast<Tile *>(shared), *values = keys + 2;
  const int64_t tiles = (s.queries + tileRows - 1) / tileRows;
  // Those that see the most keys go first.
  const int64_t first = (tiles - 1 - blockIdx.x % tiles) * tileRows;
  const int64_t h = blockIdx.x / tiles % s.heads,
                b = blockIdx.x / tiles / s.heads, g = h / (s.heads / s.kvHeads);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int limit = visibleToSome(in, s, first),
            whole = visibleToAll(in, s, first);
  const KeyRows<Stored, columns> rows = {in, s, b, g};
  const auto load = [&](int start) {
    const int place = start / tileRows % 2;
    rows.load(keys[place], values[place], start);
  };

  // The queries' fragments stay in registers; their tile becomes one of keys.
  keys[1].load(in.query + b * s.queryStride[0] + first * s.queryStride[1] +
                   h * s.queryStride[2],
               s.queryStride[1], s.queries - first, s.width, in.isAligned);
  load(0);
  awaitTiles();
  __syncthreads();
  uint32_t queries[columns / 16][4];
#pragma unroll
  for (int k = 0; k < columns; k += 16)
    keys[1].loadLeft(queries[k / 16], warp * 16, k);

  // The two rows of this lane. Scores are powers of two.
  const float factor = static_cast<float>(s.scale) * inverseLogarithmOfTwo;
  const int64_t row[2] = {first + warp * 16 + lane / 4,
                          first + warp * 16 + lane / 4 + 8};
  const int limits[2] = {visibleKeys(in, s, row[0]),
                         visibleKeys(in, s, row[1])};
  float highest[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  float result[columns / 8][4] = {};
  const int64_t statistics = (b * s.heads + h) * s.queries;
  Out *const target[2] = {
      out + b * s.outStride[0] + row[0] * s.outStride[1] + h * s.outStride[2],
      out + b * s.outStride[0] + row[1] * s.outStride[1] + h * s.outStride[2]};
  if (s.accumulate)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row[half] >= s.queries)
        continue;
      // Weights are relative to their sum, which then is one: of one lane.
      highest[half] = logSumExp[statistics + row[half]] * inverseLogarithmOfTwo;
      sum[half] = highest[half] == -INFINITY || lane % 4 != 0 ? 0 : 1;
#pragma unroll
      for (int n = 0; n < columns / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int f = n * 8 + lane % 4 * 2 + e;
          if (f < s.valueWidth)
            result[n][2 * half + e] = float(target[half][f]);
        }
    }

  for (int start = 0; start < limit; start += tileRows) {
    awaitTiles();
    __syncthreads();
    if (start + tileRows < limit)
      load(start + tileRows);
    const int place = start / tileRows % 2;
    float scores[tileRows / 8][4] = {};
#pragma unroll
    for (int k = 0; k < columns; k += 16)
#pragma unroll
      for (int n = 0; n < tileRows; n += 16) {
        uint32_t rhs[4];
        keys[place].loadRightOfRows(rhs, n, k);
        multiplyAdd<Stored>(scores[n / 8], queries[k / 16], rhs[0], rhs[1]);
        multiplyAdd<Stored>(scores[n / 8 + 1], queries[k / 16], rhs[2], rhs[3]);
      }
    if (start + tileRows <= whole) {
#pragma unroll
      for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[n][e] *= factor;
    } else {
#pragma unroll
      for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int j = start + n * 8 + lane % 4 * 2 + e % 2;
          scores[n][e] =
              j < limits[e / 2]
                  ? scores[n][e] * factor + maskTerm(in, s, b, h, row[e / 2], j)
                  : -INFINITY;
        }
    }
    float next[2] = {highest[0], highest[1]};
#pragma unroll
    for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        next[e / 2] = fmaxf(next[e / 2], scores[n][e]);
    float shrink[2], top[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      next[half] =
          combineRow(next[half], [](float x, float y) { return fmaxf(x, y); });
      // Without a key so far all weights are zero, not NaN.
      top[half] = next[half] == -INFINITY ? 0.0f : next[half];
      shrink[half] = powerOfTwo(highest[half] - top[half]);
      highest[half] = next[half];
      sum[half] *= shrink[half];
    }
#pragma unroll
    for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        scores[n][e] = powerOfTwo(scores[n][e] - top[e / 2]);
        sum[e / 2] += scores[n][e];
      }
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        result[n][e] *= shrink[e / 2];
    addProduct<Stored, columns>(result, scores, values[place]);
  }

  const bool givesZeros = s.zeroMaskedRows || logSumExp;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total =
        combineRow(sum[half], [](float x, float y) { return x + y; });
    if (row[half] >= s.queries)
      continue;
    const float inverse = total == 0 && givesZeros ? 0.0f : 1.0f / total;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int f = n * 8 + lane % 4 * 2 + e;
        if (f < s.valueWidth)
          target[half][f] = Out(result[n][2 * half + e] * inverse);
      }
    if (logSumExp && lane % 4 == 0)
      logSumExp[statistics + row[half]] =
          total == 0 ? -INFINITY : highest[half] * logarithmOfTwo + logf(total);
  }
}

template <typename Stored, typename Out, int columns>
void launch(Stream &stream, const AttentionOperands<Stored> &operands, Out *out,
            float *logSumExp, const AttentionShape &shape) {
  const auto kernel = attentionTileKernel<Stored, Out, columns>;
  constexpr size_t bytes =
      forwardTiles * sizeof(AttentionTile<Stored, columns>);
  allowSharedMemory(reinterpret_cast<const void *>(kernel), bytes);
  const int64_t tiles = (shape.queries + tileRows - 1) / tileRows;
  kernel<<<static_cast<unsigned>(tiles * shape.heads * shape.batch),
           tileThreads, bytes, streamOf(stream)>>>(operands, out, logSumExp,
                                                   shape);
  detail::checkLaunch(stream);
}

} // namespace

template <typename Stored, typename Out>
void launchAttentionTiles(Stream &stream, AttentionOperands<Stored> operands,
                          Out *out, float *logSumExp,
                          const AttentionShape &shape) {
  if (getTileColumns(shape) == 64)
    launch<Stored, Out, 64>(stream, operands, out, logSumExp, shape);
  else
    launch<Stored, Out, 128>(stream, operands, out, logSumExp, shape);
}

#define PARPLAN_ATTENTION_TILES(Stored, Out)                                   \
  template void launchAttentionTiles(Stream &, AttentionOperands<Stored>,      \
                                     Out *, float *, const AttentionShape &);
PARPLAN_ATTENTION_TILES(BFloat16, BFloat16)
PARPLAN_ATTENTION_TILES(BFloat16, float)
PARPLAN_ATTENTION_TILES(Float16, Float16)
PARPLAN_ATTENTION_TILES(Float16, float)

} // namespace runtime
} // namespace parplan
