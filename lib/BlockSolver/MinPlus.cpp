//===- MinPlus.cpp - The inner loop: minima over rows of tables -----------===//

#include "lib/BlockSolver/MinPlus.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace parplan;
using namespace parplan::block;

namespace {

constexpr int lanes = 8;

void minPlusGeneric(double *out, const double *table, const double *offsets,
                    int rows, int columns) {
  for (int column = 0; column < columns; column += lanes) {
    double sums[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      sums[lane] = table[column + lane] + offsets[0];
    for (int row = 1; row < rows; ++row) {
      const double *entries =
          table + static_cast<size_t>(row) * columns + column;
      double offset = offsets[row];
      for (int lane = 0; lane < lanes; ++lane) {
        double sum = entries[lane] + offset;
        sums[lane] = sum < sums[lane] ? sum : sums[lane];
      }
    }
    for (int lane = 0; lane < lanes; ++lane)
      out[column + lane] = sums[lane];
  }
}

#if defined(__x86_64__)

/// As `_mm512_min_pd`, of which g++ 12 says that it reads what is not there.
__attribute__((target("avx512f"), always_inline)) inline __m512d
least(__m512d left, __m512d right) {
  return _mm512_maskz_min_pd(0xff, left, right);
}

/// `count` vectors of columns at once, two chains of minima for each.
template <int count>
__attribute__((target("avx512f"), always_inline)) inline void
minPlusVectors(double *out, const double *table, const double *offsets,
               int rows, int columns) {
  __m512d even[count], odd[count];
  __m512d offset = _mm512_set1_pd(offsets[0]);
  for (int i = 0; i < count; ++i)
    even[i] = odd[i] =
        _mm512_add_pd(_mm512_loadu_pd(table + i * lanes), offset);
  int row = 1;
  for (; row + 1 < rows; row += 2) {
    const double *first = table + static_cast<size_t>(row) * columns;
    __m512d firstOffset = _mm512_set1_pd(offsets[row]);
    __m512d secondOffset = _mm512_set1_pd(offsets[row + 1]);
    for (int i = 0; i < count; ++i) {
      even[i] = least(even[i], _mm512_add_pd(_mm512_loadu_pd(first + i * lanes),
                                             firstOffset));
      odd[i] = least(odd[i],
                     _mm512_add_pd(_mm512_loadu_pd(first + columns + i * lanes),
                                   secondOffset));
    }
  }
  if (row < rows) {
    const double *last = table + static_cast<size_t>(row) * columns;
    __m512d lastOffset = _mm512_set1_pd(offsets[row]);
    for (int i = 0; i < count; ++i)
      even[i] = least(even[i], _mm512_add_pd(_mm512_loadu_pd(last + i * lanes),
                                             lastOffset));
  }
  for (int i = 0; i < count; ++i)
    _mm512_storeu_pd(out + i * lanes, least(even[i], odd[i]));
}

__attribute__((target("avx512f"))) void minPlusAvx512(double *out,
                                                      const double *table,
                                                      const double *offsets,
                                                      int rows, int columns) {
  int column = 0;
  for (; column + 4 * lanes <= columns; column += 4 * lanes)
    minPlusVectors<4>(out + column, table + column, offsets, rows, columns);
  switch ((columns - column) / lanes) {
  case 1:
    return minPlusVectors<1>(out + column, table + column, offsets, rows,
                             columns);
  case 2:
    return minPlusVectors<2>(out + column, table + column, offsets, rows,
                             columns);
  case 3:
    return minPlusVectors<3>(out + column, table + column, offsets, rows,
                             columns);
  default:
    return;
  }
}

#endif

} // namespace

bool block::hasKernel(Kernel kernel) {
#if defined(__x86_64__)
  return kernel != Kernel::avx512 || __builtin_cpu_supports("avx512f");
#else
  return kernel != Kernel::avx512;
#endif
}

MinPlus block::getMinPlus(Kernel kernel) {
#if defined(__x86_64__)
  if (kernel != Kernel::generic && hasKernel(Kernel::avx512))
    return minPlusAvx512;
#endif
  return minPlusGeneric;
}
