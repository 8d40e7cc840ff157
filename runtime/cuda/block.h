//===- block.h - Sums and maxima of a block of threads --------------------===//

#ifndef PARPLAN_RUNTIME_CUDA_BLOCK_H
#define PARPLAN_RUNTIME_CUDA_BLOCK_H

#include <algorithm>
#include <cstdint>

namespace parplan {
namespace runtime {

/// Threads of a block of the kernels that use this file.
constexpr int threads = 256;

struct Add {
  template <typename T> __device__ T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct Multiply {
  template <typename T> __device__ T operator()(T a, T b) const {
    return T(a * b);
  }
};
struct Highest {
  template <typename T> __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Lowest {
  template <typename T> __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

/// Combines one value of each thread; every thread gets the result.
template <typename Element, typename Combine>
__device__ Element combineBlock(Element value, Combine combine) {
  __shared__ Element partial[threads];
  __syncthreads(); // The last result may still be read.
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half)
      partial[threadIdx.x] =
          combine(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  return partial[0];
}

/// Blocks for `count` pieces of work that kernels share by strides.
inline unsigned blocksOf(int64_t count) {
  return static_cast<unsigned>(
      std::max<int64_t>(1, std::min<int64_t>(count, 1 << 16)));
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CUDA_BLOCK_H
