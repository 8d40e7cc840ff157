//===- product.h - One matrix product, in the calling thread --------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H
#define PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H

#include <cstdint>

namespace parplan {
namespace runtime {

/// out[i, j] (+)= sum over l of lhs[i, l] * rhs[l, j], any strides.
template <typename Element>
void product(int64_t m, int64_t n, int64_t k, const Element *lhs,
             int64_t lhsRowStride, int64_t lhsColumnStride, const Element *rhs,
             int64_t rhsRowStride, int64_t rhsColumnStride, Element *out,
             int64_t outRowStride, int64_t outColumnStride, bool accumulate);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_PRODUCT_H
