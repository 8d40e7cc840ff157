//===- matmul_kernel.cpp - Batched matrix products ------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"
#include "product.h"

namespace parplan {
namespace runtime {

namespace {

/// Removes batch dimensions: those of size 1, and one that can count as rows
/// because the right operand does not depend on it and the rows follow each
/// other.
MatmulShape simplified(const MatmulShape &given) {
  MatmulShape shape = given;
  int32_t rank = 0;
  for (int32_t d = 0; d < given.batchRank; ++d) {
    if (given.batch[d] == 1)
      continue;
    shape.batch[rank] = given.batch[d];
    shape.lhsBatchStride[rank] = given.lhsBatchStride[d];
    shape.rhsBatchStride[rank] = given.rhsBatchStride[d];
    shape.outBatchStride[rank] = given.outBatchStride[d];
    ++rank;
  }
  while (rank > 0 && shape.rhsBatchStride[rank - 1] == 0 &&
         shape.lhsBatchStride[rank - 1] == shape.m * shape.lhsRowStride &&
         shape.outBatchStride[rank - 1] == shape.m * shape.outRowStride) {
    shape.m *= shape.batch[rank - 1];
    --rank;
  }
  shape.batchRank = rank;
  for (int32_t d = rank; d < 4; ++d) {
    shape.batch[d] = 1;
    shape.lhsBatchStride[d] = shape.rhsBatchStride[d] =
        shape.outBatchStride[d] = 0;
  }
  return shape;
}

template <typename Element, typename Out>
void products(const Element *lhs, const Element *rhs, Out *out,
              const MatmulShape &shape) {
  const int64_t *batch = shape.batch;
  for (int64_t a = 0; a < batch[0]; ++a)
    for (int64_t b = 0; b < batch[1]; ++b)
      for (int64_t c = 0; c < batch[2]; ++c)
        for (int64_t d = 0; d < batch[3]; ++d) {
          const auto at = [&](const int64_t *strides) {
            return a * strides[0] + b * strides[1] + c * strides[2] +
                   d * strides[3];
          };
          product<Element, Out>(
              shape.m, shape.n, shape.k, lhs + at(shape.lhsBatchStride),
              shape.lhsRowStride, shape.lhsColumnStride,
              rhs + at(shape.rhsBatchStride), shape.rhsRowStride,
              shape.rhsColumnStride, out + at(shape.outBatchStride),
              shape.outRowStride, shape.outColumnStride, shape.accumulate);
        }
}

} // namespace

template <typename Element, typename Out>
void matmul(Stream &stream, Buffers buffers, const Element *lhs,
            const Element *rhs, Out *out, const MatmulShape &shape, Workspace) {
  const MatmulShape loops = simplified(shape);
  launch(stream, buffers,
         [lhs, rhs, out, loops] { products(lhs, rhs, out, loops); });
}

#define PARPLAN_MATMUL(Element, Out)                                           \
  template void matmul(Stream &, Buffers, const Element *, const Element *,    \
                       Out *, const MatmulShape &, Workspace);
PARPLAN_MATMUL(float, float)
PARPLAN_MATMUL(double, double)
PARPLAN_MATMUL(BFloat16, BFloat16)
PARPLAN_MATMUL(BFloat16, float)
PARPLAN_MATMUL(Float16, Float16)
PARPLAN_MATMUL(Float16, float)

} // namespace runtime
} // namespace parplan
