//===- convolution_kernel.cpp - Convolution as a matrix product -----------===//
//
// Patches are unfolded into the workspace, a chunk of output positions at a
// time: [channel, tap][position], so that the product writes the output rows
// in place. Convolutions of 1x1 need no unfolding; those with few channels per
// group are computed directly.
//
//===----------------------------------------------------------------------===//

#include "convolution_copies.h"
#include "failure.h"
#include "launch_kernel.h"
#include "product.h"
#include "unfold.h"

namespace parplan {
namespace runtime {

namespace {

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
          unfold(source, g, inChannels, begin, end, columns, end - begin);
          matrix = columns;
          stride = end - begin;
        }
        product<Element>(outChannels, end - begin, rows, factors, rows, 1,
                         matrix, stride, 1, target + begin, outPlane, 1,
                         bias != nullptr);
      }
    }
}

/// An image at a time, as float.
template <typename Element>
void convolveNarrow(const Element *in, const Element *weight,
                    const Element *bias, Element *out,
                    const ConvolutionShape &shape, void *memory) {
  const ConvolutionCopies copies(shape, 1, memory);
  ConvolutionShape one = shape;
  one.batch = 1;
  widen(weight, copies.weights, copies.weight);
  if (bias)
    widen(bias, shape.outChannels, copies.bias);
  for (int64_t image = 0; image < shape.batch; ++image) {
    widen(in + image * copies.imageIn, copies.imageIn, copies.in);
    convolve<float>(copies.in, copies.weight, bias ? copies.bias : nullptr,
                    copies.out, one, copies.scratch);
    narrow(copies.out, copies.imageOut, out + image * copies.imageOut);
  }
}

} // namespace

template <typename Element>
void convolution(Stream &stream, Buffers buffers, const Element *in,
                 const Element *weight, const Element *bias, Element *out,
                 const ConvolutionShape &shape, Workspace workspace) {
  if (workspace.bytes < convolutionWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of a convolution is too small");
  void *memory = workspace.data;
  launch(stream, buffers, [in, weight, bias, out, shape, memory] {
    if constexpr (isNarrow<Element>)
      convolveNarrow(in, weight, bias, out, shape, memory);
    else
      convolve(in, weight, bias, out, shape, static_cast<Element *>(memory));
  });
}

#define PARPLAN_CONVOLUTION(Element)                                           \
  template void convolution(Stream &, Buffers, const Element *,                \
                            const Element *, const Element *, Element *,       \
                            const ConvolutionShape &, Workspace);
PARPLAN_CONVOLUTION(float)
PARPLAN_CONVOLUTION(double)
PARPLAN_CONVOLUTION(BFloat16)
PARPLAN_CONVOLUTION(Float16)

} // namespace runtime
} // namespace parplan
