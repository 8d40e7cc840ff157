//===- matmul_kernel.cu - Matrix products through cuBLASLt ----------------===//
//
// cuBLAS is column-major: a row-major result is the product of the transposed
// operands in the other order. Plans (descriptors and algorithm) are made once
// per shape. Single precision is computed as such, without TF32.
//
//===----------------------------------------------------------------------===//

#include "cuda_rank.h"
#include "failure.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/narrow_floats.h"

#include <algorithm>

namespace parplan {
namespace runtime {

namespace {

void check(cublasStatus_t status, const char *what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(exitDevice, std::string("cuBLASLt, ") + what + ": " +
                         cublasLtGetStatusString(status));
}

template <typename Element, typename Out> struct LoopKernel {
  const Element *lhs, *rhs;
  Out *out;
  MatmulShape shape;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    Arithmetic<Element> sum = 0;
    for (int64_t l = 0; l < shape.k; ++l)
      sum += lhs[i * shape.lhsRowStride + l * shape.lhsColumnStride] *
             rhs[l * shape.rhsRowStride + j * shape.rhsColumnStride];
    Out &target = out[i * shape.outRowStride + j * shape.outColumnStride];
    target = Out(shape.accumulate ? target + sum : sum);
  }
};

/// A row-major matrix as cuBLAS sees it: the column-major transposed one, or
/// that transposed again.
struct Orientation {
  bool transposed = false;
  int64_t leading = 0; // 0: neither stride is 1.

  Orientation(int64_t rows, int64_t columns, int64_t rowStride,
              int64_t columnStride) {
    if ((columnStride == 1 || columns == 1) &&
        (rowStride >= columns || rows == 1)) {
      leading = rows == 1 ? columns : rowStride;
    } else if ((rowStride == 1 || rows == 1) &&
               (columnStride >= rows || columns == 1)) {
      transposed = true;
      leading = columns == 1 ? rows : columnStride;
    }
  }
};

/// The largest power of two up to 256 that divides the address and strides.
uint32_t alignmentOf(const void *pointer, int64_t leadingBytes,
                     int64_t batchBytes) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(pointer) |
                        static_cast<uint64_t>(leadingBytes) |
                        static_cast<uint64_t>(batchBytes) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

cublasLtMatrixLayout_t layout(cudaDataType_t type, int64_t rows,
                              int64_t columns, int64_t leading, int64_t batch,
                              int64_t batchStride) {
  cublasLtMatrixLayout_t matrix = nullptr;
  check(cublasLtMatrixLayoutCreate(&matrix, type, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), leading),
        "layout");
  const int32_t count = static_cast<int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(
            matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "batch");
  check(cublasLtMatrixLayoutSetAttribute(
            matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batchStride,
            sizeof batchStride),
        "batch stride");
  return matrix;
}

template <typename Element> constexpr cudaDataType_t dataType = CUDA_R_32F;
template <> constexpr cudaDataType_t dataType<double> = CUDA_R_64F;
template <> constexpr cudaDataType_t dataType<BFloat16> = CUDA_R_16BF;
template <> constexpr cudaDataType_t dataType<Float16> = CUDA_R_16F;

/// One product of `batch` pairs.
template <typename Element, typename Out>
void product(Stream &stream, const Element *lhs, const Element *rhs, Out *out,
             const MatmulShape &s, int64_t batch, int64_t lhsStride,
             int64_t rhsStride, int64_t outStride, Workspace workspace) {
  auto &rank = static_cast<CudaRank &>(stream.rank());
  const Orientation left(s.m, s.k, s.lhsRowStride, s.lhsColumnStride);
  const Orientation right(s.k, s.n, s.rhsRowStride, s.rhsColumnStride);
  const Orientation result(s.m, s.n, s.outRowStride, s.outColumnStride);
  const uint32_t alignments[3] = {
      alignmentOf(rhs, right.leading * sizeof(Element),
                  rhsStride * sizeof(Element)),
      alignmentOf(lhs, left.leading * sizeof(Element),
                  lhsStride * sizeof(Element)),
      alignmentOf(out, result.leading * sizeof(Out), outStride * sizeof(Out))};
  const std::vector<int64_t> key = {dataType<Element>,
                                    dataType<Out>,
                                    s.m,
                                    s.n,
                                    s.k,
                                    left.transposed,
                                    left.leading,
                                    right.transposed,
                                    right.leading,
                                    result.leading,
                                    batch,
                                    lhsStride,
                                    rhsStride,
                                    outStride,
                                    alignments[0],
                                    alignments[1],
                                    alignments[2],
                                    workspace.bytes,
                                    s.accumulate};
  auto found = rank.products.find(key);
  if (found == rank.products.end()) {
    constexpr cudaDataType_t type = dataType<Element>;
    // Sums, and the factors of the call, are float for 16-bit operands.
    constexpr cudaDataType_t sums = dataType<Arithmetic<Element>>;
    ProductPlan plan;
    check(cublasLtMatmulDescCreate(&plan.operation,
                                   sums == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                                                      : CUBLAS_COMPUTE_32F,
                                   sums),
          "descriptor");
    const cublasOperation_t first =
        right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second =
        left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(plan.operation,
                                         CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                         sizeof first),
          "orientation");
    check(cublasLtMatmulDescSetAttribute(plan.operation,
                                         CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                         sizeof second),
          "orientation");
    plan.first = right.transposed
                     ? layout(type, s.k, s.n, right.leading, batch, rhsStride)
                     : layout(type, s.n, s.k, right.leading, batch, rhsStride);
    plan.second = left.transposed
                      ? layout(type, s.m, s.k, left.leading, batch, lhsStride)
                      : layout(type, s.k, s.m, left.leading, batch, lhsStride);
    plan.result =
        layout(dataType<Out>, s.n, s.m, result.leading, batch, outStride);
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "preference");
    const uint64_t bytes = static_cast<uint64_t>(workspace.bytes);
    const cublasLtMatmulPreferenceAttributes_t names[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (int i = 0; i < 4; ++i)
      check(cublasLtMatmulPreferenceSetAttribute(preference, names[i],
                                                 &alignments[std::min(i, 2)],
                                                 sizeof alignments[0]),
            "alignment");
    check(cublasLtMatmulPreferenceSetAttribute(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
              sizeof bytes),
          "workspace");
    cublasLtMatmulHeuristicResult_t choice;
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(
              rank.blas(), plan.operation, plan.first, plan.second, plan.result,
              plan.result, preference, 1, &choice, &count),
          "choice of an algorithm");
    cublasLtMatmulPreferenceDestroy(preference);
    if (count == 0)
      fail(exitDevice, "cuBLASLt has no algorithm for a matrix product");
    plan.algorithm = choice.algo;
    found = rank.products.emplace(key, plan).first;
  }
  const ProductPlan &plan = found->second;
  const Arithmetic<Element> one = 1, beta = s.accumulate ? 1 : 0;
  check(cublasLtMatmul(rank.blas(), plan.operation, &one, rhs, plan.first, lhs,
                       plan.second, &beta, out, plan.result, out, plan.result,
                       &plan.algorithm, workspace.data,
                       static_cast<size_t>(workspace.bytes), streamOf(stream)),
        "matrix product");
}

} // namespace

