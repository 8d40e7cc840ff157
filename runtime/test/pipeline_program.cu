//===- pipeline_program.cu - A training step in two stages by hand --------===//
//
// The model of training_model.h: the first stage has W and the samples, the
// second one the bias, the labels and the loss. Two micro-batches in the order
// of 1f1b, RANKS ranks at each position that share the samples.
//
// PARPLAN_TEST_SCALED: with loss scaling; a gradient above 65504 overflows.
// PARPLAN_TEST_NAN: the loss becomes NaN.
// PARPLAN_TEST_HEAP: prints the bytes in use on the heap, step by step.
//
//===----------------------------------------------------------------------===//

#include "training_model.h"

#include <cstdio>
#include <cstdlib>
#include <malloc.h>

using namespace parplan::runtime;
using namespace parplan::runtime::model;

namespace {

constexpr Axis mesh[] = {{"pp0", 2}, {"a", RANKS}};
constexpr int32_t axisP[] = {0};
constexpr int32_t axisA[] = {1};
constexpr int32_t axesBoth[] = {0, 1};
constexpr CommunicatorEntry communicators[] = {
    {"pp0", axisP, streams::pointToPoint},
    {"a", axisA, streams::communication},
    {"pp0+a", axesBoth, streams::communication}};

// Rows of a micro-batch on one rank, and bytes of its products with W.
constexpr int64_t local = (rows + RANKS - 1) / RANKS;
constexpr int64_t messageBytes = local * classes * 4;

constexpr Dimension dimensionsX[] = {
    {microBatches, {}}, {rows, axisA}, {features, {}}};
constexpr Dimension dimensionsLabels[] = {{microBatches, {}}, {rows, axisA}};

// Arenas of both stages: what messages carry, sums, and numbers of a step.
constexpr int64_t products = 0, rowGradient = 128, sums = 256, perLabel = 264,
                  loss = 268, norms = 272, norm = 280, overflow = 284,
                  rate = 320, stepSize = 324, correction = 328, scale = 332,
                  inverseScale = 336, ownStart = 384;
constexpr int64_t weight = ownStart, mean = 512, square = 640, inputX = 768,
                  gradient = 896, firstEnd = 976;
constexpr int64_t bias = ownStart, biasMean = 448, biasSquare = 512,
                  inputLabels = 576, rowLosses = 640, biasGradient = 704,
                  secondEnd = 724;

constexpr Parameter firstParameters[] = {
    viewOf(0, weight, nullptr),      viewOf(1, weight + 40, nullptr),
    viewOf(0, mean, "exp_avg"),      viewOf(1, mean + 40, "exp_avg"),
    viewOf(0, square, "exp_avg_sq"), viewOf(1, square + 40, "exp_avg_sq")};
constexpr Parameter secondParameters[] = {biasOf(bias, nullptr),
                                          biasOf(biasMean, "exp_avg"),
                                          biasOf(biasSquare, "exp_avg_sq")};

constexpr Tensor rateInput = scalar("rate", rate, TensorRole::LearningRate),
                 stepInput = scalar("step", stepSize, TensorRole::StepSize),
                 correctionInput = scalar("correction", correction,
                                          TensorRole::BiasCorrection2Sqrt),
                 scaleInput = scalar("scale", scale, TensorRole::LossScale),
                 inverseInput = scalar("inverse", inverseScale,
                                       TensorRole::InverseLossScale);
constexpr Tensor firstInputs[] = {
    {"x", ElementType::Float32, dimensionsX, inputX, TensorRole::Data, true},
    rateInput,
    stepInput,
    correctionInput,
    scaleInput,
    inverseInput};
constexpr Tensor secondInputs[] = {{"labels", ElementType::Int64,
                                    dimensionsLabels, inputLabels,
                                    TensorRole::Labels, true, classes},
                                   rateInput,
                                   stepInput,
                                   correctionInput,
                                   scaleInput,
                                   inverseInput};
constexpr Tensor normOutput = result("gradient_norm", ElementType::Float32,
                                     norm, OutputRole::GradientNorm);
constexpr Tensor firstOutputs[] = {
    normOutput,
    result("overflow", ElementType::Bool, overflow, OutputRole::Overflow)};
constexpr Tensor secondOutputs[] = {
    result("loss", ElementType::Float32, loss, OutputRole::Loss), normOutput};

struct ProductKernel {
  const float *x, *weight;
  float *out;
  PARPLAN_DEVICE void operator()(int64_t row, int64_t j) const {
    float sum = 0;
    for (int64_t i = 0; i < features; ++i)
      sum += x[row * features + i] * weight[i * classes + j];
    out[row * classes + j] = sum;
  }
};

struct LossKernel {
  const float *products, *bias, *scale;
  const int64_t *labels;
  float *gradient, *loss;
  int64_t valid;
  PARPLAN_DEVICE void operator()(int64_t row) const {
    lossOfRow(products + row * classes, bias, *scale, labels[row], row < valid,
              gradient + row * classes, loss + row, loss + row + 6);
  }
};

/// out[i, j] += the sum over rows of x[row, i] rowGradient[row, j]; without x
/// as if it were ones.
struct GradientKernel {
  const float *x, *rowGradient;
  float *out;
  PARPLAN_DEVICE void operator()(int64_t i, int64_t j) const {
    float sum = out[i * classes + j];
    for (int64_t row = 0; row < local; ++row)
      sum +=
          (x ? x[row * features + i] : 1.0f) * rowGradient[row * classes + j];
    out[i * classes + j] = sum;
  }
};

struct ScaleKernel {
  float *out;
  const float *factor;
  PARPLAN_DEVICE void operator()(int64_t i) const { out[i] *= *factor; }
};

/// The sum of squares, and how many elements overflow.
struct SquaresKernel {
  const float *in;
  float *out;
  int64_t count;
  PARPLAN_DEVICE void operator()(int64_t) const {
    out[0] = out[1] = 0;
    for (int64_t i = 0; i < count; ++i) {
      out[0] += in[i] * in[i];
      out[1] += std::fabs(in[i]) <= 65504.0f ? 0.0f : 1.0f;
    }
  }
};

struct NormKernel {
  const float *norms, *inverseScale;
  float *out;
  bool *overflow;
  PARPLAN_DEVICE void operator()(int64_t) const {
    *out = std::sqrt(norms[0]) * *inverseScale;
    *overflow = norms[1] > 0;
  }
};

/// What stages have in common.
struct StageStep {
  Rank &rank;
  Stream &compute = rank.stream(streams::compute);
  Stream &wire = rank.stream(streams::communication);
  Stream &pairs = rank.stream(streams::pointToPoint);

