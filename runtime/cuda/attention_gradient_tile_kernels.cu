//===- attention_gradient_tile_kernels.cu - Backward on tensor cores ------===//
//
// Two kernels make the scores again: one walks the queries for 64 keys of a key
// head, one the keys for 64 queries. Nothing is added atomically, so results
// are the same in every run.
//
//===----------------------------------------------------------------------===//

#include "attention_tiles.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

/// Of the queries of a tile.
struct QueryStatistics {
  /// As a power of two.
  float logSumExp[tileRows];
  /// The sum of what the result and its gradient give, element by element.
  float mean[tileRows];
  int visibleKeys[tileRows];
};

/// Queries from `first` on of a head, and their tiles.
template <typename Stored, int columns> struct QueryRows {
  using Tile = AttentionTile<Stored, columns>;

  const AttentionOperands<Stored> &in;
  const AttentionShape &s;
  int64_t b, h, first;

  __device__ void load(Tile &queries, Tile &gradients,
                       QueryStatistics &statistics) const {
    queries.load(in.query + b * s.queryStride[0] + first * s.queryStride[1] +
                     h * s.queryStride[2],
                 s.queryStride[1], s.queries - first, s.width, in.isAligned);
    gradients.load(in.gradient + b * in.gradientStride[0] +
                       first * in.gradientStride[1] + h * in.gradientStride[2],
                   in.gradientStride[1], s.queries - first, s.valueWidth,
                   in.isAligned);
    if (threadIdx.x >= tileRows)
      return;
    const int64_t i = first + threadIdx.x;
    const float value = i < s.queries
                            ? in.logSumExp[(b * s.heads + h) * s.queries + i]
                            : -INFINITY;
    statistics.logSumExp[threadIdx.x] = value * inverseLogarithmOfTwo;
    statistics.visibleKeys[threadIdx.x] =
        value == -INFINITY ? 0 : visibleKeys(in, s, i);
  }

  /// Two threads a row.
  __device__ void setMean(QueryStatistics &statistics,
                          const Tile &gradients) const {
    static_assert(tileThreads == 2 * tileRows, "two threads a row");
    const int row = threadIdx.x / 2;
    float sum = 0;
    if (first + row < s.queries) {
      const Stored *result = in.result + b * s.outStride[0] +
                             (first + row) * s.outStride[1] +
                             h * s.outStride[2];
      const Stored *gradient = gradients.rows[row];
      if (in.isAligned)
        for (int f = threadIdx.x % 2 * 8; f < s.valueWidth; f += 16) {
          alignas(16) Stored left[8], right[8];
          *reinterpret_cast<uint4 *>(left) =
              *reinterpret_cast<const uint4 *>(result + f);
          *reinterpret_cast<uint4 *>(right) =
              *reinterpret_cast<const uint4 *>(gradient + f);
#pragma unroll
          for (int e = 0; e < 8; ++e)
            sum += float(left[e]) * float(right[e]);
        }
      else
        for (int f = threadIdx.x % 2; f < s.valueWidth; f += 2)
          sum += float(result[f]) * float(gradient[f]);
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    if (threadIdx.x % 2 == 0)
      statistics.mean[row] = sum;
  }

  /// Turns the product of query `row` and key j into its probability, and the
  /// gradient of that into the one of the product.
  template <bool isWhole>
  __device__ void differentiate(float &score, float &gradient,
                                const QueryStatistics &statistics, int row,
                                int j) const {
    float power = score * static_cast<float>(s.scale) * inverseLogarithmOfTwo -
                  statistics.logSumExp[row];
    if (!isWhole) {
      if (j >= statistics.visibleKeys[row]) {
        score = gradient = 0;
        return;
      }
      power += maskTerm(in, s, b, h, first + row, j);
    }
    score = powerOfTwo(power);
    gradient =
        score * (gradient - statistics.mean[row]) * static_cast<float>(s.scale);
  }
};

/// Row `half` of the two that a lane has, perhaps onto what is there.
template <typename Out, int columns>
__device__ void store(Out *out, int64_t width,
                      const float (&sums)[columns / 8][4], int half,
                      bool accumulate) {
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int64_t column = n * 8 + threadIdx.x % 4 * 2 + e;
      if (column < width)
        out[column] = Out(sums[n][2 * half + e] +
                          (accumulate ? float(out[column]) : 0.0f));
    }
}

