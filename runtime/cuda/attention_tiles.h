//===- attention_tiles.h - Tiles of an attention of 16-bit elements -------===//
//
// As FlashAttention-2 (Dao, 2023): blocks of four warps work on tiles of 64
// queries and 64 keys; a warp has 16 rows. Scores exist only in registers, and
// are rounded to 16 bits before the second product. Heads are padded with zeros
// to 64 or 128 columns.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_CUDA_ATTENTION_TILES_H
#define PARPLAN_RUNTIME_CUDA_ATTENTION_TILES_H

#include "cuda_rank.h"
#include "parplan_runtime/kernels.h"
#include "tensor_core.h"

namespace parplan {
namespace runtime {

/// Rows of a tile, and threads of a block.
constexpr int tileRows = 64, tileThreads = 128;
/// The widest heads that tiles are for.
constexpr int64_t widestTile = 128;
/// Tiles in shared memory of attention, and of its gradients.
constexpr int64_t forwardTiles = 4, gradientTiles = 6;
constexpr float logarithmOfTwo = 0.69314718f, inverseLogarithmOfTwo = 1.442695f;

template <typename Stored> struct AttentionOperands {
  const Stored *query, *key, *value;
  const void *mask;
  const int64_t *queryOffset;
  /// Rows are read 16 bytes at a time.
  bool isAligned;
  /// Only of the gradient.
  const Stored *result = nullptr, *gradient = nullptr;
  const float *logSumExp = nullptr;
  int64_t gradientStride[3] = {};
};

/// Columns to which heads are padded.
inline int64_t getTileColumns(const AttentionShape &shape) {
  return shape.width <= 64 && shape.valueWidth <= 64 ? 64 : widestTile;
}

/// Whether so many tiles of such heads fit into the shared memory of a block:
/// 128 columns of a gradient need more than some GPUs have.
inline bool fitsTiles(const AttentionShape &shape, int64_t tiles) {
  if (shape.width > widestTile || shape.valueWidth > widestTile)
    return false;
  int device = 0, bytes = 0;
  checkCuda(cudaGetDevice(&device), "choosing the GPU");
  checkCuda(cudaDeviceGetAttribute(
                &bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "shared memory of the GPU");
  constexpr int64_t statistics = 2048;
  return tiles * tileRows * (getTileColumns(shape) + 8) * 2 + statistics <=
         bytes;
}

/// Whether all rows of an operand begin at multiples of 16 bytes.
template <typename Stored>
bool hasAlignedRows(const Stored *data, const int64_t (&stride)[3],
                    int64_t width) {
  const int64_t bytes = sizeof(Stored);
  return (reinterpret_cast<uintptr_t>(data) | (stride[0] * bytes) |
          (stride[1] * bytes) | (stride[2] * bytes) | (width * bytes)) %
             16 ==
         0;
}

/// Lets a kernel take that much dynamic shared memory.
inline void allowSharedMemory(const void *kernel, size_t bytes) {
  checkCuda(cudaFuncSetAttribute(kernel,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "shared memory of attention");
}

/// Attention and its gradients by tiles, for BFloat16 and Float16; as in
/// kernels.h.
template <typename Stored, typename Out>
void launchAttentionTiles(Stream &stream, AttentionOperands<Stored> operands,
                          Out *out, float *logSumExp,
                          const AttentionShape &shape);
template <typename Stored, typename Out>
void launchAttentionGradientTiles(Stream &stream,
                                  AttentionOperands<Stored> operands,
                                  Out *queryGradient, Stored *keyGradient,
                                  Stored *valueGradient,
                                  const AttentionShape &shape);

/// 16 bytes to shared memory behind the back of the warp, or zeros.
__device__ inline void copyVector(void *to, const void *from, bool isThere) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(address), "l"(from), "r"(isThere ? 16 : 0) // Bytes read.
               : "memory");
}
/// What this thread has begun to load is there.
__device__ inline void awaitTiles() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

__device__ inline float powerOfTwo(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// 64 rows in shared memory. Rows are eight elements longer than wide, so that
/// those of a matrix lie in different banks.
template <typename Stored, int columns> struct AttentionTile {
  Stored rows[tileRows][columns + 8];

  /// Of an array whose rows are `stride` apart; zeros beyond `count` rows and
  /// `width` columns. There after `awaitTiles` and a barrier.
  __device__ void load(const Stored *from, int64_t stride, int64_t count,
                       int64_t width, bool isAligned) {
    constexpr int vectors = columns / 8, rowsAtOnce = tileThreads / vectors;
    const int column = threadIdx.x % vectors * 8;
    int row = threadIdx.x / vectors;
    from += row * stride + column;
    // Not unrolled: registers are scarce where tiles are loaded.
#pragma unroll 1
    for (; row < tileRows; row += rowsAtOnce, from += rowsAtOnce * stride) {
      Stored *to = &rows[row][column];
      if (isAligned)
        copyVector(to, from, row < count && column < width);
      else
        for (int e = 0; e < 8; ++e)
          to[e] = row < count && column + e < width ? from[e] : Stored(0.0f);
    }
  }

  /// Rows [first, first + 16) and as many columns as the left operand.
  __device__ void loadLeft(uint32_t (&to)[4], int first, int column) const {
    const int lane = threadIdx.x % 32;
    loadMatrices(to, &rows[first + lane % 16][column + lane / 16 * 8]);
  }
  /// The same, transposed, as two right operands: [0] and [1] are those of the
  /// first eight rows.
  __device__ void loadRightOfRows(uint32_t (&to)[4], int first,
                                  int column) const {
    const int lane = threadIdx.x % 32;
    loadMatrices(
        to, &rows[first + lane / 16 * 8 + lane % 8][column + lane / 8 % 2 * 8]);
  }
  /// As they are: [0] and [1] are those of the first eight columns.
  __device__ void loadRight(uint32_t (&to)[4], int first, int column) const {
    const int lane = threadIdx.x % 32;
    loadTransposed(
        to, &rows[first + lane / 8 % 2 * 8 + lane % 8][column + lane / 16 * 8]);
  }
};

/// The keys and values of a key head, and their tiles.
template <typename Stored, int columns> struct KeyRows {
  using Tile = AttentionTile<Stored, columns>;

  const AttentionOperands<Stored> &in;
  const AttentionShape &s;
  int64_t b, g;

  /// From key `start` on.
  __device__ void load(Tile &keys, Tile &values, int64_t start) const {
    keys.load(in.key + b * s.keyStride[0] + start * s.keyStride[1] +
                  g * s.keyStride[2],
              s.keyStride[1], s.keys - start, s.width, in.isAligned);
    values.load(in.value + b * s.valueStride[0] + start * s.valueStride[1] +
                    g * s.valueStride[2],
                s.valueStride[1], s.keys - start, s.valueWidth, in.isAligned);
  }
};

/// What 16 rows of `left` from `first` on give with all rows of `right`.
template <typename Stored, int columns>
__device__ inline void
multiplyRows(float (&sums)[tileRows / 8][4],
             const AttentionTile<Stored, columns> &left, int first,
             const AttentionTile<Stored, columns> &right) {
  for (auto &sum : sums)
    for (float &x : sum)
      x = 0;
#pragma unroll
  for (int k = 0; k < columns; k += 16) {
    uint32_t lhs[4];
    left.loadLeft(lhs, first, k);
#pragma unroll
    for (int n = 0; n < tileRows; n += 16) {
      uint32_t rhs[4];
      right.loadRightOfRows(rhs, n, k);
      multiplyAdd<Stored>(sums[n / 8], lhs, rhs[0], rhs[1]);
      multiplyAdd<Stored>(sums[n / 8 + 1], lhs, rhs[2], rhs[3]);
    }
  }
}

/// sums += scores right, scores being rounded.
template <typename Stored, int columns>
__device__ inline void addProduct(float (&sums)[columns / 8][4],
                                  const float (&scores)[tileRows / 8][4],
                                  const AttentionTile<Stored, columns> &right) {
#pragma unroll
  for (int k = 0; k < tileRows; k += 16) {
    const float(&low)[4] = scores[k / 8], (&high)[4] = scores[k / 8 + 1];
    const uint32_t lhs[4] = {
        packPair<Stored>(low[0], low[1]), packPair<Stored>(low[2], low[3]),
        packPair<Stored>(high[0], high[1]), packPair<Stored>(high[2], high[3])};
#pragma unroll
    for (int n = 0; n < columns; n += 16) {
      uint32_t rhs[4];
      right.loadRight(rhs, k, n);
      multiplyAdd<Stored>(sums[n / 8], lhs, rhs[0], rhs[1]);
      multiplyAdd<Stored>(sums[n / 8 + 1], lhs, rhs[2], rhs[3]);
    }
  }
}

/// How many keys query i sees: the more, the later it comes. 0 beyond the last
/// query.
template <typename Stored>
__device__ inline int visibleKeys(const AttentionOperands<Stored> &in,
                                  const AttentionShape &s, int64_t i) {
  if (i >= s.queries)
    return 0;
  int64_t keys = s.keys;
  if (s.causal) {
    const int64_t visible = detail::attentionVisibleKeys(
        s, i, in.queryOffset ? *in.queryOffset : 0);
    keys = visible < keys ? visible : keys;
  }
  return static_cast<int>(keys > 0 ? keys : 0);
}

/// Keys that some query of the tile from `first` on sees.
template <typename Stored>
__device__ inline int visibleToSome(const AttentionOperands<Stored> &in,
                                    const AttentionShape &s, int64_t first) {
  const int64_t last = first + tileRows - 1;
  return visibleKeys(in, s, last < s.queries ? last : s.queries - 1);
}
/// Keys whose scores need no look at limits and masks in that tile.
template <typename Stored>
__device__ inline int visibleToAll(const AttentionOperands<Stored> &in,
                                   const AttentionShape &s, int64_t first) {
  return s.mask == MaskKind::None && first + tileRows <= s.queries
             ? visibleKeys(in, s, first)
             : 0;
}

/// What the mask adds to the score of query i and key j, as a power of two.
template <typename Stored>
__device__ inline float maskTerm(const AttentionOperands<Stored> &in,
                                 const AttentionShape &s, int64_t b, int64_t h,
                                 int64_t i, int64_t j) {
  if (s.mask == MaskKind::None)
    return 0;
  const int64_t at = b * s.maskStride[0] + h * s.maskStride[1] +
                     i * s.maskStride[2] +
                     (j + (s.wholeMask ? s.firstKey : 0)) * s.maskStride[3];
  if (s.mask == MaskKind::Float) {
    const float term = static_cast<const Stored *>(in.mask)[at];
    // The least number of a type hides, but is no infinity: rows of nothing
    // else have means.
    constexpr float least = -1e30f;
    return term < least && term != -INFINITY ? least
                                             : term * inverseLogarithmOfTwo;
  }
  return static_cast<const uint8_t *>(in.mask)[at] ? 0.0f : -INFINITY;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CUDA_ATTENTION_TILES_H
