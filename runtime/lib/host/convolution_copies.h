//===- convolution_copies.h - Convolutions of 16-bit elements -------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_CONVOLUTION_COPIES_H
#define PARPLAN_RUNTIME_LIB_HOST_CONVOLUTION_COPIES_H

#include "parplan_runtime/narrow_floats.h"
#include "parplan_runtime/shapes.h"
#include "parplan_runtime/stream.h"

namespace parplan {
namespace runtime {

/// Where operands lie as float while an image, or a few, are computed. Its
/// size is detail::convolutionCopyBytes.
struct ConvolutionCopies {
  int64_t imageIn, imageOut, weights;
  float *in, *out, *weight, *bias, *scratch;

  ConvolutionCopies(const ConvolutionShape &shape, int64_t images, void *memory)
      : imageIn(detail::convolutionImage(shape)),
        imageOut(shape.outChannels * detail::convolutionColumns(shape)),
        weights(shape.outChannels * detail::convolutionRows(shape)),
        in(static_cast<float *>(memory)), out(after(in, images * imageIn)),
        weight(after(out, images * imageOut)), bias(after(weight, weights)),
        scratch(after(bias, shape.outChannels)) {}

private:
  static float *after(float *start, int64_t count) {
    return start + detail::roundUp(count, 16);
  }
};

template <typename Element>
void widen(const Element *in, int64_t count, float *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = in[i];
}
template <typename Element>
void narrow(const float *in, int64_t count, Element *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = Element(in[i]);
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_CONVOLUTION_COPIES_H
