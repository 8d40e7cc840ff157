//===- schedule.h - Numbers that change from step to step -----------------===//

#ifndef PARPLAN_RUNTIME_LIB_SCHEDULE_H
#define PARPLAN_RUNTIME_LIB_SCHEDULE_H

#include "parplan_runtime/tables.h"

namespace parplan {
namespace runtime {

class EngineRank;

/// What a run has to know, beside its arrays, to go on after a step.
struct TrainingState {
  /// Steps that are finished.
  int64_t step = 0;
  /// Those of them that changed the parameters.
  int64_t taken = 0;
  /// Samples consumed, over all passes of the data.
  int64_t samples = 0;
  double lossScale = 0;
  /// Steps without overflow since the loss scale last changed.
  int64_t goodSteps = 0;
};

TrainingState initialState(const Training &training);

/// The rate of the step after `step` finished ones, in PyTorch's arithmetic:
/// the base rate times (step + 1) / warmup during the warm-up, then times a
/// factor that goes from 1 to `final` until step `total`, and stays there.
double learningRateAt(const Training &training, int64_t step);

/// The numbers of the next step.
struct StepScalars {
  double learningRate;
  double stepSize;
  double biasCorrection2Sqrt;
  double lossScale;
  double inverseLossScale;
};
StepScalars scalarsOf(const Training &training, const TrainingState &state);
/// Sets the inputs of the program that take them, each in its element type.
void uploadScalars(EngineRank &rank, const StepScalars &scalars);

/// Counts a finished step of `samples` samples. As torch.amp's GradScaler: an
/// overflow halves the loss scale, 2,000 good steps double it.
void finishStep(TrainingState &state, int64_t samples, bool overflow);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_SCHEDULE_H
