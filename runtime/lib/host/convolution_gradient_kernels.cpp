//===- convolution_gradient_kernels.cpp - Adjoints of convolution ---------===//
//
// With columns U of unfolded patches the forward product is W U. The gradient
// of the input is W^T G folded back, a chunk of positions at a time. The
// gradient of the weights is the sum of G U^T over images and chunks; small
// images are joined, so that each product adds up over enough positions to pay
// for the sweep over the weights. The order of all sums is fixed.
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

/// The sizes that both adjoints loop over.
struct Loops : Geometry {
  int64_t batch, groups, groupIn, groupOut, inPlane, outPlane, rows;

  explicit Loops(const ConvolutionShape &shape)
      : Geometry(shape), batch(shape.batch), groups(shape.groups),
        groupIn(shape.inChannels / shape.groups),
        groupOut(shape.outChannels / shape.groups),
        inPlane(in[0] * in[1] * in[2]), outPlane(out[0] * out[1] * out[2]),
        rows(detail::convolutionRows(shape)) {}
};

/// Adds what one output channel gives to the inputs of its group.
template <typename Element>
void addDirect(const Element *gradient, const Element *weight, Element *in,
               const Loops &g) {
  const int64_t stride = g.stride[2];
  forEachLine(g, g.groupIn, 0, g.outPlane, [=](const Line &line) {
    const Element factor = weight[line.row];
    const Element *source = gradient + line.column;
    Element *target = in + line.at;
    if (stride == 1)
      for (int64_t w = line.from; w < line.to; ++w)
        target[w] += factor * source[w];
    else
      for (int64_t w = line.from; w < line.to; ++w)
        target[w * stride] += factor * source[w];
  });
}

template <typename Element>
void inputGradient(const Element *gradient, const Element *weight, Element *out,
                   const ConvolutionShape &shape, Element *columns) {
  const Loops g(shape);
  const bool isProduct = detail::convolutionIsProduct(shape);
  const bool isDirect = detail::convolutionIsDirect(shape);
  const int64_t chunk = detail::convolutionChunk(shape);
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t group = 0; group < g.groups; ++group) {
      const int64_t block = image * g.groups + group;
      const Element *source = gradient + block * g.groupOut * g.outPlane;
      const Element *factors = weight + group * g.groupOut * g.rows;
      Element *target = out + block * g.groupIn * g.inPlane;
      if (isProduct && !isDirect) {
        product<Element>(g.rows, g.outPlane, g.groupOut, factors, 1, g.rows,
                         source, g.outPlane, 1, target, g.outPlane, 1, false);
        continue;
      }
      for (int64_t i = 0; i < g.groupIn * g.inPlane; ++i)
        target[i] = Element(0);
      if (isDirect) {
        for (int64_t c = 0; c < g.groupOut; ++c)
          addDirect(source + c * g.outPlane, factors + c * g.rows, target, g);
        continue;
      }
      for (int64_t begin = 0; begin < g.outPlane; begin += chunk) {
        const int64_t end = detail::minimum(begin + chunk, g.outPlane);
        const int64_t width = end - begin;
        product<Element>(g.rows, width, g.groupOut, factors, 1, g.rows,
                         source + begin, g.outPlane, 1, columns, width, 1,
                         false);
        fold(columns, width, g, g.groupIn, begin, end, target);
      }
    }
}

/// The gradients of the weights of one output channel: products of its
/// gradient with the inputs under each tap, in 16 chains that never change.
template <typename Element>
void directWeightGradient(const Element *in, const Element *gradient,
                          Element *out, const Loops &g, int64_t group,
                          int64_t channel, bool accumulate) {
  constexpr int64_t chains = 16;
  const int64_t stride = g.stride[2];
  Geometry tap = g; // One tap at a time.
  for (int d = 0; d < 3; ++d)
    tap.kernel[d] = 1;
  for (int64_t row = 0; row < g.rows; ++row) {
    const int64_t kw = row % g.kernel[2], kh = row / g.kernel[2] % g.kernel[1],
                  kd = row / g.kernel[2] / g.kernel[1] % g.kernel[0],
                  c = row / g.kernel[2] / g.kernel[1] / g.kernel[0];
    tap.pad[0] = g.pad[0] - kd * g.dilation[0];
    tap.pad[1] = g.pad[1] - kh * g.dilation[1];
    tap.pad[2] = g.pad[2] - kw * g.dilation[2];
    Element partial[chains] = {};
    for (int64_t image = 0; image < g.batch; ++image) {
      const int64_t block = image * g.groups + group;
      const Element *source = in + (block * g.groupIn + c) * g.inPlane;
      const Element *factors =
          gradient + (block * g.groupOut + channel) * g.outPlane;
      forEachLine(tap, 1, 0, g.outPlane, [&](const Line &line) {
        const Element *x = source + line.at;
        const Element *y = factors + line.column;
        int64_t w = line.from;
        if (stride == 1)
          for (; w + chains <= line.to; w += chains)
            for (int64_t j = 0; j < chains; ++j)
              partial[j] += x[w + j] * y[w + j];
        for (int64_t j = 0; w < line.to; ++w, j = (j + 1) % chains)
          partial[j] += x[w * stride] * y[w];
      });
    }
    for (int64_t half = chains / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j)
        partial[j] += partial[j + half];
    out[row] = accumulate ? out[row] + partial[0] : partial[0];
  }
}

