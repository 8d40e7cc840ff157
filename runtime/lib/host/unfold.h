//===- unfold.h - Patches of a convolution as columns ---------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_UNFOLD_H
#define PARPLAN_RUNTIME_LIB_HOST_UNFOLD_H

#include "parplan_runtime/shapes.h"

#include <cstring>

namespace parplan {
namespace runtime {

/// Three spatial dimensions, the missing ones of size 1 in front.
struct Geometry {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1},
          stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  explicit Geometry(const ConvolutionShape &shape) {
    const int32_t skip = 3 - shape.spatialRank;
    for (int32_t d = 0; d < shape.spatialRank; ++d) {
      in[skip + d] = shape.in[d];
      out[skip + d] = shape.out[d];
      kernel[skip + d] = shape.kernel[d];
      stride[skip + d] = shape.stride[d];
      dilation[skip + d] = shape.dilation[d];
      pad[skip + d] = shape.padLow[d];
    }
  }
};

/// The output positions [low, high) along one dimension whose tap lies in the
/// input.
inline void validRange(int64_t in, int64_t out, int64_t stride, int64_t offset,
                       int64_t &low, int64_t &high) {
  // 0 <= i * stride + offset < in
  low = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  high = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  if (high > out)
    high = out;
  if (low > high)
    low = high;
}

/// A piece of a line of outputs under one tap: columns [first, last), of which
/// [from, to) lie in the input. Output w is element `column + w` of the row of
/// (channel, tap) and element `at + w * stride` of the input.
struct Line {
  int64_t row, column, at;
  int64_t first, from, to, last;
};

/// Calls visit(line) for the output positions [begin, end) of `channels`
/// channels, row by row.
template <typename Visit>
inline void forEachLine(const Geometry &g, int64_t channels, int64_t begin,
                        int64_t end, Visit visit) {
  int64_t row = 0;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t plane = c * g.in[0] * g.in[1] * g.in[2];
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw, ++row) {
          const int64_t shift = kw * g.dilation[2] - g.pad[2];
          int64_t low, high;
          validRange(g.in[2], g.out[2], g.stride[2], shift, low, high);
          for (int64_t p = begin; p < end;) {
            // One line of outputs, or the part of it within the chunk.
            const int64_t line = p / g.out[2], first = p % g.out[2];
            const int64_t last =
                first + (end - p) < g.out[2] ? first + (end - p) : g.out[2];
            const int64_t d =
                line / g.out[1] * g.stride[0] - g.pad[0] + kd * g.dilation[0];
            const int64_t h =
                line % g.out[1] * g.stride[1] - g.pad[1] + kh * g.dilation[1];
            const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1];
            const int64_t from = low < first            ? first
                                 : low < last && inside ? low
                                                        : last;
            const int64_t to = !inside || high < from ? from
                               : high > last          ? last
                                                      : high;
            visit(Line{row, p - begin - first,
                       plane + (d * g.in[1] + h) * g.in[2] + shift, first, from,
                       to, last});
            p += last - first;
          }
        }
  }
}

/// columns[(c, tap)][p - begin] for output positions p of [begin, end); rows
/// are `rowStride` apart.
template <typename Element>
void unfold(const Element *in, const Geometry &g, int64_t channels,
            int64_t begin, int64_t end, Element *columns, int64_t rowStride) {
  const int64_t stride = g.stride[2];
  forEachLine(g, channels, begin, end, [=](const Line &line) {
    Element *target = columns + line.row * rowStride + line.column;
    for (int64_t w = line.first; w < line.from; ++w)
      target[w] = Element(0);
    const Element *source = in + line.at;
    if (stride == 1)
      std::memcpy(target + line.from, source + line.from,
                  static_cast<size_t>(line.to - line.from) * sizeof(Element));
    else
      for (int64_t w = line.from; w < line.to; ++w)
        target[w] = source[w * stride];
    for (int64_t w = line.to; w < line.last; ++w)
      target[w] = Element(0);
  });
}

/// The adjoint of `unfold`: adds the columns to the input.
template <typename Element>
void fold(const Element *columns, int64_t rowStride, const Geometry &g,
          int64_t channels, int64_t begin, int64_t end, Element *in) {
  const int64_t stride = g.stride[2];
  forEachLine(g, channels, begin, end, [=](const Line &line) {
    const Element *source = columns + line.row * rowStride + line.column;
    Element *target = in + line.at;
    if (stride == 1)
      for (int64_t w = line.from; w < line.to; ++w)
        target[w] += source[w];
    else
      for (int64_t w = line.from; w < line.to; ++w)
        target[w * stride] += source[w];
  });
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_UNFOLD_H
