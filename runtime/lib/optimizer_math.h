//===- optimizer_math.h - Optimizers for one element ----------------------===//
//
// PyTorch's arithmetic in its order (single tensors, not capturable), for the
// kernels of both devices.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_OPTIMIZER_MATH_H
#define PARPLAN_RUNTIME_LIB_OPTIMIZER_MATH_H

#include "parplan_runtime/kernels.h"
#include "parplan_runtime/scalar_math.h"

namespace parplan {
namespace runtime {

/// The numbers of one step. PyTorch computes with numbers of a step in double
/// and rounds them where they meet a tensor.
template <typename Element> struct OptimizerStep {
  Element gradientScale, weightDecay, learningRate, momentum, keep;
  Element firstFactor, secondKeep, secondFactor, stepSize, correction, epsilon;

  PARPLAN_DEVICE OptimizerStep(const OptimizerShape &shape,
                               const OptimizerScalars<Element> &scalars)
      : gradientScale(read(scalars.gradientScale)),
        weightDecay(static_cast<Element>(shape.weightDecay)),
        learningRate(read(scalars.learningRate)),
        momentum(static_cast<Element>(shape.momentum)),
        keep(static_cast<Element>(1.0 - static_cast<double>(learningRate) *
                                            shape.weightDecay)),
        firstFactor(static_cast<Element>(1.0 - shape.beta1)),
        secondKeep(static_cast<Element>(shape.beta2)),
        secondFactor(static_cast<Element>(1.0 - shape.beta2)),
        stepSize(read(scalars.stepSize)),
        correction(read(scalars.biasCorrection2Sqrt)),
        epsilon(static_cast<Element>(shape.epsilon)) {}

  /// Replaces the parameter and the states that `kind` has.
  template <OptimizerKind kind>
  PARPLAN_DEVICE void apply(Element &parameter, Element gradient,
                            Element &first, Element &second) const {
    gradient = gradient * gradientScale;
    if constexpr (kind == OptimizerKind::AdamW)
      parameter = parameter * keep;
    else
      gradient = gradient + weightDecay * parameter;
    if constexpr (kind == OptimizerKind::Sgd) {
      parameter = parameter - learningRate * gradient;
    } else if constexpr (kind == OptimizerKind::Momentum) {
      first = first * momentum + gradient;
      parameter = parameter - learningRate * first;
    } else {
      first = first + firstFactor * (gradient - first);
      second = second * secondKeep + secondFactor * gradient * gradient;
      const Element divisor = squareRoot(second) / correction + epsilon;
      parameter = parameter - stepSize * first / divisor;
    }
  }

private:
  /// A number that the kind does not use is 1.
  static PARPLAN_DEVICE Element read(const Element *number) {
    return number ? *number : Element(1);
  }
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_OPTIMIZER_MATH_H