/// Rows of the products are keys, columns queries.
template <typename Stored, int columns>
__global__ void __launch_bounds__(tileThreads)
    keyGradientKernel(AttentionOperands<Stored> in, Stored *keyGradient,
                      Stored *valueGradient, AttentionShape s,
                      int64_t allKeys) {
  using Tile = AttentionTile<Stored, columns>;
  using Rows = QueryRows<Stored, columns>;
  extern __shared__ uint4 shared[];
  auto *tile = reinterpret_cast<Tile *>(shared);
  Tile &keys = tile[0], &values = tile[1];
  // One is loaded while the other is used.
  Tile *queries = tile + 2, *gradients = tile + 4;
  __shared__ QueryStatistics statistics[2];
  const int64_t tiles = (allKeys + tileRows - 1) / tileRows;
  const auto start = static_cast<int>(blockIdx.x % tiles * tileRows);
  const int64_t g = blockIdx.x / tiles % s.kvHeads,
                b = blockIdx.x / tiles / s.kvHeads;
  const int64_t group = s.heads / s.kvHeads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  KeyRows<Stored, columns>{in, s, b, g}.load(keys, values, start);
  const int row[2] = {warp * 16 + lane / 4, warp * 16 + lane / 4 + 8};
  float keySums[columns / 8][4] = {}, valueSums[columns / 8][4] = {};
  // Moves on to queries that see some of these keys; false after the last ones.
  int64_t h = g * group, first = 0;
  const auto find = [&] {
    for (; h < (g + 1) * group; ++h, first = 0)
      for (; first < s.queries; first += tileRows)
        if (visibleToSome(in, s, first) > start)
          return true;
    return false;
  };
  bool isThere = find();
  if (isThere)
    Rows{in, s, b, h, first}.load(queries[0], gradients[0], statistics[0]);
  for (int place = 0; isThere; place = 1 - place) {
    const Rows rows = {in, s, b, h, first};
    awaitTiles();
    __syncthreads();
    first += tileRows;
    isThere = find();
    if (isThere)
      Rows{in, s, b, h, first}.load(queries[1 - place], gradients[1 - place],
                                    statistics[1 - place]);
    rows.setMean(statistics[place], gradients[place]);
    float scores[tileRows / 8][4], changes[tileRows / 8][4];
    multiplyRows(scores, keys, warp * 16, queries[place]);
    multiplyRows(changes, values, warp * 16, gradients[place]);
    __syncthreads();
    const auto differentiate = [&](auto isWhole) {
#pragma unroll
      for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          rows.template differentiate<isWhole.value>(
              scores[n][e], changes[n][e], statistics[place],
              n * 8 + lane % 4 * 2 + e % 2, start + row[e / 2]);
    };
    if (start + tileRows <= visibleToAll(in, s, rows.first))
      differentiate(std::true_type());
    else
      differentiate(std::false_type());
    addProduct<Stored, columns>(valueSums, scores, gradients[place]);
    addProduct<Stored, columns>(keySums, changes, queries[place]);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t j = start + row[half];
    if (j >= allKeys)
      continue;
    const int64_t at = (b * allKeys + j) * s.kvHeads + g;
    store<Stored, columns>(keyGradient + at * s.width, s.width, keySums, half,
                           false);
    store<Stored, columns>(valueGradient + at * s.valueWidth, s.valueWidth,
                           valueSums, half, false);
  }
}

