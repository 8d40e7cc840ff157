//===- training_kernels.cpp - Loss, gradient norm and optimizers ----------===//

#include "launch_kernel.h"
#include "optimizer_math.h"
#include "rows.h"

#include <cstring>
#include <limits>

namespace parplan {
namespace runtime {

namespace {

template <typename Element, typename Gradient> struct OptimizerTask {
  OptimizerShape shape;
  OptimizerScalars<Element> scalars;
  const Element *parameter;
  const Gradient *gradient;
  const Element *state0, *state1;
  Element *newParameter, *newState0, *newState1;
  int64_t count;

  void operator()() const {
    if (scalars.skip && *scalars.skip) {
      keep(parameter, newParameter);
      keep(state0, newState0);
      keep(state1, newState1);
      return;
    }
    const OptimizerStep<Element> step(shape, scalars);
    switch (shape.kind) {
    case OptimizerKind::Sgd:
      return sweep<OptimizerKind::Sgd>(step);
    case OptimizerKind::Momentum:
      return sweep<OptimizerKind::Momentum>(step);
    case OptimizerKind::Adam:
      return sweep<OptimizerKind::Adam>(step);
    case OptimizerKind::AdamW:
      return sweep<OptimizerKind::AdamW>(step);
    }
  }

private:
  void keep(const Element *from, Element *to) const {
    if (from && to && from != to)
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
  }
  /// One fused sweep; old and new may be the same arrays, element by element.
  template <OptimizerKind kind>
  void sweep(const OptimizerStep<Element> given) const {
    const OptimizerStep<Element> step = given;
    const Element *p = parameter, *s0 = state0, *s1 = state1;
    const Gradient *g = gradient;
    Element *newP = newParameter, *new0 = newState0, *new1 = newState1;
    const int64_t end = count;
    PARPLAN_IGNORE_DEPENDENCES
    for (int64_t i = 0; i < end; ++i) {
      Element value = p[i], first = 0, second = 0;
      if constexpr (kind != OptimizerKind::Sgd)
        first = s0[i];
      if constexpr (kind >= OptimizerKind::Adam)
        second = s1[i];
      step.template apply<kind>(value, g[i], first, second);
      newP[i] = value;
      if constexpr (kind != OptimizerKind::Sgd)
        new0[i] = first;
      if constexpr (kind >= OptimizerKind::Adam)
        new1[i] = second;
    }
  }
};

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
void squareSum(Stream &stream, Buffers buffers, const Element *in,
               Arithmetic<Element> *out, int64_t count) {
  launch(stream, buffers, [=] {
    *out =
        static_cast<Arithmetic<Element>>(sumRow<double>(count, [in](int64_t i) {
          const double x = static_cast<double>(in[i]);
          return x * x;
        }));
  });
}

template <typename Element, typename Gradient>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Gradient *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count) {
  launch(stream, buffers,
         OptimizerTask<Element, Gradient>{shape, scalars, parameter, gradient,
                                          state0, state1, newParameter,
                                          newState0, newState1, count});
}

#define PARPLAN_LOSS(Element)                                                  \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int64_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int32_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void squareSum(Stream &, Buffers, const Element *,                  \
                          Arithmetic<Element> *, int64_t);
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
