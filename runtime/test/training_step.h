//===- training_step.h - The model without a pipeline ---------------------===//
//
// What the hand-written programs whose ranks all do the same have in common:
// the device's arena, and a step up to its gradients, on RANKS ranks that share
// the samples.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_TEST_TRAINING_STEP_H
#define PARPLAN_RUNTIME_TEST_TRAINING_STEP_H

#include "training_model.h"

#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace model {

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

constexpr Dimension dimensionsX[] = {
    {microBatches, {}}, {rows, axisA}, {features, {}}};
constexpr Dimension dimensionsLabels[] = {{microBatches, {}}, {rows, axisA}};
constexpr Tensor outputs[] = {
    result("loss", ElementType::Float32, loss, OutputRole::Loss),
    result("gradient_norm", ElementType::Float32, norm,
           OutputRole::GradientNorm),
    result("overflow", ElementType::Bool, overflow, OutputRole::Overflow)};

struct RowKernel {
  const float *x, *weight, *bias, *scale;
  const int64_t *labels;
  float *gradient, *loss;
  int64_t valid, block;
  PARPLAN_DEVICE void operator()(int64_t row) const {
    float products[classes] = {};
    for (int64_t j = 0; j < classes; ++j)
      for (int64_t i = 0; i < features; ++i)
        products[j] += x[row * features + i] * weight[i * classes + j];
    lossOfRow(products, bias, *scale, labels[row], row % block < valid,
              gradient + row * classes, loss + row, loss + row + 6);
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

/// PARPLAN_TEST_DELAY: milliseconds that a step takes longer.
/// PARPLAN_TEST_DELAYED: the only rank that it does for.
/// PARPLAN_TEST_HEAP: prints the bytes in use on the heap, step by step.
inline void beginStep(Rank &rank) {
  const char *only = std::getenv("PARPLAN_TEST_DELAYED");
  const char *delay = std::getenv("PARPLAN_TEST_DELAY");
  if (delay && (!only || std::atoi(only) == rank.rank()))
    usleep(static_cast<unsigned>(std::atoi(delay)) * 1000u);
  if (std::getenv("PARPLAN_TEST_HEAP") && rank.rank() == 0)
    std::fprintf(stderr, "heap %zu\n", mallinfo2().uordblks);
}

/// The loss and this rank's part of the gradients. The loss is the mean over
/// this rank's labels, or over those of all ranks.
inline void computeOwnGradients(Rank &rank, Stream &stream, bool ownLoss) {
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  const Interval block = rank.block(rows, axisA);
  const int64_t local = microBatches * block.size;

  if (rank.program().training->initialLossScale == 0) {
    map<1>(stream, {{lossScale, 4}}, {1}, SetKernel{at(lossScale), 1});
    map<1>(stream, {{inverseScale, 4}}, {1}, SetKernel{at(inverseScale), 1});
  }
  map<1>(stream, {{inputX, local * 16}, {rowGradient, 120}}, {local},
         RowKernel{at(inputX), at(weight), at(bias), at(lossScale),
                   rank.at<int64_t>(inputLabels), at(rowGradient), at(rowLoss),
                   block.valid, block.size});
  map<1>(stream, {{rowLoss, 48}, {sums, 8}}, {2},
         SumKernel{at(rowLoss), at(sums), local});
  if (RANKS > 1 && !ownLoss)
    rank.communicator(0).allReduce(stream, {{sums, 8}}, Reduction::Sum,
                                   ElementType::Float32, at(sums), at(sums), 2);
  map<1>(stream, {{sums, 16}}, {1},
         MeanKernel{at(sums), at(loss), at(perLabel)});
  map<2>(stream, {{gradient, 100}}, {features + 1, classes},
         GradientKernel{at(inputX), at(rowGradient), at(perLabel), at(gradient),
                        local});
}

/// The loss, the gradients and their norm.
inline void computeGradients(Rank &rank, Stream &stream) {
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  computeOwnGradients(rank, stream, /*ownLoss=*/false);
  if (RANKS > 1)
    rank.communicator(0).allReduce(stream, {{gradient, 100}}, Reduction::Sum,
                                   ElementType::Float32, at(gradient),
                                   at(gradient), 25);
  map<1>(stream, {{norm, 5}}, {1},
         NormKernel{at(gradient), at(inverseScale), at(norm),
                    rank.at<bool>(overflow)});
}

} // namespace model
} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TEST_TRAINING_STEP_H
