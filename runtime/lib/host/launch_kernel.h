//===- launch_kernel.h - Enqueueing library kernels -----------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_LAUNCH_KERNEL_H
#define PARPLAN_RUNTIME_LIB_HOST_LAUNCH_KERNEL_H

#include "parplan_runtime/kernels.h"

namespace parplan {
namespace runtime {

/// Marks the buffers and enqueues `kernel()`.
template <typename Kernel>
void launch(Stream &stream, Buffers buffers, const Kernel &kernel) {
  stream.touch(buffers);
  stream.enqueue(kernel);
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_LAUNCH_KERNEL_H
