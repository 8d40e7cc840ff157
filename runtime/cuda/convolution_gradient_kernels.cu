//===- convolution_gradient_kernels.cu - Adjoints of convolution ----------===//
//
// Through cuDNN, with algorithms that give the same bits in every run. Own
// kernels compute what cuDNN does not: padding that differs between the sides,
// and shapes for which no algorithm fits into the workspace.
//
//===----------------------------------------------------------------------===//

#include "block.h"
#include "convolution_descriptors.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

struct Loops : Geometry {
  int64_t batch, groups, groupIn, groupOut, inPlane, outPlane, taps;

  explicit Loops(const ConvolutionShape &shape)
      : Geometry(shape), batch(shape.batch), groups(shape.groups),
        groupIn(shape.inChannels / shape.groups),
        groupOut(shape.outChannels / shape.groups),
        inPlane(int64_t(in[0]) * in[1] * in[2]),
        outPlane(int64_t(out[0]) * out[1] * out[2]),
        taps(int64_t(kernel[0]) * kernel[1] * kernel[2]) {}

  /// The output that has this input position under a tap; -1: none.
  PARPLAN_DEVICE int64_t outputOf(int d, int64_t position, int64_t tap) const {
    const int64_t start = position + pad[d] - tap * dilation[d];
    if (start < 0 || start % stride[d] != 0)
      return -1;
    return start / stride[d] < out[d] ? start / stride[d] : -1;
  }
};

/// One element of the input's gradient.
template <typename Element> struct InputGradientKernel {
  const Element *gradient, *weight;
  Element *out;
  Loops g;
  PARPLAN_DEVICE void operator()(int64_t image, int64_t channel,
                                 int64_t position) const {
    const int64_t group = channel / g.groupIn, c = channel % g.groupIn;
    const int64_t w = position % g.in[2], h = position / g.in[2] % g.in[1],
                  d = position / g.in[2] / g.in[1];
    Arithmetic<Element> sum = 0;
    for (int64_t o = group * g.groupOut; o < (group + 1) * g.groupOut; ++o) {
      const Element *factors = weight + (o * g.groupIn + c) * g.taps;
      const Element *source =
          gradient + (image * g.groups * g.groupOut + o) * g.outPlane;
      for (int64_t tap = 0; tap < g.taps; ++tap) {
        const int64_t od = g.outputOf(0, d, tap / g.kernel[2] / g.kernel[1]);
        const int64_t oh = g.outputOf(1, h, tap / g.kernel[2] % g.kernel[1]);
        const int64_t ow = g.outputOf(2, w, tap % g.kernel[2]);
        if (od >= 0 && oh >= 0 && ow >= 0)
          sum += factors[tap] * source[(od * g.out[1] + oh) * g.out[2] + ow];
      }
    }
    out[(image * g.groups * g.groupIn + channel) * g.inPlane + position] =
        Element(sum);
  }
};

/// One weight's gradient per block.
template <typename Element>
__global__ void weightGradientKernel(const Element *in, const Element *gradient,
                                     Element *out, Loops g) {
  const int64_t weights = g.groups * g.groupOut * g.groupIn * g.taps;
  for (int64_t at = blockIdx.x; at < weights; at += gridDim.x) {
    const int64_t tap = at % g.taps, c = at / g.taps % g.groupIn,
                  o = at / g.taps / g.groupIn;
    const int64_t channel = o / g.groupOut * g.groupIn + c;
    const int64_t kd = tap / g.kernel[2] / g.kernel[1],
                  kh = tap / g.kernel[2] % g.kernel[1], kw = tap % g.kernel[2];
    Arithmetic<Element> sum = 0;
    for (int64_t i = threadIdx.x; i < g.batch * g.outPlane; i += threads) {
      const int64_t image = i / g.outPlane, position = i % g.outPlane;
      const int64_t d = position / g.out[2] / g.out[1] * g.stride[0] -
                        g.pad[0] + kd * g.dilation[0];
      const int64_t h = position / g.out[2] % g.out[1] * g.stride[1] -
                        g.pad[1] + kh * g.dilation[1];
      const int64_t w =
          position % g.out[2] * g.stride[2] - g.pad[2] + kw * g.dilation[2];
      if (d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1] && w >= 0 &&
          w < g.in[2])
        sum += gradient[(image * g.groups * g.groupOut + o) * g.outPlane +
                        position] *
               in[(image * g.groups * g.groupIn + channel) * g.inPlane +
                  (d * g.in[1] + h) * g.in[2] + w];
    }
    sum = combineBlock(sum, Add());
    if (threadIdx.x == 0)
      out[at] = Element(sum);
  }
}

