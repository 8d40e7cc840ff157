//===- map.h - Loops over emitted kernels ---------------------------------===//
//
// `map<N>(stream, buffers, {e0, .., eN-1}, kernel)` calls `kernel(i0, ..,
// iN-1)` for every index. Calls must be independent of each other; a kernel may
// read and write the same element. The innermost index should be the contiguous
// one: on the host its loop is vectorised, on CUDA neighbours run in one warp.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_MAP_H
#define PARPLAN_RUNTIME_MAP_H

#include "parplan_runtime/stream.h"

namespace parplan {
namespace runtime {

template <int rank> struct Extents { int64_t size[rank]; };

namespace detail {

/// Calls `kernel(outer.., i)` for all i of the last extent.
template <int depth, int rank> struct Loop {
  template <typename Kernel, typename... Index>
  static PARPLAN_DEVICE void run(const Extents<rank> &extents,
                                 const Kernel &kernel, Index... outer) {
    if constexpr (depth + 1 == rank) {
      const int64_t end = extents.size[depth];
      PARPLAN_IGNORE_DEPENDENCES
      for (int64_t index = 0; index < end; ++index)
        kernel(outer..., index);
    } else {
      for (int64_t index = 0; index < extents.size[depth]; ++index)
        Loop<depth + 1, rank>::run(extents, kernel, outer..., index);
    }
  }
};

/// The whole loop, on the processor.
template <int rank, typename Kernel> struct MapTask {
  Extents<rank> extents;
  Kernel kernel;
  void operator()() const {
    const Extents<rank> localExtents = extents;
    const Kernel localKernel = kernel;
    Loop<0, rank>::run(localExtents, localKernel);
  }
};

/// Calls the kernel with the indices of a row-major position.
template <int depth, int rank> struct Decompose {
  template <typename Kernel, typename... Index>
  static PARPLAN_DEVICE void run(const Extents<rank> &extents, int64_t position,
                                 const Kernel &kernel, Index... inner) {
    if constexpr (depth == 0) {
      kernel(position, inner...);
    } else {
      const int64_t quotient = position / extents.size[depth];
      Decompose<depth - 1, rank>::run(extents, quotient, kernel,
                                      position - quotient * extents.size[depth],
                                      inner...);
    }
  }
};

#if defined(PARPLAN_CUDA)
template <int rank, typename Kernel>
__global__ void __launch_bounds__(256)
    mapKernel(Extents<rank> extents, int64_t total, Kernel kernel) {
  for (int64_t position = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
       position < total; position += int64_t(gridDim.x) * blockDim.x)
    Decompose<rank - 1, rank>::run(extents, position, kernel);
}

/// Blocks of 256 threads for `total` elements on the stream's device.
unsigned mapBlocks(int64_t total);
/// Ends the program with a message when the last launch was refused.
void checkLaunch(Stream &stream);
#endif

} // namespace detail

template <int rank, typename Kernel>
void map(Stream &stream, Buffers buffers, const Extents<rank> &extents,
         const Kernel &kernel) {
  stream.touch(buffers);
  int64_t total = 1;
  for (int64_t extent : extents.size)
    total *= extent;
  if (total == 0)
    return;
#if defined(PARPLAN_CUDA)
  detail::mapKernel<rank, Kernel>
      <<<detail::mapBlocks(total), 256, 0,
         static_cast<cudaStream_t>(stream.handle())>>>(extents, total, kernel);
  detail::checkLaunch(stream);
#else
  stream.enqueue(detail::MapTask<rank, Kernel>{extents, kernel});
#endif
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_MAP_H
