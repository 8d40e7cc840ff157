//===- step_numbers.h - What a step says about itself ---------------------===//

#ifndef PARPLAN_RUNTIME_LIB_STEP_NUMBERS_H
#define PARPLAN_RUNTIME_LIB_STEP_NUMBERS_H

#include "stages.h"

namespace parplan {
namespace runtime {

/// The loss and the gradient norm are rank 0's only.
struct StepResult {
  double loss = 0, gradientNorm = 0;
  bool overflow = false;
};

/// What one of several workers with losses of their own says of a step.
struct OwnNumbers {
  double loss = 0, gradientNorm = 0;
  /// Labels behind it.
  double weight = 1;
};

/// Ends the run when a step gave no numbers. `step` is the number of steps
/// before it.
void requireFinite(const char *what, double value, int64_t step);

/// The outputs of a training step that are read after every step. Each is taken
/// from the first stage that has it and brought to rank 0, outside of the
/// step's own communication.
class StepNumbers {
public:
  /// Fails with 70 when the program computes no loss.
  explicit StepNumbers(const Program &program);

  bool hasGradientNorm() const { return gradientNorm.tensor != nullptr; }
  /// `scaled`: whether an overflow matters. All ranks of a pipeline go by what
  /// rank 0 says. Collective.
  StepResult collect(EngineRank &rank, World &world, bool scaled) const;
  /// Of a worker without a common step.
  OwnNumbers readOwn(EngineRank &rank) const;

private:
  /// An output and the rank that it is taken from.
  struct Number {
    const Tensor *tensor = nullptr;
    int holder = 0;
  };
  static Number find(const Program &program, OutputRole role);
  static double bring(EngineRank &rank, World &world, const Number &number);

  const bool isPipeline;
  const Number loss, gradientNorm, overflow, labelCount;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_STEP_NUMBERS_H
