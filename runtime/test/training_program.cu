//===- training_program.cu - A training step by hand ----------------------===//
//
// logits = x W + b and cross-entropy with AdamW, on RANKS ranks that share the
// samples and keep a piece each of the optimizer's state of W. W is two views
// of a transposed initializer; the model keeps the bias in float16.
//
// PARPLAN_TEST_SCALED: with loss scaling; a gradient above 65504 overflows.
// PARPLAN_TEST_LARGE: as if the model were too large for an ONNX file.
// PARPLAN_TEST_DELAY: milliseconds that a step takes longer.
// PARPLAN_TEST_NAN: "bias" or "state"; what becomes NaN after a step.
// PARPLAN_TEST_HEAP: prints the bytes in use on the heap, step by step.
//
//===----------------------------------------------------------------------===//

#include "parplan_runtime/program.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <unistd.h>

using namespace parplan::runtime;

namespace {

constexpr int64_t features = 4, classes = 5, microBatches = 2, rows = 3;

constexpr Axis mesh[] = {{"a", RANKS}};
constexpr int32_t axisA[] = {0};
constexpr CommunicatorEntry communicators[] = {{"a", axisA}};

// Offsets of the arena, large enough for one rank.
constexpr int64_t weight = 0, bias = 128, mean = 192, square = 320,
                  biasMean = 448, biasSquare = 512, inputX = 576,
                  inputLabels = 704, rate = 768, stepSize = 772,
                  correction = 776, lossScale = 780, inverseScale = 784,
                  rowGradient = 832, rowLoss = 960, sums = 1024, loss = 1032,
                  perLabel = 1036, norm = 1040, overflow = 1044,
                  gradient = 1088, arenaEnd = 1188;

// Half of the rows of the matrix each; neighbours along a row are 4 apart.
constexpr Dimension half[] = {{2, {}, 1}, {classes, {}, features}};
constexpr Dimension whole[] = {{classes, {}, 1}};

constexpr Parameter viewOf(int64_t index, int64_t arena, const char *slot) {
  return {"fc.weight",
          ElementType::Float32,
          0,
          slot ? 0 : 80,
          index * 2,
          half,
          arena,
          nullptr,
          slot ? Table<int32_t>(axisA) : Table<int32_t>(),
          slot != nullptr,
          slot,
          true};
}
constexpr Parameter biasOf(int64_t arena, const char *slot) {
  return {"fc.bias", ElementType::Float32,
          128,       slot ? 0 : 20,
          0,         whole,
          arena,     nullptr,
          {},        slot != nullptr,
          slot,      true};
}
constexpr Parameter parameters[] = {
    viewOf(0, weight, nullptr),      viewOf(1, weight + 40, nullptr),
    viewOf(0, mean, "exp_avg"),      viewOf(1, mean + 40, "exp_avg"),
    viewOf(0, square, "exp_avg_sq"), viewOf(1, square + 40, "exp_avg_sq"),
    biasOf(bias, nullptr),           biasOf(biasMean, "exp_avg"),
    biasOf(biasSquare, "exp_avg_sq")};

constexpr Dimension dimensionsX[] = {
    {microBatches, {}}, {rows, axisA}, {features, {}}};
constexpr Dimension dimensionsLabels[] = {{microBatches, {}}, {rows, axisA}};
constexpr Tensor scalar(const char *name, int64_t arena, TensorRole role) {
  return {name, ElementType::Float32, {}, arena, role};
}
constexpr Tensor inputs[] = {
    {"x", ElementType::Float32, dimensionsX, inputX, TensorRole::Data, true},
    {"labels", ElementType::Int64, dimensionsLabels, inputLabels,
     TensorRole::Labels, true, classes},
    scalar("learning_rate", rate, TensorRole::LearningRate),
    scalar("step_size", stepSize, TensorRole::StepSize),
    scalar("bias_correction2_sqrt", correction,
           TensorRole::BiasCorrection2Sqrt),
    scalar("loss_scale", lossScale, TensorRole::LossScale),
    scalar("inverse_loss_scale", inverseScale, TensorRole::InverseLossScale)};
constexpr Tensor outputs[] = {{"loss",
                               ElementType::Float32,
                               {},
                               loss,
                               TensorRole::Data,
                               false,
                               0,
                               OutputRole::Loss},
                              {"gradient_norm",
                               ElementType::Float32,
                               {},
                               norm,
                               TensorRole::Data,
                               false,
                               0,
                               OutputRole::GradientNorm},
                              {"overflow",
                               ElementType::Bool,
                               {},
                               overflow,
                               TensorRole::Data,
                               false,
                               0,
                               OutputRole::Overflow}};

/// Loss and gradient of one row; rows of padding and without label give zeros.
struct RowKernel {
  const float *x, *weight, *bias, *scale;
  const int64_t *labels;
  float *gradient, *loss;
  int64_t valid, block;
  PARPLAN_DEVICE void operator()(int64_t row) const {
    float logits[classes], highest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < classes; ++j) {
      logits[j] = bias[j];
      for (int64_t i = 0; i < features; ++i)
        logits[j] += x[row * features + i] * weight[i * classes + j];
      highest = logits[j] > highest ? logits[j] : highest;
    }
    for (int64_t j = 0; j < classes; ++j)
      sum += std::exp(logits[j] - highest);
    const int64_t label = labels[row];
    const bool counts = row % block < valid && label != -100;
    for (int64_t j = 0; j < classes; ++j)
      gradient[row * classes + j] =
          counts ? *scale * (std::exp(logits[j] - highest) / sum -
                             (j == label ? 1.0f : 0.0f))
                 : 0.0f;
    loss[row] = counts ? highest + std::log(sum) - logits[label] : 0.0f;
    loss[row + 6] = counts ? 1.0f : 0.0f;
  }
};

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

