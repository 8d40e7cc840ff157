//===- training_kernels.cpp - Loss, gradient norm and optimizers ----------===//

#include "launch_kernel.h"
#include "parplan_runtime/host_kernels.h"
#include "parplan_runtime/scalar_math.h"
#include "rows.h"

#include <limits>

namespace parplan {
namespace runtime {

namespace {

/// The maximum and the sum of exp(x - maximum) in one visit: a block of
/// columns at a time stays in L1 for the second look.
template <typename Element>
Arithmetic<Element> logSumExpOf(const Element *row, int64_t classes) {
  using Value = Arithmetic<Element>;
  constexpr int64_t block = 2048;
  constexpr Value lowest = -std::numeric_limits<Value>::infinity();
  Value highest = lowest, sum = 0;
  for (int64_t start = 0; start < classes; start += block) {
    const Element *in = row + start;
    const int64_t count = classes - start < block ? classes - start : block;
    const Value next = maximum(
        highest,
        maxRow<Value>(count, lowest, [in](int64_t i) { return Value(in[i]); }));
    if (next == lowest) // exp(-inf - -inf) is not a number.
      continue;
    if (highest != next)
      sum *= exponential(Value(highest - next));
    sum += sumRow<Value>(count, [in, next](int64_t i) {
      return exponential(Value(in[i] - next));
    });
    highest = next;
  }
  return highest + logarithm(sum);
}

} // namespace

template <typename Element, typename Index>
void crossEntropy(Stream &stream, Buffers buffers, const Element *logits,
                  const Index *labels, Arithmetic<Element> *loss,
                  Arithmetic<Element> *logSumExp, int64_t rows,
                  int64_t classes) {
  using Value = Arithmetic<Element>;
  launch(stream, buffers, [=] {
    for (int64_t i = 0; i < rows; ++i) {
      const Element *row = logits + i * classes;
      const Value logSum = logSumExpOf(row, classes);
      const int64_t label = static_cast<int64_t>(labels[i]);
      const bool inside = label >= 0 && label < classes;
      loss[i] = label == ignoredLabel
                    ? Value(0)
                    : logSum - (inside ? Value(row[label]) : Value(0));
      if (logSumExp)
        logSumExp[i] = logSum;
    }
  });
}

template <typename Element>
void squareSum(Stream &stream, Buffers buffers, const Element *in, double *out,
               int64_t count) {
  host::squareSum(stream, buffers, in, out, count);
}

template <typename Element, typename Gradient>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Gradient *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count) {
  host::optimizerUpdate(stream, buffers, shape, scalars, parameter, gradient,
                        state0, state1, newParameter, newState0, newState1,
                        count);
}

#define PARPLAN_LOSS(Element)                                                  \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int64_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int32_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void squareSum(Stream &, Buffers, const Element *, double *,        \
                          int64_t);
#define PARPLAN_OPTIMIZER(Element, Gradient)                                   \
  template void optimizerUpdate(                                               \
      Stream &, Buffers, const OptimizerShape &, OptimizerScalars<Element>,    \
      const Element *, const Gradient *, const Element *, const Element *,     \
      Element *, Element *, Element *, int64_t);
PARPLAN_LOSS(float)
PARPLAN_LOSS(double)
PARPLAN_LOSS(BFloat16)
PARPLAN_LOSS(Float16)
PARPLAN_OPTIMIZER(float, float)
PARPLAN_OPTIMIZER(double, double)
PARPLAN_OPTIMIZER(float, BFloat16)
PARPLAN_OPTIMIZER(float, Float16)

} // namespace runtime
} // namespace parplan
