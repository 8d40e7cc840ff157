//===- tensor_core.h - Products of 16-bit tiles by one warp ---------------===//
//
// The fragments of mma.m16n8k16 (PTX ISA, "Matrix fragments"): of a sum, a lane
// holds columns 2 (lane % 4) and the next of row lane / 4, and those of the row
// eight below. Sums are floats.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_CUDA_TENSOR_CORE_H
#define PARPLAN_RUNTIME_CUDA_TENSOR_CORE_H

#include "parplan_runtime/narrow_floats.h"

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

namespace parplan {
namespace runtime {

/// Two elements, the first one below.
template <typename Element>
__device__ inline uint32_t packPair(float first, float second) {
  uint32_t bits;
  if constexpr (std::is_same<Element, BFloat16>::value) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  } else {
    const __half2 pair = __floats2half2_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  }
  return bits;
}

/// sum += lhs rhs, of 16 x 16 and 16 x 8 elements.
template <typename Element>
__device__ inline void multiplyAdd(float (&sum)[4], const uint32_t (&lhs)[4],
                                   uint32_t rhs0, uint32_t rhs1) {
  if constexpr (std::is_same<Element, BFloat16>::value)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(lhs[0]), "r"(lhs[1]), "r"(lhs[2]), "r"(lhs[3]),
                   "r"(rhs0), "r"(rhs1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(lhs[0]), "r"(lhs[1]), "r"(lhs[2]), "r"(lhs[3]),
                   "r"(rhs0), "r"(rhs1));
}

/// Four 8 x 8 matrices of shared memory; each lane gives the address of a row,
/// eight lanes those of a matrix.
__device__ inline void loadMatrices(uint32_t (&to)[4], const void *row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
               "[%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
/// The same, each matrix transposed.
__device__ inline void loadTransposed(uint32_t (&to)[4], const void *row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, "
               "%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CUDA_TENSOR_CORE_H
