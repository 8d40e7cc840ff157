//===- training_model.h - The model of the hand-written training programs -===//
//
// logits = x W + b and cross-entropy with AdamW. W is two views of a transposed
// initializer; the model keeps the bias in float16.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_TEST_TRAINING_MODEL_H
#define PARPLAN_RUNTIME_TEST_TRAINING_MODEL_H

#include "parplan_runtime/program.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace model {

constexpr int64_t features = 4, classes = 5, microBatches = 2, rows = 3;

// Half of the rows of the matrix each; neighbours along a row are 4 apart.
constexpr Dimension half[] = {{2, {}, 1}, {classes, {}, features}};
constexpr Dimension whole[] = {{classes, {}, 1}};

/// Half `index` of W, or of the state `slot` of its optimizer.
constexpr Parameter viewOf(int64_t index, int64_t arena, const char *slot,
                           Table<int32_t> stateAxes = {},
                           MemoryTier tier = MemoryTier::Device) {
  return {"fc.weight",
          ElementType::Float32,
          0,
          slot ? 0 : 80,
          index * 2,
          half,
          arena,
          nullptr,
          slot ? stateAxes : Table<int32_t>(),
          slot != nullptr,
          slot,
          true,
          0,
          0,
          tier};
}
constexpr Parameter biasOf(int64_t arena, const char *slot,
                           MemoryTier tier = MemoryTier::Device) {
  return {"fc.bias", ElementType::Float32,
          128,       slot ? 0 : 20,
          0,         whole,
          arena,     nullptr,
          {},        slot != nullptr,
          slot,      true,
          0,         0,
          tier};
}

constexpr Tensor scalar(const char *name, int64_t arena, TensorRole role,
                        MemoryTier tier = MemoryTier::Device) {
  return {name, ElementType::Float32, {},  arena, role, false,
          0,    OutputRole::Output,   tier};
}
constexpr Tensor result(const char *name, ElementType type, int64_t arena,
                        OutputRole role) {
  return {name, type, {}, arena, TensorRole::Data, false, 0, role};
}

/// Loss and gradient of a row from its logits without bias; rows of padding and
/// without label give zeros. `counts` becomes whether the row counts.
PARPLAN_DEVICE void lossOfRow(const float *products, const float *bias,
                              float scale, int64_t label, bool exists,
                              float *gradient, float *loss, float *counts) {
  float logits[classes], highest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < classes; ++j) {
    logits[j] = bias[j] + products[j];
    highest = logits[j] > highest ? logits[j] : highest;
  }
  for (int64_t j = 0; j < classes; ++j)
    sum += std::exp(logits[j] - highest);
  const bool valid = exists && label != -100;
  for (int64_t j = 0; j < classes; ++j)
    gradient[j] = valid ? scale * (std::exp(logits[j] - highest) / sum -
                                   (j == label ? 1.0f : 0.0f))
                        : 0.0f;
  *loss = valid ? highest + std::log(sum) - logits[label] : 0.0f;
  *counts = valid ? 1.0f : 0.0f;
}

/// Two sums of `count` numbers, 6 apart.
struct SumKernel {
  const float *in;
  float *out;
  int64_t count;
  PARPLAN_DEVICE void operator()(int64_t which) const {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += in[which * 6 + i];
    out[which] = sum;
  }
};

struct MeanKernel {
  const float *sums;
  float *loss, *perLabel;
  PARPLAN_DEVICE void operator()(int64_t) const {
    const float count = sums[1] > 1.0f ? sums[1] : 1.0f;
    *loss = sums[0] / count;
    *perLabel = 1.0f / count;
  }
};

struct SetKernel {
  float *out, value;
  PARPLAN_DEVICE void operator()(int64_t) const { *out = value; }
};

constexpr int64_t shapeWeight[] = {classes, features}, shapeBias[] = {classes},
                  shapeIds[] = {3};
constexpr SavedTensor saved[] = {{"fc.weight", 1, shapeWeight, 16, 80},
                                 {"fc.bias", 10, shapeBias, 96, 10},
                                 {"ids", 7, shapeIds, 112, 24},
                                 {"scale \"s\"", 1, {}, 136, 4}};

constexpr Training trainingOf(double scale, bool savesModel, const char *hash) {
  return {{OptimizerKind::AdamW, 0.9, 0.99, 1e-8, 0.1, 0.0},
          0.05,
          {LearningRateKind::Cosine, 2, 10, 0.1},
          microBatches,
          scale,
          saved,
          hash,
          savesModel};
}

} // namespace model
} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TEST_TRAINING_MODEL_H
