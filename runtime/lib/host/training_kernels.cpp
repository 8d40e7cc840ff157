//===- training_kernels.cpp - Loss, gradient norm and optimizers ----------===//

#include "launch_kernel.h"
#include "optimizer_math.h"
#include "rows.h"

#include <cstring>
#include <limits>

namespace parplan {
namespace runtime {

namespace {

template <typename Element> struct OptimizerTask {
  OptimizerShape shape;
  OptimizerScalars<Element> scalars;
  const Element *parameter, *gradient, *state0, *state1;
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
    const Element *p = parameter, *g = gradient, *s0 = state0, *s1 = state1;
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
Element logSumExpOf(const Element *row, int64_t classes) {
  constexpr int64_t block = 2048;
  constexpr Element lowest = -std::numeric_limits<Element>::infinity();
  Element highest = lowest, sum = Element(0);
  for (int64_t start = 0; start < classes; start += block) {
    const Element *in = row + start;
    const int64_t count = classes - start < block ? classes - start : block;
    const Element next =
        maximum(highest, maxRow<Element>(count, lowest,
                                         [in](int64_t i) { return in[i]; }));
    if (next == lowest) // exp(-inf - -inf) is not a number.
      continue;
    if (highest != next)
      sum *= exponential(Element(highest - next));
    sum += sumRow<Element>(count, [in, next](int64_t i) {
      return exponential(Element(in[i] - next));
    });
    highest = next;
  }
  return highest + logarithm(sum);
}

} // namespace

template <typename Element, typename Index>
void crossEntropy(Stream &stream, Buffers buffers, const Element *logits,
                  const Index *labels, Element *loss, Element *logSumExp,
                  int64_t rows, int64_t classes) {
  launch(stream, buffers, [=] {
    for (int64_t i = 0; i < rows; ++i) {
      const Element *row = logits + i * classes;
      const Element logSum = logSumExpOf(row, classes);
      const int64_t label = static_cast<int64_t>(labels[i]);
      const bool inside = label >= 0 && label < classes;
      loss[i] = label == ignoredLabel
                    ? Element(0)
                    : logSum - (inside ? row[label] : Element(0));
      if (logSumExp)
        logSumExp[i] = logSum;
    }
  });
}

template <typename Element>
void squareSum(Stream &stream, Buffers buffers, const Element *in, Element *out,
               int64_t count) {
  launch(stream, buffers, [=] {
    *out = static_cast<Element>(sumRow<double>(count, [in](int64_t i) {
      const double x = static_cast<double>(in[i]);
      return x * x;
    }));
  });
}

template <typename Element>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Element *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count) {
  launch(stream, buffers,
         OptimizerTask<Element>{shape, scalars, parameter, gradient, state0,
                                state1, newParameter, newState0, newState1,
                                count});
}

#define PARPLAN_TRAINING(Element)                                              \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int64_t *, Element *, Element *, int64_t,   \
                             int64_t);                                         \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int32_t *, Element *, Element *, int64_t,   \
                             int64_t);                                         \
  template void squareSum(Stream &, Buffers, const Element *, Element *,       \
                          int64_t);                                            \
  template void optimizerUpdate(                                               \
      Stream &, Buffers, const OptimizerShape &, OptimizerScalars<Element>,    \
      const Element *, const Element *, const Element *, const Element *,      \
      Element *, Element *, Element *, int64_t);
PARPLAN_TRAINING(float)
PARPLAN_TRAINING(double)

} // namespace runtime
} // namespace parplan