template <typename Element>
void weightGradient(const Element *in, const Element *gradient, Element *out,
                    const ConvolutionShape &shape, Element *workspace,
                    bool accumulateAll) {
  const Loops g(shape);
  const bool isProduct = detail::convolutionIsProduct(shape);
  const bool isDirect = detail::convolutionIsDirect(shape);
  const int64_t images = detail::convolutionJoinedImages(shape);
  const int64_t chunk = detail::convolutionGradientChunk(shape);
  for (int64_t group = 0; group < g.groups; ++group) {
    Element *target = out + group * g.groupOut * g.rows;
    if (isDirect) {
      for (int64_t c = 0; c < g.groupOut; ++c)
        directWeightGradient(in, gradient, target + c * g.rows, g, group, c,
                             accumulateAll);
      continue;
    }
    bool accumulate = accumulateAll;
    const auto add = [&](int64_t width, const Element *factors,
                         int64_t factorStride, const Element *columns,
                         int64_t columnStride) {
      product<Element>(g.groupOut, g.rows, width, factors, factorStride, 1,
                       columns, 1, columnStride, target, g.rows, 1, accumulate);
      accumulate = true;
    };
    for (int64_t image = 0; image < g.batch; image += images) {
      const int64_t joined = detail::minimum(images, g.batch - image);
      const auto inputOf = [&](int64_t i) {
        return in + ((image + i) * g.groups + group) * g.groupIn * g.inPlane;
      };
      const auto gradientOf = [&](int64_t i) {
        return gradient +
               ((image + i) * g.groups + group) * g.groupOut * g.outPlane;
      };
      if (images == 1) {
        for (int64_t begin = 0; begin < g.outPlane; begin += chunk) {
          const int64_t end = detail::minimum(begin + chunk, g.outPlane);
          if (isProduct) {
            add(end - begin, gradientOf(0) + begin, g.outPlane,
                inputOf(0) + begin, g.outPlane);
            continue;
          }
          unfold(inputOf(0), g, g.groupIn, begin, end, workspace, end - begin);
          add(end - begin, gradientOf(0) + begin, g.outPlane, workspace,
              end - begin);
        }
        continue;
      }
      const int64_t width = joined * g.outPlane;
      Element *factors = workspace + g.rows * width;
      for (int64_t i = 0; i < joined; ++i) {
        unfold(inputOf(i), g, g.groupIn, 0, g.outPlane,
               workspace + i * g.outPlane, width);
        for (int64_t c = 0; c < g.groupOut; ++c)
          std::memcpy(factors + c * width + i * g.outPlane,
                      gradientOf(i) + c * g.outPlane,
                      static_cast<size_t>(g.outPlane) * sizeof(Element));
      }
      add(width, factors, width, workspace, width);
    }
    if (!accumulate)
      for (int64_t i = 0; i < g.groupOut * g.rows; ++i)
        target[i] = Element(0);
  }
}

// As float, an image or some joined images at a time.

template <typename Element>
void inputGradientNarrow(const Element *gradient, const Element *weight,
                         Element *out, const ConvolutionShape &shape,
                         void *memory) {
  const ConvolutionCopies copies(shape, 1, memory);
  ConvolutionShape one = shape;
  one.batch = 1;
  widen(weight, copies.weights, copies.weight);
  for (int64_t image = 0; image < shape.batch; ++image) {
    widen(gradient + image * copies.imageOut, copies.imageOut, copies.out);
    inputGradient<float>(copies.out, copies.weight, copies.in, one,
                         copies.scratch);
    narrow(copies.in, copies.imageIn, out + image * copies.imageIn);
  }
}

template <typename Element>
void weightGradientNarrow(const Element *in, const Element *gradient,
                          Element *out, const ConvolutionShape &shape,
                          void *memory) {
  const int64_t images = detail::convolutionJoinedImages(shape);
  const ConvolutionCopies copies(shape, images, memory);
  for (int64_t i = 0; i < copies.weights; ++i)
    copies.weight[i] = 0;
  for (int64_t image = 0; image < shape.batch; image += images) {
    ConvolutionShape some = shape;
    some.batch = detail::minimum(images, shape.batch - image);
    widen(in + image * copies.imageIn, some.batch * copies.imageIn, copies.in);
    widen(gradient + image * copies.imageOut, some.batch * copies.imageOut,
          copies.out);
    weightGradient<float>(copies.in, copies.out, copies.weight, some,
                          copies.scratch, true);
  }
  narrow(copies.weight, copies.weights, out);
}

} // namespace

template <typename Element>
void convolutionInputGradient(Stream &stream, Buffers buffers,
                              const Element *gradient, const Element *weight,
                              Element *out, const ConvolutionShape &shape,
                              Workspace workspace) {
  if (workspace.bytes <
      convolutionInputGradientWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of a convolution is too small");
  void *memory = workspace.data;
  launch(stream, buffers, [gradient, weight, out, shape, memory] {
    if constexpr (isNarrow<Element>)
      inputGradientNarrow(gradient, weight, out, shape, memory);
    else
      inputGradient(gradient, weight, out, shape,
                    static_cast<Element *>(memory));
  });
}

template <typename Element>
void convolutionWeightGradient(Stream &stream, Buffers buffers,
                               const Element *in, const Element *gradient,
                               Element *out, const ConvolutionShape &shape,
                               Workspace workspace) {
  if (workspace.bytes <
      convolutionWeightGradientWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of a convolution is too small");
  void *memory = workspace.data;
  launch(stream, buffers, [in, gradient, out, shape, memory] {
    if constexpr (isNarrow<Element>)
      weightGradientNarrow(in, gradient, out, shape, memory);
    else
      weightGradient(in, gradient, out, shape, static_cast<Element *>(memory),
                     false);
  });
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
