//===- convolution_kernel.cpp - Convolution as a matrix product -----------===//
//
// Patches are unfolded into the workspace, a chunk of output positions at a
// time: [channel, tap][position], so that the product writes the output rows
// in place. Convolutions of 1x1 need no unfolding; those with few channels per
// group are computed directly.
//
//===----------------------------------------------------------------------===//

#include "failure.h"
#include "launch_kernel.h"
#include "product.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

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
void validRange(int64_t in, int64_t out, int64_t stride, int64_t offset,
                int64_t &low, int64_t &high) {
  // 0 <= i * stride + offset < in
  low = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  high = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  if (high > out)
    high = out;
  if (low > high)
    low = high;
}

/// columns[(c, tap)][p - begin] for output positions p of [begin, end).
template <typename Element>
void unfold(const Element *in, const Geometry &g, int64_t channels,
            int64_t begin, int64_t end, Element *columns) {
  const int64_t width = end - begin;
  Element *row = columns;
  for (int64_t c = 0; c < channels; ++c) {
    const Element *plane = in + c * g.in[0] * g.in[1] * g.in[2];
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw, row += width) {
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
            Element *target = row + (p - begin) - first;
            if (d < 0 || d >= g.in[0] || h < 0 || h >= g.in[1]) {
              for (int64_t w = first; w < last; ++w)
                target[w] = Element(0);
            } else {
              const Element *source =
                  plane + (d * g.in[1] + h) * g.in[2] + shift;
              const int64_t from = low < first  ? first
                                   : low < last ? low
                                                : last;
              const int64_t to = high > last ? last : high > from ? high : from;
              for (int64_t w = first; w < from; ++w)
                target[w] = Element(0);
              if (g.stride[2] == 1)
                std::memcpy(target + from, source + from,
                            static_cast<size_t>(to - from) * sizeof(Element));
              else
                for (int64_t w = from; w < to; ++w)
                  target[w] = source[w * g.stride[2]];
              for (int64_t w = to; w < last; ++w)
                target[w] = Element(0);
            }
            p += last - first;
          }
        }
  }
}

/// One output channel from the channels of its group, line by line.
template <typename Element>
void direct(const Element *in, const Element *weight, Element *out,
            const Geometry &g, int64_t channels) {
  const int64_t inPlane = g.in[0] * g.in[1] * g.in[2];
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const Element factor = *weight++;
          const int64_t shift = kw * g.dilation[2] - g.pad[2];
          int64_t low, high;
          validRange(g.in[2], g.out[2], g.stride[2], shift, low, high);
          for (int64_t od = 0; od < g.out[0]; ++od)
            for (int64_t oh = 0; oh < g.out[1]; ++oh) {
              const int64_t d =
                  od * g.stride[0] - g.pad[0] + kd * g.dilation[0];
              const int64_t h =
                  oh * g.stride[1] - g.pad[1] + kh * g.dilation[1];
              if (d < 0 || d >= g.in[0] || h < 0 || h >= g.in[1])
                continue;
              const Element *source =
                  in + c * inPlane + (d * g.in[1] + h) * g.in[2] + shift;
              Element *target = out + (od * g.out[1] + oh) * g.out[2];
              if (g.stride[2] == 1)
                for (int64_t w = low; w < high; ++w)
                  target[w] += factor * source[w];
              else
                for (int64_t w = low; w < high; ++w)
                  target[w] += factor * source[w * g.stride[2]];
            }
        }
}

template <typename Element>
void convolve(const Element *in, const Element *weight, const Element *bias,
              Element *out, const ConvolutionShape &shape, Element *columns) {
  const Geometry g(shape);
  const int64_t inChannels = shape.inChannels / shape.groups;
  const int64_t outChannels = shape.outChannels / shape.groups;
  const int64_t inPlane = g.in[0] * g.in[1] * g.in[2];
  const int64_t outPlane = g.out[0] * g.out[1] * g.out[2];
  const int64_t rows = detail::convolutionRows(shape);
  const bool isDirect = detail::convolutionIsDirect(shape);
  const bool isProduct = detail::convolutionIsProduct(shape);
  const int64_t chunk = isProduct ? outPlane : detail::convolutionChunk(shape);
  for (int64_t image = 0; image < shape.batch; ++image)
    for (int64_t group = 0; group < shape.groups; ++group) {
      const Element *source =
          in + (image * shape.inChannels + group * inChannels) * inPlane;
      const Element *factors = weight + group * outChannels * rows;
      Element *target =
          out + (image * shape.outChannels + group * outChannels) * outPlane;
      // The bias first; products are added to it.
      for (int64_t c = 0; c < outChannels; ++c) {
        const Element value = bias ? bias[group * outChannels + c] : Element(0);
        if (bias || isDirect)
          for (int64_t p = 0; p < outPlane; ++p)
            target[c * outPlane + p] = value;
        if (isDirect)
          direct(source, factors + c * rows, target + c * outPlane, g,
                 inChannels);
      }
      if (isDirect)
        continue;
      for (int64_t begin = 0; begin < outPlane; begin += chunk) {
        const int64_t end = begin + chunk < outPlane ? begin + chunk : outPlane;
        const Element *matrix = source;
        int64_t stride = outPlane;
        if (!isProduct) {
          unfold(source, g, inChannels, begin, end, columns);
          matrix = columns;
          stride = end - begin;
        }
        product<Element>(outChannels, end - begin, rows, factors, rows, 1,
                         matrix, stride, 1, target + begin, outPlane, 1,
                         bias != nullptr);
      }
    }
}

} // namespace

template <typename Element>
void convolution(Stream &stream, Buffers buffers, const Element *in,
                 const Element *weight, const Element *bias, Element *out,
                 const ConvolutionShape &shape, Workspace workspace) {
  if (workspace.bytes < convolutionWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of a convolution is too small");
  auto *columns = static_cast<Element *>(workspace.data);
  launch(stream, buffers, [in, weight, bias, out, shape, columns] {
    convolve(in, weight, bias, out, shape, columns);
  });
}

template void convolution(Stream &, Buffers, const float *, const float *,
                          const float *, float *, const ConvolutionShape &,
                          Workspace);
template void convolution(Stream &, Buffers, const double *, const double *,
                          const double *, double *, const ConvolutionShape &,
                          Workspace);

} // namespace runtime
} // namespace parplan