/// Rows of the products are queries, columns keys.
template <typename Stored, typename Out, int columns>
__global__ void __launch_bounds__(tileThreads)
    queryGradientKernel(AttentionOperands<Stored> in, Out *queryGradient,
                        AttentionShape s) {
  using Tile = AttentionTile<Stored, columns>;
  extern __shared__ uint4 shared[];
  auto *tile = reinterpret_cast<Tile *>(shared);
  Tile &queries = tile[0], &gradients = tile[1];
  Tile *keys = tile + 2, *values = tile + 4;
  __shared__ QueryStatistics statistics;
  const int64_t tiles = (s.queries + tileRows - 1) / tileRows;
  const int64_t first = (tiles - 1 - blockIdx.x % tiles) * tileRows;
  const int64_t h = blockIdx.x / tiles % s.heads,
                b = blockIdx.x / tiles / s.heads, g = h / (s.heads / s.kvHeads);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const KeyRows<Stored, columns> keyRows = {in, s, b, g};
  const auto load = [&](int start) {
    const int place = start / tileRows % 2;
    keyRows.load(keys[place], values[place], start);
  };
  const QueryRows<Stored, columns> rows = {in, s, b, h, first};
  rows.load(queries, gradients, statistics);
  load(0);
  awaitTiles();
  __syncthreads();
  rows.setMean(statistics, gradients);
  const int limit = visibleToSome(in, s, first),
            whole = visibleToAll(in, s, first);
  const int row[2] = {warp * 16 + lane / 4, warp * 16 + lane / 4 + 8};
  float sums[columns / 8][4] = {};
  for (int start = 0; start < limit; start += tileRows) {
    awaitTiles();
    __syncthreads();
    if (start + tileRows < limit)
      load(start + tileRows);
    const int place = start / tileRows % 2;
    float scores[tileRows / 8][4], changes[tileRows / 8][4];
    multiplyRows(scores, queries, warp * 16, keys[place]);
    multiplyRows(changes, gradients, warp * 16, values[place]);
    const auto differentiate = [&](auto isWhole) {
#pragma unroll
      for (int n = 0; n < tileRows / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          rows.template differentiate<isWhole.value>(
              scores[n][e], changes[n][e], statistics, row[e / 2],
              start + n * 8 + lane % 4 * 2 + e % 2);
    };
    if (start + tileRows <= whole)
      differentiate(std::true_type());
    else
      differentiate(std::false_type());
    addProduct<Stored, columns>(sums, changes, keys[place]);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t i = first + row[half];
    if (i >= s.queries)
      continue;
    store<Out, columns>(queryGradient +
                            ((b * s.queries + i) * s.heads + h) * s.width,
                        s.width, sums, half, s.accumulate);
  }
}

template <typename Stored, typename Out, int columns>
void launch(Stream &stream, const AttentionOperands<Stored> &operands,
            Out *queryGradient, Stored *keyGradient, Stored *valueGradient,
            AttentionShape shape) {
  const int64_t allKeys = shape.keys;
  shape.keys = detail::attentionKeys(shape);
  constexpr size_t bytes =
      gradientTiles * sizeof(AttentionTile<Stored, columns>);
  const auto ofKeys = keyGradientKernel<Stored, columns>;
  const auto ofQueries = queryGradientKernel<Stored, Out, columns>;
  allowSharedMemory(reinterpret_cast<const void *>(ofKeys), bytes);
  allowSharedMemory(reinterpret_cast<const void *>(ofQueries), bytes);
  const auto blocks = [](int64_t rows, int64_t heads) {
    return static_cast<unsigned>((rows + tileRows - 1) / tileRows * heads);
  };
  if (allKeys > 0)
    ofKeys<<<blocks(allKeys, shape.kvHeads * shape.batch), tileThreads, bytes,
             streamOf(stream)>>>(operands, keyGradient, valueGradient, shape,
                                 allKeys);
  if (shape.queries > 0)
    ofQueries<<<blocks(shape.queries, shape.heads * shape.batch), tileThreads,
                bytes, streamOf(stream)>>>(operands, queryGradient, shape);
  detail::checkLaunch(stream);
}

} // namespace

template <typename Stored, typename Out>
void launchAttentionGradientTiles(Stream &stream,
                                  AttentionOperands<Stored> operands,
                                  Out *queryGradient, Stored *keyGradient,
                                  Stored *valueGradient,
                                  const AttentionShape &shape) {
  if (shape.batch == 0 || shape.heads == 0)
    return;
  if (getTileColumns(shape) == 64)
    launch<Stored, Out, 64>(stream, operands, queryGradient, keyGradient,
                            valueGradient, shape);
  else
    launch<Stored, Out, 128>(stream, operands, queryGradient, keyGradient,
                             valueGradient, shape);
}

#define PARPLAN_ATTENTION_GRADIENT_TILES(Stored, Out)                          \
  template void launchAttentionGradientTiles(                                  \
      Stream &, AttentionOperands<Stored>, Out *, Stored *, Stored *,          \
      const AttentionShape &);
PARPLAN_ATTENTION_GRADIENT_TILES(BFloat16, BFloat16)
PARPLAN_ATTENTION_GRADIENT_TILES(BFloat16, float)
PARPLAN_ATTENTION_GRADIENT_TILES(Float16, Float16)
PARPLAN_ATTENTION_GRADIENT_TILES(Float16, float)

} // namespace runtime
} // namespace parplan
