//===- window_kernels.cpp - Pooling ---------------------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"
#include "pool_geometry.h"

#include <limits>
#include <vector>

namespace parplan {
namespace runtime {

namespace {

template <typename Element, typename Pool>
void pool(const Element *in, Element *out, const PoolShape &shape, Pool value) {
  const PoolGeometry g(shape);
  const int64_t inPlane = g.in[0] * g.in[1] * g.in[2];
  for (int64_t plane = 0; plane < shape.batch * shape.channels; ++plane)
    for (int64_t od = 0; od < g.out[0]; ++od)
      for (int64_t oh = 0; oh < g.out[1]; ++oh)
        for (int64_t ow = 0; ow < g.out[2]; ++ow)
          *out++ = Element(value(in + plane * inPlane, g, od, oh, ow));
}

/// Clears `out`, a pool's input, and calls give(start of the plane, output,
/// plane of `out`, geometry, od, oh, ow) for every output.
template <typename Element, typename Give>
void spread(Element *out, const PoolShape &shape, Give give) {
  const PoolGeometry g(shape);
  const int64_t inPlane = g.in[0] * g.in[1] * g.in[2];
  const int64_t planes = shape.batch * shape.channels;
  // 16-bit elements are summed as float, a plane at a time.
  static thread_local std::vector<float> sums;
  if (isNarrow<Element>)
    sums.resize(static_cast<size_t>(inPlane));
  int64_t from = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    Arithmetic<Element> *target;
    if constexpr (isNarrow<Element>)
      target = sums.data();
    else
      target = out + plane * inPlane;
    for (int64_t i = 0; i < inPlane; ++i)
      target[i] = 0;
    for (int64_t od = 0; od < g.out[0]; ++od)
      for (int64_t oh = 0; oh < g.out[1]; ++oh)
        for (int64_t ow = 0; ow < g.out[2]; ++ow)
          give(plane * inPlane, from++, target, g, od, oh, ow);
    if constexpr (isNarrow<Element>)
      for (int64_t i = 0; i < inPlane; ++i)
        out[plane * inPlane + i] = Element(target[i]);
  }
}

} // namespace

template <typename Element>
void maxPool(Stream &stream, Buffers buffers, const Element *in, Element *out,
             const PoolShape &shape) {
  launch(stream, buffers, [in, out, shape] {
    pool(in, out, shape,
         [](const Element *plane, const PoolGeometry &g, int64_t od, int64_t oh,
            int64_t ow) {
           using Value = Arithmetic<Element>;
           Value highest = -std::numeric_limits<Value>::infinity();
           window(g, od, oh, ow, [&](int64_t at) {
             const Value x = plane[at];
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
           using Value = Arithmetic<Element>;
           Value sum = 0;
           window(g, od, oh, ow, [&](int64_t at) { sum += plane[at]; });
           const int64_t count = g.taps(0, od, padding) *
                                 g.taps(1, oh, padding) *
                                 g.taps(2, ow, padding);
           return count ? sum / static_cast<Value>(count) : Value(0);
         });
  });
}

template <typename Element>
void maxPoolGradient(Stream &stream, Buffers buffers, const Element *in,
                     const Element *gradient, Element *out,
                     const PoolShape &shape) {
  launch(stream, buffers, [in, gradient, out, shape] {
    spread(out, shape,
           [=](int64_t plane, int64_t from, Arithmetic<Element> *target,
               const PoolGeometry &g, int64_t od, int64_t oh, int64_t ow) {
             const Element *source = in + plane;
             int64_t first = -1;
             window(g, od, oh, ow, [&](int64_t at) {
               const Arithmetic<Element> x = source[at];
               if (first < 0 || x > source[first] ||
                   (x != x && source[first] == source[first]))
                 first = at;
             });
             if (first >= 0)
               target[first] += gradient[from];
           });
  });
}

template <typename Element>
void averagePoolGradient(Stream &stream, Buffers buffers,
                         const Element *gradient, Element *out,
                         const PoolShape &shape) {
  launch(stream, buffers, [gradient, out, shape] {
    const bool padding = shape.countIncludePad;
    spread(out, shape,
           [=](int64_t, int64_t from, Arithmetic<Element> *target,
               const PoolGeometry &g, int64_t od, int64_t oh, int64_t ow) {
             const int64_t count = g.taps(0, od, padding) *
                                   g.taps(1, oh, padding) *
                                   g.taps(2, ow, padding);
             if (count == 0)
               return;
             const auto share =
                 gradient[from] / static_cast<Arithmetic<Element>>(count);
             window(g, od, oh, ow, [&](int64_t at) { target[at] += share; });
           });
  });
}

#define PARPLAN_POOLS(Element)                                                 \
  template void maxPool(Stream &, Buffers, const Element *, Element *,         \
                        const PoolShape &);                                    \
  template void averagePool(Stream &, Buffers, const Element *, Element *,     \
                            const PoolShape &);                                \
  template void maxPoolGradient(Stream &, Buffers, const Element *,            \
                                const Element *, Element *,                    \
                                const PoolShape &);                            \
  template void averagePoolGradient(Stream &, Buffers, const Element *,        \
                                    Element *, const PoolShape &);
PARPLAN_POOLS(float)
PARPLAN_POOLS(double)
PARPLAN_POOLS(BFloat16)
PARPLAN_POOLS(Float16)

} // namespace runtime
} // namespace parplan
