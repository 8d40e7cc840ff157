//===- window_kernels.cpp - Pooling ---------------------------------------===//

#include "launch_kernel.h"

#include <limits>

namespace parplan {
namespace runtime {

namespace {

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

/// Calls visit(x) for every element under the window of (od, oh, ow).
template <typename Element, typename Visit>
inline void window(const Element *plane, const PoolGeometry &g, int64_t od,
                   int64_t oh, int64_t ow, Visit visit) {
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
          visit(plane[(d * g.in[1] + h) * g.in[2] + w]);
      }
    }
  }
}

template <typename Element, typename Pool>
void pool(const Element *in, Element *out, const PoolShape &shape, Pool value) {
  const PoolGeometry g(shape);
  const int64_t inPlane = g.in[0] * g.in[1] * g.in[2];
  for (int64_t plane = 0; plane < shape.batch * shape.channels; ++plane)
    for (int64_t od = 0; od < g.out[0]; ++od)
      for (int64_t oh = 0; oh < g.out[1]; ++oh)
        for (int64_t ow = 0; ow < g.out[2]; ++ow)
          *out++ = value(in + plane * inPlane, g, od, oh, ow);
}

} // namespace

template <typename Element>
void maxPool(Stream &stream, Buffers buffers, const Element *in, Element *out,
             const PoolShape &shape) {
  launch(stream, buffers, [in, out, shape] {
    pool(in, out, shape,
         [](const Element *plane, const PoolGeometry &g, int64_t od, int64_t oh,
            int64_t ow) {
           Element highest = -std::numeric_limits<Element>::infinity();
           window(plane, g, od, oh, ow, [&](Element x) {
             highest = highest > x || highest != highest ? highest : x;
           });
           return highest;
         });
  });
}

template <typename Element>
void averagePool(Stream &stream, Buffers buffers, const Element *in,
                 Element *out, const PoolShape &shape) {
  launch(stream, buffers, [in, out, shape] {
    const bool padding = shape.countIncludePad;
    pool(in, out, shape,
         [padding](const Element *plane, const PoolGeometry &g, int64_t od,
                   int64_t oh, int64_t ow) {
           Element sum = Element(0);
           window(plane, g, od, oh, ow, [&](Element x) { sum += x; });
           const int64_t count = g.taps(0, od, padding) *
                                 g.taps(1, oh, padding) *
                                 g.taps(2, ow, padding);
           return count ? sum / static_cast<Element>(count) : Element(0);
         });
  });
}

template void maxPool(Stream &, Buffers, const float *, float *,
                      const PoolShape &);
template void maxPool(Stream &, Buffers, const double *, double *,
                      const PoolShape &);
template void averagePool(Stream &, Buffers, const float *, float *,
                          const PoolShape &);
template void averagePool(Stream &, Buffers, const double *, double *,
                          const PoolShape &);

} // namespace runtime
} // namespace parplan
