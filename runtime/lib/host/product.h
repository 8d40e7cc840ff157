//===- product.h - One matrix product, in the calling thread --------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H
#define PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H

#include <cstdint>

namespace parplan {
namespace runtime {

/// out[i, j] (+)= sum over l of lhs[i, l] * rhs[l, j], any strides. BFloat16
/// and Float16 are summed as float, and `Out` may be float too.
template <typename Element, typename Out = Element>
void product(int64_t m, int64_t n, int64_t k, const Element *lhs,
             int64_t lhsRowStride, int64_t lhsColumnStride, const Element *rhs,
             int64_t rhsRowStride, int64_t rhsColumnStride, Out *out,
             int64_t outRowStride, int64_t outColumnStride, bool accumulate);

// What 16-bit products are made of.
template <>
void product(int64_t m, int64_t n, int64_t k, const float *lhs,
             int64_t lhsRowStride, int64_t lhsColumnStride, const float *rhs,
             int64_t rhsRowStride, int64_t rhsColumnStride, float *out,
             int64_t outRowStride, int64_t outColumnStride, bool accumulate);
template <>
void product(int64_t m, int64_t n, int64_t k, const double *lhs,
             int64_t lhsRowStride, int64_t lhsColumnStride, const double *rhs,
             int64_t rhsRowStride, int64_t rhsColumnStride, double *out,
             int64_t outRowStride, int64_t outColumnStride, bool accumulate);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H
