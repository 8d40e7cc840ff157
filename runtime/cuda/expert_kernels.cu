//===- expert_kernels.cu - Tokens to experts and back on a GPU ------------===//
//
// One thread per element, a block per inner product. Choices come from data:
// those that are no expert of this rank are skipped.
//
//===----------------------------------------------------------------------===//

#include "block.h"
#include "cuda_rank.h"
#include "parplan_runtime/expert_kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/narrow_floats.h"

namespace parplan {
namespace runtime {

namespace {

template <typename Element, typename Index> struct Routing {
  const Index *chosen;
  const Element *weights;
  const int64_t *first;
  ExpertShape shape;

  PARPLAN_DEVICE int64_t start() const { return first ? *first : 0; }
  /// The expert of a choice, counted in this rank's; -1 for those of others.
  PARPLAN_DEVICE int64_t expertOf(int64_t choice) const {
    const int64_t e = static_cast<int64_t>(chosen[choice]) - start();
    return e >= 0 && e < shape.experts() ? e : -1;
  }
  /// The row of a choice of token `t`; -1 for those of others.
  PARPLAN_DEVICE int64_t rowOf(int64_t t, int64_t choice) const {
    return shape.findRow(chosen + t * shape.choices, start(), chosen[choice]);
  }
  PARPLAN_DEVICE Arithmetic<Element> weightOf(int64_t choice) const {
    return weights ? Arithmetic<Element>(weights[choice])
                   : Arithmetic<Element>(1);
  }
};

template <typename Element, typename Index> struct DispatchKernel {
  Routing<Element, Index> routing;
  const Element *tokens;
  Element *out;
  PARPLAN_DEVICE void operator()(int64_t row, int64_t t, int64_t i) const {
    const ExpertShape &shape = routing.shape;
    const int64_t from = t * shape.width + i;
    const int64_t e =
        shape.groups.findExpert(routing.chosen + t * shape.choices,
                                shape.choices, routing.start(), row);
    Arithmetic<Element> sum = 0;
    for (int64_t j = t * shape.choices; e >= 0 && j < (t + 1) * shape.choices;
         ++j)
      if (routing.expertOf(j) == e)
        sum += routing.weightOf(j) * Arithmetic<Element>(tokens[from]);
    out[row * shape.tokens * shape.width + from] = Element(sum);
  }
};

template <typename Element, typename Index> struct CombineKernel {
  Routing<Element, Index> routing;
  const Element *values;
  Element *out;
  PARPLAN_DEVICE void operator()(int64_t t, int64_t i) const {
    const ExpertShape &shape = routing.shape;
    Arithmetic<Element> sum = 0;
    for (int64_t j = t * shape.choices; j < (t + 1) * shape.choices; ++j) {
      const int64_t row = routing.rowOf(t, j);
      if (row >= 0)
        sum += routing.weightOf(j) *
               Arithmetic<Element>(
                   values[(row * shape.tokens + t) * shape.width + i]);
    }
    out[t * shape.width + i] = Element(sum);
  }
};

template <typename Element, typename Index>
__global__ void weightGradientKernel(Routing<Element, Index> routing,
                                     const Element *values,
                                     const Element *gradient, Element *out) {
  const ExpertShape &shape = routing.shape;
  for (int64_t choice = blockIdx.x; choice < shape.tokens * shape.choices;
       choice += gridDim.x) {
    const int64_t t = choice / shape.choices, row = routing.rowOf(t, choice);
    Arithmetic<Element> sum = 0;
    for (int64_t i = threadIdx.x; row >= 0 && i < shape.width; i += threads)
      sum += Arithmetic<Element>(
                 values[(row * shape.tokens + t) * shape.width + i]) *
             Arithmetic<Element>(gradient[t * shape.width + i]);
    sum = combineBlock(sum, Add());
    if (threadIdx.x == 0)
      out[choice] = Element(sum);
  }
}

} // namespace

template <typename Element, typename Index>
void moeDispatch(Stream &stream, Buffers buffers, const Element *tokens,
                 const Index *chosen, const Element *weights,
                 const int64_t *first, Element *out, const ExpertShape &shape) {
  map<3>(stream, buffers, {shape.rows, shape.tokens, shape.width},
         DispatchKernel<Element, Index>{
             {chosen, weights, first, shape}, tokens, out});
}

template <typename Element, typename Index>
void moeCombine(Stream &stream, Buffers buffers, const Element *values,
                const Index *chosen, const Element *weights,
                const int64_t *first, Element *out, const ExpertShape &shape) {
  map<2>(stream, buffers, {shape.tokens, shape.width},
         CombineKernel<Element, Index>{
             {chosen, weights, first, shape}, values, out});
}

template <typename Element, typename Index>
void moeWeightGradient(Stream &stream, Buffers buffers, const Element *values,
                       const Element *gradient, const Index *chosen,
                       const int64_t *first, Element *out,
                       const ExpertShape &shape) {
  stream.touch(buffers);
  const int64_t choices = shape.tokens * shape.choices;
  if (choices == 0)
    return;
  weightGradientKernel<<<blocksOf(choices), threads, 0, streamOf(stream)>>>(
      Routing<Element, Index>{chosen, nullptr, first, shape}, values, gradient,
      out);
  detail::checkLaunch(stream);
}

#define PARPLAN_EXPERTS(Element, Index)                                        \
  template void moeDispatch(Stream &, Buffers, const Element *, const Index *, \
                            const Element *, const int64_t *, Element *,       \
                            const ExpertShape &);                              \
  template void moeCombine(Stream &, Buffers, const Element *, const Index *,  \
                           const Element *, const int64_t *, Element *,        \
                           const ExpertShape &);                               \
  template void moeWeightGradient(                                             \
      Stream &, Buffers, const Element *, const Element *, const Index *,      \
      const int64_t *, Element *, const ExpertShape &);
#define PARPLAN_EXPERTS_OF(Element)                                            \
  PARPLAN_EXPERTS(Element, int64_t)                                            \
  PARPLAN_EXPERTS(Element, int32_t)
PARPLAN_EXPERTS_OF(float)
PARPLAN_EXPERTS_OF(double)
PARPLAN_EXPERTS_OF(BFloat16)
PARPLAN_EXPERTS_OF(Float16)

} // namespace runtime
} // namespace parplan
