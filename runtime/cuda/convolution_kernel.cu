//===- convolution_kernel.cu - Convolution through cuDNN ------------------===//
//
// cuDNN pads both sides alike; a convolution that does not is computed by an
// own kernel, as is one for which cuDNN has no algorithm within the workspace.
// Single precision is computed as such, without TF32.
//
//===----------------------------------------------------------------------===//

#include "convolution_descriptors.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

template <typename Element> struct DirectKernel {
  const Element *in, *weight, *bias;
  Element *out;
  Geometry g;
  int64_t inChannels, outChannels, groups;
  PARPLAN_DEVICE void operator()(int64_t image, int64_t channel,
                                 int64_t position) const {
    const int64_t groupIn = inChannels / groups;
    const int64_t first = channel / (outChannels / groups) * groupIn;
    const int64_t ow = position % g.out[2], oh = position / g.out[2] % g.out[1],
                  od = position / g.out[2] / g.out[1];
    const int64_t plane = int64_t(g.in[0]) * g.in[1] * g.in[2];
    const Element *factors =
        weight + channel * groupIn * g.kernel[0] * g.kernel[1] * g.kernel[2];
    Arithmetic<Element> sum = 0;
    if (bias)
      sum = bias[channel];
    for (int64_t c = 0; c < groupIn; ++c) {
      const Element *source = in + (image * inChannels + first + c) * plane;
      for (int kd = 0; kd < g.kernel[0]; ++kd)
        for (int kh = 0; kh < g.kernel[1]; ++kh)
          for (int kw = 0; kw < g.kernel[2]; ++kw) {
            const Arithmetic<Element> factor = *factors++;
            const int64_t d =
                od * g.stride[0] - g.pad[0] + int64_t(kd) * g.dilation[0];
            const int64_t h =
                oh * g.stride[1] - g.pad[1] + int64_t(kh) * g.dilation[1];
            const int64_t w =
                ow * g.stride[2] - g.pad[2] + int64_t(kw) * g.dilation[2];
            if (d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1] && w >= 0 &&
                w < g.in[2])
              sum += factor * source[(d * g.in[1] + h) * g.in[2] + w];
          }
    }
    out[((image * outChannels + channel) * g.out[0] + od) * g.out[1] *
            g.out[2] +
        oh * g.out[2] + ow] = Element(sum);
  }
};

template <typename Element> struct BiasKernel {
  const Element *bias;
  Element *out;
  int64_t channels, plane;
  PARPLAN_DEVICE void operator()(int64_t image, int64_t channel,
                                 int64_t position) const {
    Element &target = out[(image * channels + channel) * plane + position];
    target = Element(target + bias[channel]);
  }
};

} // namespace

template <typename Element>
void convolution(Stream &stream, Buffers buffers, const Element *in,
                 const Element *weight, const Element *bias, Element *out,
                 const ConvolutionShape &shape, Workspace workspace) {
  stream.touch(buffers);
  const Geometry g(shape);
  const int64_t plane = int64_t(g.out[0]) * g.out[1] * g.out[2];
  if (shape.batch * shape.outChannels * plane == 0)
    return;
  const bool isDone =
      shape.inChannels > 0 &&
      runByLibrary<Element, cudnnConvolutionFwdAlgoPerf_t>(
          stream, ConvolutionKind::Forward, shape, g, workspace,
          [](cudnnHandle_t handle, const Descriptors &all, int most, int *count,
             cudnnConvolutionFwdAlgoPerf_t *found) {
            return cudnnGetConvolutionForwardAlgorithm_v7(
                handle, all.in, all.weight, all.convolution, all.out, most,
                count, found);
          },
          [&](cudnnHandle_t handle, const Descriptors &all,
              cudnnConvolutionFwdAlgo_t algorithm) {
            const Arithmetic<Element> one = 1, none = 0;
            return cudnnConvolutionForward(
                handle, &one, all.in, in, all.weight, weight, all.convolution,
                algorithm, workspace.data, static_cast<size_t>(workspace.bytes),
                &none, all.out, out);
          });
  if (isDone) {
    if (bias)
      map<3>(stream, {}, {shape.batch, shape.outChannels, plane},
             BiasKernel<Element>{bias, out, shape.outChannels, plane});
    return;
  }
  map<3>(stream, {}, {shape.batch, shape.outChannels, plane},
         DirectKernel<Element>{in, weight, bias, out, g, shape.inChannels,
                               shape.outChannels, shape.groups});
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
