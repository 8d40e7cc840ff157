//===- narrow_product.cpp - Products of 16-bit operands -------------------===//
//
// Blocks of the operands are widened to float in a scratch of the thread's and
// multiplied there: sums are float throughout and rounded once. That reaches
// the speed of float products; the bfloat16 instructions of AVX-512 were half
// as fast through oneDNN (70 against 150 GFLOP/s on one core).
//
//===----------------------------------------------------------------------===//

#include "parplan_runtime/narrow_floats.h"
#include "product.h"

#include <memory>

namespace parplan {
namespace runtime {

namespace {

constexpr int64_t rowBlock = 256, columnBlock = 512, depthBlock = 512;

/// One megabyte for the right block and half of one for each of the others.
float *scratch() {
  constexpr int64_t elements =
      rowBlock * depthBlock + depthBlock * columnBlock + rowBlock * columnBlock;
  static thread_local std::unique_ptr<float[]> memory(new float[elements]);
  return memory.get();
}

/// A widened block; it keeps the orientation of its source.
struct Block {
  float *data;
  int64_t rowStride, columnStride;
};

template <typename Element>
Block widen(const Element *in, int64_t rowStride, int64_t columnStride,
            int64_t rows, int64_t columns, float *out) {
  if (columnStride != 1 && rowStride == 1) {
    const Block flipped =
        widen(in, columnStride, rowStride, columns, rows, out);
    return {out, flipped.columnStride, flipped.rowStride};
  }
  for (int64_t i = 0; i < rows; ++i) {
    const Element *from = in + i * rowStride;
    float *to = out + i * columns;
    if (columnStride == 1)
      for (int64_t j = 0; j < columns; ++j)
        to[j] = from[j];
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j] = from[j * columnStride];
  }
  return {out, columns, 1};
}

template <typename Out>
void store(const float *in, int64_t rows, int64_t columns, Out *out,
           int64_t rowStride, int64_t columnStride, bool accumulate) {
  for (int64_t i = 0; i < rows; ++i) {
    const float *from = in + i * columns;
    Out *to = out + i * rowStride;
    if (accumulate)
      for (int64_t j = 0; j < columns; ++j)
        to[j * columnStride] =
            Out(static_cast<float>(to[j * columnStride]) + from[j]);
    else if (columnStride == 1)
      for (int64_t j = 0; j < columns; ++j)
        to[j] = Out(from[j]);
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j * columnStride] = Out(from[j]);
  }
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

} // namespace

template <typename Element, typename Out>
void product(int64_t m, int64_t n, int64_t k, const Element *lhs,
             int64_t lhsRowStride, int64_t lhsColumnStride, const Element *rhs,
             int64_t rhsRowStride, int64_t rhsColumnStride, Out *out,
             int64_t outRowStride, int64_t outColumnStride, bool accumulate) {
  float *left = scratch();
  float *right = left + rowBlock * depthBlock;
  float *sums = right + depthBlock * columnBlock;
  for (int64_t i = 0; i < m; i += rowBlock)
    for (int64_t j = 0; j < n; j += columnBlock) {
      const int64_t rows = smaller(m - i, rowBlock);
      const int64_t columns = smaller(n - j, columnBlock);
      for (int64_t l = 0; l == 0 || l < k; l += depthBlock) {
        const int64_t depth = smaller(k - l, depthBlock);
        const Block a = widen(lhs + i * lhsRowStride + l * lhsColumnStride,
                              lhsRowStride, lhsColumnStride, rows, depth, left);
        const Block b =
            widen(rhs + l * rhsRowStride + j * rhsColumnStride, rhsRowStride,
                  rhsColumnStride, depth, columns, right);
        product<float>(rows, columns, depth, a.data, a.rowStride,
                       a.columnStride, b.data, b.rowStride, b.columnStride,
                       sums, columns, 1, l > 0);
      }
      store(sums, rows, columns, out + i * outRowStride + j * outColumnStride,
            outRowStride, outColumnStride, accumulate);
    }
}

#define PARPLAN_PRODUCT(Element, Out)                                          \
  template void product(int64_t, int64_t, int64_t, const Element *, int64_t,   \
                        int64_t, const Element *, int64_t, int64_t, Out *,     \
                        int64_t, int64_t, bool);
PARPLAN_PRODUCT(BFloat16, BFloat16)
PARPLAN_PRODUCT(BFloat16, float)
PARPLAN_PRODUCT(Float16, Float16)
PARPLAN_PRODUCT(Float16, float)

} // namespace runtime
} // namespace parplan
