//===- expert_kernels.cu - Tokens to experts and back on a GPU ------------===//
//
// A block for each token, or inner product, which finds rows in the choices
// once. Choices come from data: those that are no expert of this rank are
// skipped.
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

  using Sum = Arithmetic<Element>;

  PARPLAN_DEVICE int64_t start() const { return first ? *first : 0; }
  /// The row of choice `j` of token `t`; -1 for experts of other ranks.
  PARPLAN_DEVICE int64_t rowOf(int64_t t, int64_t j) const {
    const Index *own = chosen + t * shape.choices;
    return shape.findRow(own, start(), own[j]);
  }
  /// What choice `j` of token `t` counts for in sums.
  PARPLAN_DEVICE Sum weightOf(int64_t t, int64_t j) const {
    return weights ? Sum(weights[t * shape.choices + j])
                   : Sum(isNewExpert(chosen + t * shape.choices, j));
  }
  /// The expert of a row of token `t`; -1: there is none.
  PARPLAN_DEVICE int64_t expertOf(int64_t t, int64_t row) const {
    return shape.groups.findExpert(chosen + t * shape.choices, shape.choices,
                                   start(), row);
  }
  /// What a token gives to an expert of the rank.
  PARPLAN_DEVICE Sum weightFor(int64_t t, int64_t expert) const {
    const Index *own = chosen + t * shape.choices;
    Sum sum = 0;
    for (int64_t j = 0; j < shape.choices; ++j)
      if (static_cast<int64_t>(own[j]) - start() == expert)
        sum += weightOf(t, j);
    return sum;
  }
};

__device__ int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// A thread for each row of a token, then for each element of these.
template <typename Element, typename Index>
__global__ void dispatchKernel(Routing<Element, Index> routing,
                               const Element *tokens, Element *out) {
  using Sum = Arithmetic<Element>;
  __shared__ Sum weights[threads];
  __shared__ bool isUsed[threads];
  const ExpertShape &shape = routing.shape;
  const int64_t width = shape.width;
  for (int64_t t = blockIdx.x; t < shape.tokens; t += gridDim.x)
    for (int64_t begin = 0; begin < shape.rows; begin += threads) {
      const int64_t part = least(shape.rows - begin, threads);
      __syncthreads(); // The last ones may still be read.
      if (threadIdx.x < part) {
        const int64_t expert = routing.expertOf(t, begin + threadIdx.x);
        isUsed[threadIdx.x] = expert >= 0;
        weights[threadIdx.x] = routing.weightFor(t, expert);
      }
      __syncthreads();
      for (int64_t i = threadIdx.x; i < part * width; i += threads) {
        const int64_t row = i / width, column = i % width;
        out[((begin + row) * shape.tokens + t) * width + column] =
            isUsed[row]
                ? Element(weights[row] * Sum(tokens[t * width + column]))
                : Element(0.0f);
      }
    }
}

/// A thread for each choice of a token, then for each column of its sum. Sums
/// of more choices than there are threads are rounded in between.
template <typename Element, typename Index>
__global__ void combineKernel(Routing<Element, Index> routing,
                              const Element *values, Element *out) {
  using Sum = Arithmetic<Element>;
  __shared__ int64_t rows[threads];
  __shared__ Sum weights[threads];
  const ExpertShape &shape = routing.shape;
  for (int64_t t = blockIdx.x; t < shape.tokens; t += gridDim.x)
    for (int64_t begin = 0; begin == 0 || begin < shape.choices;
         begin += threads) {
      const int64_t part = least(shape.choices - begin, threads);
      __syncthreads(); // The last ones may still be read.
      if (threadIdx.x < part) {
        const int64_t choice = begin + threadIdx.x;
        rows[threadIdx.x] = routing.rowOf(t, choice);
        weights[threadIdx.x] = routing.weightOf(t, choice);
      }
      __syncthreads();
      for (int64_t i = threadIdx.x; i < shape.width; i += threads) {
        Element &to = out[t * shape.width + i];
        Sum sum = begin == 0 ? Sum(0) : Sum(to);
        for (int64_t j = 0; j < part; ++j)
          if (rows[j] >= 0)
            sum += weights[j] *
                   Sum(values[(rows[j] * shape.tokens + t) * shape.width + i]);
        to = Element(sum);
      }
    }
}

template <typename Element, typename Index>
__global__ void weightGradientKernel(Routing<Element, Index> routing,
                                     const Element *values,
                                     const Element *gradient, Element *out) {
  const ExpertShape &shape = routing.shape;
  for (int64_t choice = blockIdx.x; choice < shape.tokens * shape.choices;
       choice += gridDim.x) {
    const int64_t t = choice / shape.choices;
    __shared__ int64_t row;
    if (threadIdx.x == 0)
      row = routing.rowOf(t, choice % shape.choices);
    __syncthreads();
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
  stream.touch(buffers);
  if (shape.tokens == 0 || shape.rows == 0)
    return;
  dispatchKernel<<<blocksOf(shape.tokens), threads, 0, streamOf(stream)>>>(
      Routing<Element, Index>{chosen, weights, first, shape}, tokens, out);
  detail::checkLaunch(stream);
}

template <typename Element, typename Index>
void moeCombine(Stream &stream, Buffers buffers, const Element *values,
                const Index *chosen, const Element *weights,
                const int64_t *first, Element *out, const ExpertShape &shape) {
  stream.touch(buffers);
  if (shape.tokens == 0)
    return;
  combineKernel<<<blocksOf(shape.tokens), threads, 0, streamOf(stream)>>>(
      Routing<Element, Index>{chosen, weights, first, shape}, values, out);
  detail::checkLaunch(stream);
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
