//===- pool_geometry.h - Windows of pools ---------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_POOL_GEOMETRY_H
#define PARPLAN_RUNTIME_LIB_HOST_POOL_GEOMETRY_H

#include "parplan_runtime/shapes.h"

namespace parplan {
namespace runtime {

/// Three spatial dimensions, the missing ones of size 1 in front.
struct PoolGeometry {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1},
          stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0},
          high[3] = {0, 0, 0};

  explicit PoolGeometry(const PoolShape &shape) {
    const int32_t skip = 3 - shape.spatialRank;
    for (int32_t d = 0; d < shape.spatialRank; ++d) {
      in[skip + d] = shape.in[d];
      out[skip + d] = shape.out[d];
      kernel[skip + d] = shape.kernel[d];
      stride[skip + d] = shape.stride[d];
      dilation[skip + d] = shape.dilation[d];
      low[skip + d] = shape.padLow[d];
      high[skip + d] = shape.padHigh[d];
    }
  }
  int64_t position(int d, int64_t o, int64_t tap) const {
    return o * stride[d] - low[d] + tap * dilation[d];
  }
  /// Taps of output `o` that lie in the input, or in its padding too.
  int64_t taps(int d, int64_t o, bool padding) const {
    int64_t count = 0;
    for (int64_t tap = 0; tap < kernel[d]; ++tap) {
      const int64_t at = position(d, o, tap);
      count += padding ? at < in[d] + high[d] : at >= 0 && at < in[d];
    }
    return count;
  }
};

/// Calls visit(at) with the position in the plane of every element under the
/// window of (od, oh, ow), in row-major order.
template <typename Visit>
inline void window(const PoolGeometry &g, int64_t od, int64_t oh, int64_t ow,
                   Visit visit) {
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const int64_t d = g.position(0, od, kd);
    if (d < 0 || d >= g.in[0])
      continue;
    for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      const int64_t h = g.position(1, oh, kh);
      if (h < 0 || h >= g.in[1])
        continue;
      for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const int64_t w = g.position(2, ow, kw);
        if (w >= 0 && w < g.in[2])
          visit((d * g.in[1] + h) * g.in[2] + w);
      }
    }
  }
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_POOL_GEOMETRY_H