template <typename Element, typename Out>
void matmul(Stream &stream, Buffers buffers, const Element *lhs,
            const Element *rhs, Out *out, const MatmulShape &given,
            Workspace workspace) {
  stream.touch(buffers);
  if (given.m == 0 || given.n == 0)
    return;
  // A column-major result is the transposed product.
  MatmulShape s = given;
  if (s.outColumnStride != 1 && s.n != 1 && s.outRowStride == 1) {
    std::swap(lhs, rhs);
    std::swap(s.m, s.n);
    s.lhsRowStride = given.rhsColumnStride;
    s.lhsColumnStride = given.rhsRowStride;
    s.rhsRowStride = given.lhsColumnStride;
    s.rhsColumnStride = given.lhsRowStride;
    s.outRowStride = given.outColumnStride;
    s.outColumnStride = given.outRowStride;
    for (int d = 0; d < 4; ++d)
      std::swap(s.lhsBatchStride[d], s.rhsBatchStride[d]);
  }
  const bool library =
      s.k > 0 &&
      Orientation(s.m, s.k, s.lhsRowStride, s.lhsColumnStride).leading &&
      Orientation(s.k, s.n, s.rhsRowStride, s.rhsColumnStride).leading &&
      Orientation(s.m, s.n, s.outRowStride, s.outColumnStride).leading &&
      !Orientation(s.m, s.n, s.outRowStride, s.outColumnStride).transposed;
  // The largest batch dimension is one call; the others are loops.
  int inner = 0;
  for (int d = 1; d < s.batchRank; ++d)
    if (s.batch[d] > s.batch[inner])
      inner = d;
  int64_t outer[4], count = 1;
  for (int d = 0; d < 4; ++d) {
    outer[d] = d < s.batchRank && !(library && d == inner) ? s.batch[d] : 1;
    count *= outer[d];
  }
  const int64_t batch = library && s.batchRank > 0 ? s.batch[inner] : 1;
  if (batch == 0)
    return;
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position, lhsAt = 0, rhsAt = 0, outAt = 0;
    for (int d = 3; d >= 0; --d) {
      const int64_t index = rest % outer[d];
      rest /= outer[d];
      lhsAt += index * s.lhsBatchStride[d];
      rhsAt += index * s.rhsBatchStride[d];
      outAt += index * s.outBatchStride[d];
    }
    if (library)
      product(stream, lhs + lhsAt, rhs + rhsAt, out + outAt, s, batch,
              s.lhsBatchStride[inner], s.rhsBatchStride[inner],
              s.outBatchStride[inner], workspace);
    else
      map<2>(
          stream, {}, {s.m, s.n},
          LoopKernel<Element, Out>{lhs + lhsAt, rhs + rhsAt, out + outAt, s});
  }
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
