//===- ToyModel.cpp - A model for any stages and edges --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RunningPipeline.h"

#include <cmath>

using namespace parplan;
using namespace parplan::test;

void ToyModel::runForward(int64_t stage, int64_t microBatch,
                          const std::vector<const float *> &values,
                          float *out) {
  for (int64_t i = 0; i < width; ++i) {
    float sum = std::sin(static_cast<float>(microBatch * width + i));
    for (const float *value : values)
      sum = 0.7f * sum + value[(i + stage) % width];
    out[i] = std::sin(sum + static_cast<float>(stage));
  }
}

void ToyModel::runInputGradient(int64_t stage, const float *value,
                                const std::vector<const float *> &gradients,
                                float *out) {
  for (int64_t i = 0; i < width; ++i) {
    float sum = 1.3f;
    for (const float *gradient : gradients)
      sum = 0.6f * sum + gradient[(i + 1) % width];
    out[i] = std::cos(sum * value[i] + static_cast<float>(stage));
  }
}

void ToyModel::addWeightGradient(const float *value, const float *gradient,
                                 float *sum) {
  for (int64_t i = 0; i < width; ++i)
    sum[i] += value[i] * gradient[(i + 2) % width];
}

std::vector<float> test::runAlone(const ScheduleShape &shape,
                                  const std::vector<StageEdge> &edges,
                                  int64_t steps) {
  int64_t stages = shape.getStageCount();
  constexpr int64_t width = ToyModel::width;
  std::vector<float> sums(stages * width, 0), values(stages * width),
      gradients(stages * width);
  auto read = [&](std::vector<float> &made, int64_t stage, bool isBack) {
    std::vector<const float *> found;
    for (const StageEdge &edge : edges)
      if (edge.destination == stage && (edge.source > stage) == isBack)
        found.push_back(&made[edge.source * width]);
    return found;
  };
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t batch = 0; batch < shape.microBatches; ++batch) {
      for (int64_t stage = 0; stage < stages; ++stage)
        ToyModel::runForward(stage, batch, read(values, stage, false),
                             &values[stage * width]);
      for (int64_t stage = stages; stage-- > 0;) {
        if (hasBackward(shape.kind))
          ToyModel::runInputGradient(stage, &values[stage * width],
                                     read(gradients, stage, true),
                                     &gradients[stage * width]);
        ToyModel::addWeightGradient(&values[stage * width],
                                    hasBackward(shape.kind)
                                        ? &gradients[stage * width]
                                        : &values[stage * width],
                                    &sums[stage * width]);
      }
    }
  return sums;
}
