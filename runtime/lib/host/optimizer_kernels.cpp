//===- optimizer_kernels.cpp - Updates on the processor -------------------===//
//
// Also of CUDA programs, where parameters and states may rest on the host.
//
//===----------------------------------------------------------------------===//

#include "optimizer_math.h"
#include "parplan_runtime/host_kernels.h"
#include "rows.h"

#include <cstring>

namespace parplan {
namespace runtime {
namespace host {
namespace detail {

namespace {

/// One fused sweep; old and new may be the same arrays, element by element.
template <OptimizerKind kind, typename Element, typename Gradient>
void sweep(const OptimizerTask<Element, Gradient> &task) {
  const OptimizerStep<Element> step(task.shape, task.scalars);
  const Element *p = task.parameter, *s0 = task.state0, *s1 = task.state1;
  const Gradient *g = task.gradient;
  Element *newP = task.newParameter, *new0 = task.newState0,
          *new1 = task.newState1;
  const int64_t end = task.count;
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

template <typename Element>
void keep(const Element *from, Element *to, int64_t count) {
  if (from && to && from != to)
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
}

} // namespace

template <typename Element, typename Gradient>
void OptimizerTask<Element, Gradient>::operator()() const {
  if (scalars.skip && *scalars.skip) {
    keep(parameter, newParameter, count);
    keep(state0, newState0, count);
    keep(state1, newState1, count);
    return;
  }
  switch (shape.kind) {
  case OptimizerKind::Sgd:
    return sweep<OptimizerKind::Sgd>(*this);
  case OptimizerKind::Momentum:
    return sweep<OptimizerKind::Momentum>(*this);
  case OptimizerKind::Adam:
    return sweep<OptimizerKind::Adam>(*this);
  case OptimizerKind::AdamW:
    return sweep<OptimizerKind::AdamW>(*this);
  }
}

template <typename Element> void SquareSumTask<Element>::operator()() const {
  const Element *values = in;
  *out = sumRow<double>(count, [values](int64_t i) {
    const double x = static_cast<double>(values[i]);
    return x * x;
  });
}

template struct OptimizerTask<float, float>;
template struct OptimizerTask<double, double>;
template struct OptimizerTask<float, BFloat16>;
template struct OptimizerTask<float, Float16>;
template struct SquareSumTask<float>;
template struct SquareSumTask<double>;
template struct SquareSumTask<BFloat16>;
template struct SquareSumTask<Float16>;

} // namespace detail
} // namespace host
} // namespace runtime
} // namespace parplan
