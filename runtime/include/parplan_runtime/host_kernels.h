//===- host_kernels.h - Kernels whose operands lie in the host's arena ----===//
//
// They run on the processor whatever the program is compiled for, on the stream
// `host`. What they mean is said where the kernels of the same names are
// declared. Every pointer is one of Rank::hostAt.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_HOST_KERNELS_H
#define PARPLAN_RUNTIME_HOST_KERNELS_H

#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"

#include <cstring>

namespace parplan {
namespace runtime {
namespace host {

namespace detail {

template <typename Element> struct SquareSumTask {
  const Element *in;
  double *out;
  int64_t count;
  void operator()() const;
};

template <typename Element, typename Gradient> struct OptimizerTask {
  OptimizerShape shape;
  OptimizerScalars<Element> scalars;
  const Element *parameter;
  const Gradient *gradient;
  const Element *state0, *state1;
  Element *newParameter, *newState0, *newState1;
  int64_t count;
  void operator()() const;
};

} // namespace detail

template <int rank, typename Kernel>
void map(Stream &stream, Buffers buffers, const Extents<rank> &extents,
         const Kernel &kernel) {
  stream.touch(buffers);
  stream.enqueueOnHost(runtime::detail::MapTask<rank, Kernel>{extents, kernel});
}

inline void copyBytes(Stream &stream, Buffers buffers, const void *in,
                      void *out, int64_t bytes) {
  stream.touch(buffers);
  stream.enqueueOnHost(
      [in, out, bytes] { std::memmove(out, in, static_cast<size_t>(bytes)); });
}

inline void zero(Stream &stream, Buffers buffers, void *out, int64_t bytes) {
  stream.touch(buffers);
  stream.enqueueOnHost(
      [out, bytes] { std::memset(out, 0, static_cast<size_t>(bytes)); });
}

template <typename Element>
void squareSum(Stream &stream, Buffers buffers, const Element *in, double *out,
               int64_t count) {
  stream.touch(buffers);
  stream.enqueueOnHost(detail::SquareSumTask<Element>{in, out, count});
}

template <typename Element, typename Gradient = Element>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Gradient *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count) {
  stream.touch(buffers);
  stream.enqueueOnHost(detail::OptimizerTask<Element, Gradient>{
      shape, scalars, parameter, gradient, state0, state1, newParameter,
      newState0, newState1, count});
}

} // namespace host
} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_HOST_KERNELS_H