/// Gradients of the matrix, then (as a last row) of the bias.
struct GradientKernel {
  const float *x, *rowGradient, *perLabel;
  float *out;
  int64_t count;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    float sum = 0;
    for (int64_t row = 0; row < count; ++row)
      sum += (i < features ? x[row * features + i] : 1.0f) *
             rowGradient[row * classes + j];
    out[i * classes + j] = sum * *perLabel;
  }
};

struct NormKernel {
  const float *in, *inverseScale;
  float *out;
  bool *overflow;
  PARPLAN_DEVICE void operator()(int64_t) const {
    float sum = 0;
    *overflow = false;
    for (int64_t i = 0; i < 25; ++i) {
      sum += in[i] * in[i];
      *overflow |= !(std::fabs(in[i]) <= 65504.0f);
    }
    *out = std::sqrt(sum) * *inverseScale;
  }
};

struct SetKernel {
  float *out, value;
  PARPLAN_DEVICE void operator()(int64_t) const { *out = value; }
};

void step(Rank &rank) {
  if (const char *delay = std::getenv("PARPLAN_TEST_DELAY"))
    usleep(static_cast<unsigned>(std::atoi(delay)) * 1000u);
  if (std::getenv("PARPLAN_TEST_HEAP") && rank.rank() == 0)
    std::fprintf(stderr, "heap %zu\n", mallinfo2().uordblks);
  Stream &stream = rank.stream(0);
  Communicator &all = rank.communicator(0);
  const Training &training = *rank.program().training;
  const bool scaled = training.initialLossScale > 0;
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  const Interval block = rank.block(rows, axisA);
  const int64_t local = microBatches * block.size;

  if (!scaled) {
    map<1>(stream, {{lossScale, 4}}, {1}, SetKernel{at(lossScale), 1});
    map<1>(stream, {{inverseScale, 4}}, {1}, SetKernel{at(inverseScale), 1});
  }
  map<1>(stream, {{inputX, local * 16}, {rowGradient, 120}}, {local},
         RowKernel{at(inputX), at(weight), at(bias), at(lossScale),
                   rank.at<int64_t>(inputLabels), at(rowGradient), at(rowLoss),
                   block.valid, block.size});
  map<1>(stream, {{rowLoss, 48}, {sums, 8}}, {2},
         SumKernel{at(rowLoss), at(sums), local});
  if (RANKS > 1)
    all.allReduce(stream, {{sums, 8}}, Reduction::Sum, ElementType::Float32,
                  at(sums), at(sums), 2);
  map<1>(stream, {{sums, 16}}, {1},
         MeanKernel{at(sums), at(loss), at(perLabel)});
  map<2>(stream, {{gradient, 100}}, {features + 1, classes},
         GradientKernel{at(inputX), at(rowGradient), at(perLabel), at(gradient),
                        local});
  if (RANKS > 1)
    all.allReduce(stream, {{gradient, 100}}, Reduction::Sum,
                  ElementType::Float32, at(gradient), at(gradient), 25);
  map<1>(stream, {{norm, 5}}, {1},
         NormKernel{at(gradient), at(inverseScale), at(norm),
                    rank.at<bool>(overflow)});
  OptimizerScalars<float> scalars;
  scalars.learningRate = at(rate);
  scalars.stepSize = at(stepSize);
  scalars.biasCorrection2Sqrt = at(correction);
  scalars.gradientScale = at(inverseScale);
  scalars.skip = scaled ? rank.at<bool>(overflow) : nullptr;
  const int64_t piece = 10 / RANKS, start = rank.rank() * piece;
  for (int64_t view = 0; view < 2; ++view) {
    float *const p = at(weight) + view * 10;
    float *const m = at(mean) + view * 10, *const v = at(square) + view * 10;
    optimizerUpdate<float>(stream, {{0, 400}}, training.optimizer, scalars,
                           p + start, at(gradient) + view * 10 + start, m, v,
                           p + start, m, v, piece);
    if (RANKS > 1)
      all.allGather(stream, {{weight, 80}}, ElementType::Float32, p + start, p,
                    piece);
  }
  optimizerUpdate<float>(stream, {{bias, 404}}, training.optimizer, scalars,
                         at(bias), at(gradient) + 20, at(biasMean),
                         at(biasSquare), at(bias), at(biasMean), at(biasSquare),
                         classes);
  if (const char *what = std::getenv("PARPLAN_TEST_NAN")) {
    const int64_t where = (*what == 'b' ? bias : biasSquare) + 4;
    map<1>(stream, {{where, 4}}, {1}, SetKernel{at(where), NAN});
  }
}

