//===- product.cpp - One matrix product, in the calling thread ------------===//
//
// Float goes to oneDNN's sgemm, which beats OpenBLAS on this path by 10-30 %
// (one core, 128 x {768..50257} x 768), or to OpenBLAS where oneDNN is absent.
// Double, and strides that no library takes, go through own loops.
//
//===----------------------------------------------------------------------===//

#include "product.h"
#include "failure.h"

#if defined(PARPLAN_WITH_DNNL)
#include <dnnl.h>
#elif defined(PARPLAN_WITH_OPENBLAS)
#include <cblas.h>
#endif

namespace parplan {
namespace runtime {

namespace {

template <typename Element>
void loops(int64_t m, int64_t n, int64_t k, const Element *lhs,
           int64_t lhsRowStride, int64_t lhsColumnStride, const Element *rhs,
           int64_t rhsRowStride, int64_t rhsColumnStride, Element *out,
           int64_t outRowStride, int64_t outColumnStride, bool accumulate) {
  // 64 columns of one row at a time: the partial sums stay in registers or L1
  // and the order of additions is that of l.
  constexpr int64_t width = 64;
  for (int64_t first = 0; first < n; first += width) {
    const int64_t columns = n - first < width ? n - first : width;
    for (int64_t i = 0; i < m; ++i) {
      Element sums[width] = {};
      for (int64_t l = 0; l < k; ++l) {
        const Element factor = lhs[i * lhsRowStride + l * lhsColumnStride];
        const Element *row = rhs + l * rhsRowStride + first * rhsColumnStride;
        if (rhsColumnStride == 1)
          for (int64_t j = 0; j < columns; ++j)
            sums[j] += factor * row[j];
        else
          for (int64_t j = 0; j < columns; ++j)
            sums[j] += factor * row[j * rhsColumnStride];
      }
      Element *target = out + i * outRowStride + first * outColumnStride;
      for (int64_t j = 0; j < columns; ++j) {
        Element &element = target[j * outColumnStride];
        element = accumulate ? element + sums[j] : sums[j];
      }
    }
  }
}

#if defined(PARPLAN_WITH_DNNL)
/// oneDNN copies up to 9984 columns of an operand at a time, into 15 MiB that
/// no plan counts. These take 2, and no longer.
constexpr int64_t columnsAtOnce = 1024;
#endif

/// The leading dimension of a matrix of which one stride is 1: `transposed`
/// says which; 0 when neither is.
int64_t leadingDimension(int64_t rows, int64_t columns, int64_t rowStride,
                         int64_t columnStride, bool &transposed) {
  // A dimension of one element may carry any stride.
  if ((columnStride == 1 || columns == 1) &&
      (rowStride >= columns || rows == 1)) {
    transposed = false;
    return rows == 1 ? columns : rowStride;
  }
  if ((rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1)) {
    transposed = true;
    return columns == 1 ? rows : columnStride;
  }
  return 0;
}

} // namespace

template <>
void product<double>(int64_t m, int64_t n, int64_t k, const double *lhs,
                     int64_t lhsRowStride, int64_t lhsColumnStride,
                     const double *rhs, int64_t rhsRowStride,
                     int64_t rhsColumnStride, double *out, int64_t outRowStride,
                     int64_t outColumnStride, bool accumulate) {
  loops(m, n, k, lhs, lhsRowStride, lhsColumnStride, rhs, rhsRowStride,
        rhsColumnStride, out, outRowStride, outColumnStride, accumulate);
}

template <>
void product<float>(int64_t m, int64_t n, int64_t k, const float *lhs,
                    int64_t lhsRowStride, int64_t lhsColumnStride,
                    const float *rhs, int64_t rhsRowStride,
                    int64_t rhsColumnStride, float *out, int64_t outRowStride,
                    int64_t outColumnStride, bool accumulate) {
  if (m == 0 || n == 0)
    return;
  // A column-major result is the transposed product.
  if (outColumnStride != 1 && n != 1 && outRowStride == 1)
    return product<float>(n, m, k, rhs, rhsColumnStride, rhsRowStride, lhs,
                          lhsColumnStride, lhsRowStride, out, outColumnStride,
                          outRowStride, accumulate);
  bool lhsTransposed = false, rhsTransposed = false, outTransposed = false;
  const int64_t lhsLeading =
      leadingDimension(m, k, lhsRowStride, lhsColumnStride, lhsTransposed);
  const int64_t rhsLeading =
      leadingDimension(k, n, rhsRowStride, rhsColumnStride, rhsTransposed);
  const int64_t outLeading =
      leadingDimension(m, n, outRowStride, outColumnStride, outTransposed);
  if (k == 0 || lhsLeading == 0 || rhsLeading == 0 || outLeading == 0 ||
      outTransposed)
    return loops(m, n, k, lhs, lhsRowStride, lhsColumnStride, rhs, rhsRowStride,
                 rhsColumnStride, out, outRowStride, outColumnStride,
                 accumulate);
#if defined(PARPLAN_WITH_DNNL)
  for (int64_t first = 0; first < n; first += columnsAtOnce) {
    const int64_t columns =
        n - first < columnsAtOnce ? n - first : columnsAtOnce;
    if (dnnl_sgemm(lhsTransposed ? 'T' : 'N', rhsTransposed ? 'T' : 'N', m,
                   columns, k, 1.0f, lhs, lhsLeading,
                   rhs + first * (rhsTransposed ? rhsLeading : 1), rhsLeading,
                   accumulate ? 1.0f : 0.0f, out + first,
                   outLeading) != dnnl_success)
      fail(exitInternal, "oneDNN refuses a matrix product");
  }
#elif defined(PARPLAN_WITH_OPENBLAS)
  cblas_sgemm(CblasRowMajor, lhsTransposed ? CblasTrans : CblasNoTrans,
              rhsTransposed ? CblasTrans : CblasNoTrans, static_cast<int>(m),
              static_cast<int>(n), static_cast<int>(k), 1.0f, lhs,
              static_cast<int>(lhsLeading), rhs, static_cast<int>(rhsLeading),
              accumulate ? 1.0f : 0.0f, out, static_cast<int>(outLeading));
#else
  loops(m, n, k, lhs, lhsRowStride, lhsColumnStride, rhs, rhsRowStride,
        rhsColumnStride, out, outRowStride, outColumnStride, accumulate);
#endif
}

} // namespace runtime
} // namespace parplan
