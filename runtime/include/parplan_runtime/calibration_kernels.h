//===- calibration_kernels.h - Loops that are measured --------------------===//

#ifndef PARPLAN_RUNTIME_CALIBRATION_KERNELS_H
#define PARPLAN_RUNTIME_CALIBRATION_KERNELS_H

#include "parplan_runtime/map.h"
#include "parplan_runtime/scalar_math.h"

namespace parplan {
namespace runtime {

namespace detail {

struct FillKernel {
  float *out;
  PARPLAN_DEVICE void operator()(int64_t index) const {
    out[index] = static_cast<float>(index % 7) * 0.125f;
  }
};

/// Numbers that make multipliers work as those of models do.
template <typename Element> struct ScatterKernel {
  Element *out;
  PARPLAN_DEVICE void operator()(int64_t index) const {
    const auto bits = static_cast<uint32_t>(index) * 2654435761u;
    out[index] =
        Element(static_cast<float>(bits >> 8) * (1.0f / (1 << 24)) - 0.5f);
  }
};

struct AddKernel {
  const float *first, *second;
  float *out;
  PARPLAN_DEVICE void operator()(int64_t index) const {
    out[index] = first[index] + second[index];
  }
};

template <int repeats> struct ExponentialKernel {
  const float *in;
  float *out;
  PARPLAN_DEVICE void operator()(int64_t index) const {
    float x = in[index];
    for (int repeat = 0; repeat < repeats; ++repeat)
      x = exponential(repeats == 1 ? x : -x);
    out[index] = x;
  }
};

} // namespace detail

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CALIBRATION_KERNELS_H