constexpr int64_t shapeWeight[] = {classes, features}, shapeBias[] = {classes},
                  shapeIds[] = {3};
constexpr SavedTensor saved[] = {{"fc.weight", 1, shapeWeight, 16, 80},
                                 {"fc.bias", 10, shapeBias, 96, 10},
                                 {"ids", 7, shapeIds, 112, 24},
                                 {"scale \"s\"", 1, {}, 136, 4}};

constexpr Training trainingOf(double scale, bool savesModel) {
  return {{OptimizerKind::AdamW, 0.9, 0.99, 1e-8, 0.1, 0.0},
          0.05,
          {LearningRateKind::Cosine, 2, 10, 0.1},
          microBatches,
          scale,
          saved,
          MODEL_HASH,
          savesModel};
}
constexpr Training plainTraining = trainingOf(0.0, true);
constexpr Training scaledTraining = trainingOf(65536.0, true);
constexpr Training largeTraining = trainingOf(0.0, false);

constexpr Program programOf(const Training *training) {
  return {"linear.onnx",
          mesh,
          communicators,
          parameters,
          inputs,
          outputs,
          arenaEnd,
          1,
          0,
          {},
          step,
          training};
}
constexpr Program plain = programOf(&plainTraining);
constexpr Program scaled = programOf(&scaledTraining);
constexpr Program large = programOf(&largeTraining);

} // namespace

int main(int argc, char **argv) {
  return runProgram(std::getenv("PARPLAN_TEST_SCALED")  ? scaled
                    : std::getenv("PARPLAN_TEST_LARGE") ? large
                                                        : plain,
                    argc, argv);
}