  float *at(int64_t offset) const { return rank.at<float>(offset); }
  void order(Stream &first, Stream &second, int32_t event) const {
    rank.record(event, first);
    rank.wait(event, second);
  }

  void begin(int64_t gradients, int64_t bytes) const {
    zero(compute, {{gradients, bytes}}, at(gradients), bytes);
    if (rank.program().training->initialLossScale > 0)
      return;
    for (int64_t one : {scale, inverseScale})
      map<1>(compute, {{one, 4}}, {1}, SetKernel{at(one), 1});
  }
  void send(int64_t from, int64_t micro, int peer) const {
    const int64_t offset = from + micro * messageBytes;
    rank.communicator(0).send(pairs, {{offset, messageBytes}},
                              ElementType::Float32, peer, at(offset),
                              local * classes);
  }
  void receive(int64_t to, int64_t micro, int peer) const {
    const int64_t offset = to + micro * messageBytes;
    rank.communicator(0).receive(pairs, {{offset, messageBytes}},
                                 ElementType::Float32, peer, at(offset),
                                 local * classes);
  }
  /// From here on events 8 and 9 order the streams. Labels are counted and
  /// gradients summed over the samples, then the norm over everything.
  void finish(int64_t gradients, int64_t count) const {
    order(compute, wire, 8);
    Communicator &all = rank.communicator(2);
    all.allReduce(wire, {{sums, 8}}, Reduction::Sum, ElementType::Float32,
                  at(sums), at(sums), 2);
    if (RANKS > 1)
      rank.communicator(1).allReduce(wire, {{gradients, count * 4}},
                                     Reduction::Sum, ElementType::Float32,
                                     at(gradients), at(gradients), count);
    order(wire, compute, 9);
    map<1>(compute, {{sums, 16}}, {1},
           MeanKernel{at(sums), at(loss), at(perLabel)});
    map<1>(compute, {{gradients, count * 4}}, {count},
           ScaleKernel{at(gradients), at(perLabel)});
    // Replicas have the same gradients: one of them counts.
    if (rank.coordinate(1) == 0)
      map<1>(compute, {{norms, 8}}, {1},
             SquaresKernel{at(gradients), at(norms), count});
    else
      zero(compute, {{norms, 8}}, at(norms), 8);
    order(compute, wire, 8);
    all.allReduce(wire, {{norms, 8}}, Reduction::Sum, ElementType::Float32,
                  at(norms), at(norms), 2);
    order(wire, compute, 9);
    map<1>(compute, {{norms, 13}}, {1},
           NormKernel{at(norms), at(inverseScale), at(norm),
                      rank.at<bool>(overflow)});
  }
  void update(int64_t parameter, int64_t gradients, int64_t first,
              int64_t second, int64_t count) const {
    const Training &training = *rank.program().training;
    OptimizerScalars<float> scalars;
    scalars.learningRate = at(rate);
    scalars.stepSize = at(stepSize);
    scalars.biasCorrection2Sqrt = at(correction);
    scalars.gradientScale = at(inverseScale);
    scalars.skip =
        training.initialLossScale > 0 ? rank.at<bool>(overflow) : nullptr;
    optimizerUpdate<float>(
        compute,
        {{parameter, count * 4}, {gradients, count * 4}, {second, count * 4}},
        training.optimizer, scalars, at(parameter), at(gradients), at(first),
        at(second), at(parameter), at(first), at(second), count);
  }
};

// Messages, in the order that both stages keep: products of micro-batch 0 and
// 1, gradients of 0 and 1. Event m: products of m; 4 + m: gradients of m.

void firstStep(Rank &rank) {
  if (std::getenv("PARPLAN_TEST_HEAP") && rank.rank() == 0)
    std::fprintf(stderr, "heap %zu\n", mallinfo2().uordblks);
  const StageStep step = {rank};
  step.begin(gradient, 80);
  zero(step.compute, {{sums, 8}}, step.at(sums), 8);
  const float *x = step.at(inputX);
  const int64_t width = local * features;
  for (int64_t m = 0; m < microBatches; ++m) {
    map<2>(
        step.compute,
        {{inputX, 96}, {weight, 80}, {products, microBatches * messageBytes}},
        {local, classes},
        ProductKernel{x + m * width, step.at(weight),
                      step.at(products) + m * local * classes});
    rank.record(static_cast<int32_t>(m), step.compute);
  }
  for (int64_t m = 0; m < microBatches; ++m) {
    rank.wait(static_cast<int32_t>(m), step.pairs);
    step.send(products, m, 1);
  }
  for (int64_t m = 0; m < microBatches; ++m) {
    step.receive(rowGradient, m, 1);
    step.order(step.pairs, step.compute, static_cast<int32_t>(4 + m));
    map<2>(step.compute,
           {{rowGradient, microBatches * messageBytes}, {gradient, 80}},
           {features, classes},
           GradientKernel{x + m * width,
                          step.at(rowGradient) + m * local * classes,
                          step.at(gradient)});
  }
  step.finish(gradient, features * classes);
  step.update(weight, gradient, mean, square, features * classes);
}

void secondStep(Rank &rank) {
  const StageStep step = {rank};
  step.begin(biasGradient, 20);
  const int64_t valid = rank.block(rows, axisA).valid;
  for (int64_t m = 0; m < microBatches; ++m) {
    step.receive(products, m, 0);
    rank.record(static_cast<int32_t>(m), step.pairs);
  }
  for (int64_t m = 0; m < microBatches; ++m) {
    const int64_t part = m * local;
    rank.wait(static_cast<int32_t>(m), step.compute);
    map<1>(step.compute,
           {{products, 120}, {bias, 20}, {rowGradient, 120}, {rowLosses, 48}},
           {local},
           LossKernel{step.at(products) + part * classes, step.at(bias),
                      step.at(scale), rank.at<int64_t>(inputLabels) + part,
                      step.at(rowGradient) + part * classes,
                      step.at(rowLosses) + part, valid});
    rank.record(static_cast<int32_t>(4 + m), step.compute);
    map<2>(step.compute, {{rowGradient, 120}, {biasGradient, 20}}, {1, classes},
           GradientKernel{nullptr, step.at(rowGradient) + part * classes,
                          step.at(biasGradient)});
    rank.wait(static_cast<int32_t>(4 + m), step.pairs);
    step.send(rowGradient, m, 0);
  }
  map<1>(step.compute, {{rowLosses, 48}, {sums, 8}}, {2},
         SumKernel{step.at(rowLosses), step.at(sums), microBatches * local});
  step.finish(biasGradient, classes);
  step.update(bias, biasGradient, biasMean, biasSquare, classes);
  if (std::getenv("PARPLAN_TEST_NAN"))
    map<1>(step.compute, {{loss, 4}}, {1}, SetKernel{step.at(loss), NAN});
}

constexpr Stage stages[] = {{firstParameters, firstInputs, firstOutputs,
                             firstEnd, 0, 0, /*streamCount=*/3,
                             /*eventCount=*/10, firstStep},
                            {secondParameters, secondInputs, secondOutputs,
                             secondEnd, 0, 0, /*streamCount=*/3,
                             /*eventCount=*/10, secondStep}};

constexpr Training plainTraining = trainingOf(0.0, true, MODEL_HASH);
constexpr Training scaledTraining = trainingOf(65536.0, true, MODEL_HASH);
constexpr Program programOf(const Training *training) {
  return {"linear.onnx", mesh, communicators, stages, {}, training, 0};
}
constexpr Program plain = programOf(&plainTraining);
constexpr Program scaled = programOf(&scaledTraining);

} // namespace

int main(int argc, char **argv) {
  return runProgram(std::getenv("PARPLAN_TEST_SCALED") ? scaled : plain, argc,
                    argv);
}