template <typename Element>
bool inputGradientByLibrary(Stream &stream, const Element *gradient,
                            const Element *weight, Element *out,
                            const ConvolutionShape &shape, const Loops &g,
                            Workspace workspace) {
  if (g.outPlane == 0 || g.groupOut == 0)
    return false;
  return runByLibrary<Element, cudnnConvolutionBwdDataAlgoPerf_t>(
      stream, ConvolutionKind::InputGradient, shape, g, workspace,
      [](cudnnHandle_t handle, const Descriptors &all, int most, int *count,
         cudnnConvolutionBwdDataAlgoPerf_t *found) {
        return cudnnGetConvolutionBackwardDataAlgorithm_v7(
            handle, all.weight, all.out, all.convolution, all.in, most, count,
            found);
      },
      [&](cudnnHandle_t handle, const Descriptors &all,
          cudnnConvolutionBwdDataAlgo_t algorithm) {
        const Arithmetic<Element> one = 1, none = 0;
        return cudnnConvolutionBackwardData(
            handle, &one, all.weight, weight, all.out, gradient,
            all.convolution, algorithm, workspace.data,
            static_cast<size_t>(workspace.bytes), &none, all.in, out);
      });
}

template <typename Element>
bool weightGradientByLibrary(Stream &stream, const Element *in,
                             const Element *gradient, Element *out,
                             const ConvolutionShape &shape, const Loops &g,
                             Workspace workspace) {
  if (g.batch * g.inPlane * g.outPlane == 0)
    return false;
  return runByLibrary<Element, cudnnConvolutionBwdFilterAlgoPerf_t>(
      stream, ConvolutionKind::WeightGradient, shape, g, workspace,
      [](cudnnHandle_t handle, const Descriptors &all, int most, int *count,
         cudnnConvolutionBwdFilterAlgoPerf_t *found) {
        return cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            handle, all.in, all.out, all.convolution, all.weight, most, count,
            found);
      },
      [&](cudnnHandle_t handle, const Descriptors &all,
          cudnnConvolutionBwdFilterAlgo_t algorithm) {
        const Arithmetic<Element> one = 1, none = 0;
        return cudnnConvolutionBackwardFilter(
            handle, &one, all.in, in, all.out, gradient, all.convolution,
            algorithm, workspace.data, static_cast<size_t>(workspace.bytes),
            &none, all.weight, out);
      });
}

} // namespace

template <typename Element>
void convolutionInputGradient(Stream &stream, Buffers buffers,
                              const Element *gradient, const Element *weight,
                              Element *out, const ConvolutionShape &shape,
                              Workspace workspace) {
  stream.touch(buffers);
  const Loops g(shape);
  if (shape.batch * shape.inChannels * g.inPlane == 0 ||
      inputGradientByLibrary(stream, gradient, weight, out, shape, g,
                             workspace))
    return;
  map<3>(stream, {}, {shape.batch, shape.inChannels, g.inPlane},
         InputGradientKernel<Element>{gradient, weight, out, g});
}

template <typename Element>
void convolutionWeightGradient(Stream &stream, Buffers buffers,
                               const Element *in, const Element *gradient,
                               Element *out, const ConvolutionShape &shape,
                               Workspace workspace) {
  stream.touch(buffers);
  const Loops g(shape);
  const int64_t weights = shape.outChannels * g.groupIn * g.taps;
  if (weights == 0 ||
      weightGradientByLibrary(stream, in, gradient, out, shape, g, workspace))
    return;
  weightGradientKernel<<<blocksOf(weights), threads, 0, streamOf(stream)>>>(
      in, gradient, out, g);
  detail::checkLaunch(stream);
}

#define PARPLAN_CONVOLUTION_GRADIENTS(Element)                                 \
  template void convolutionInputGradient(Stream &, Buffers, const Element *,   \
                                         const Element *, Element *,           \
                                         const ConvolutionShape &, Workspace); \
  template void convolutionWeightGradient(                                     \
      Stream &, Buffers, const Element *, const Element *, Element *,          \
      const ConvolutionShape &, Workspace);
PARPLAN_CONVOLUTION_GRADIENTS(float)
PARPLAN_CONVOLUTION_GRADIENTS(double)
PARPLAN_CONVOLUTION_GRADIENTS(BFloat16)
PARPLAN_CONVOLUTION_GRADIENTS(Float16)

} // namespace runtime
} // namespace parplan
