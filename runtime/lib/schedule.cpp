//===- schedule.cpp - Numbers that change from step to step ---------------===//

#include "schedule.h"
#include "element_convert.h"
#include "engine.h"
#include "failure.h"

#include <cmath>

namespace parplan {
namespace runtime {

namespace {
constexpr double pi = 3.14159265358979323846;
constexpr int64_t growthInterval = 2000;
} // namespace

TrainingState initialState(const Training &training) {
  TrainingState state;
  state.lossScale = training.initialLossScale;
  return state;
}

double learningRateAt(const Training &training, int64_t step) {
  const LearningRateSchedule &schedule = training.schedule;
  const double base = training.learningRate;
  if (step < schedule.warmup)
    return base * (static_cast<double>(step + 1) /
                   static_cast<double>(schedule.warmup));
  if (schedule.kind == LearningRateKind::Constant)
    return base;
  const int64_t length = schedule.total - schedule.warmup;
  const int64_t position = step - schedule.warmup;
  const double progress = position >= length ? 1.0
                                             : static_cast<double>(position) /
                                                   static_cast<double>(length);
  const double share = schedule.kind == LearningRateKind::Linear
                           ? 1.0 - progress
                           : 0.5 * (1.0 + std::cos(pi * progress));
  return base * (schedule.final + (1.0 - schedule.final) * share);
}

StepScalars scalarsOf(const Training &training, const TrainingState &state) {
  const OptimizerShape &optimizer = training.optimizer;
  const double rate = learningRateAt(training, state.step);
  const double number = static_cast<double>(state.taken + 1);
  const double correction1 = 1.0 - std::pow(optimizer.beta1, number);
  const double correction2 = 1.0 - std::pow(optimizer.beta2, number);
  StepScalars scalars = {};
  scalars.learningRate = rate;
  scalars.stepSize = rate / correction1;
  scalars.biasCorrection2Sqrt = std::sqrt(correction2);
  scalars.lossScale = state.lossScale;
  scalars.inverseLossScale = state.lossScale > 0 ? 1.0 / state.lossScale : 0.0;
  return scalars;
}

void uploadScalars(EngineRank &rank, const StepScalars &scalars) {
  for (const Tensor &input : rank.stage().inputs) {
    double value;
    switch (input.role) {
    case TensorRole::LearningRate:
      value = scalars.learningRate;
      break;
    case TensorRole::StepSize:
      value = scalars.stepSize;
      break;
    case TensorRole::BiasCorrection2Sqrt:
      value = scalars.biasCorrection2Sqrt;
      break;
    case TensorRole::LossScale:
      value = scalars.lossScale;
      break;
    case TensorRole::InverseLossScale:
      value = scalars.inverseLossScale;
      break;
    default:
      continue;
    }
    char bytes[sizeof value];
    if (!convertElements(ElementType::Float64,
                         reinterpret_cast<const char *>(&value), input.type,
                         bytes, 1))
      fail(exitInternal, "the input " + quoted(input.name) + " is no number");
    const Range range = {input.arenaOffset, elementBytes(input.type),
                         input.tier};
    rank.mark(range);
    rank.upload(range.offset, bytes, range.bytes, range.tier);
  }
}

void finishStep(TrainingState &state, int64_t samples, bool overflow) {
  ++state.step;
  state.samples += samples;
  if (overflow) {
    state.lossScale *= 0.5;
    state.goodSteps = 0;
    return;
  }
  ++state.taken;
  if (state.lossScale > 0 && ++state.goodSteps == growthInterval) {
    // Beyond this the scale is no float any more.
    if (state.lossScale < 1e38)
      state.lossScale *= 2;
    state.goodSteps = 0;
  }
}

} // namespace runtime
} // namespace parplan
