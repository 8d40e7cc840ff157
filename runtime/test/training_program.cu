//===- training_program.cu - A training step by hand ----------------------===//
//
// The model of training_model.h on RANKS ranks, which share the samples and
// keep a piece each of the optimizer's state of W.
//
// PARPLAN_TEST_SCALED: with loss scaling; a gradient above 65504 overflows.
// PARPLAN_TEST_LARGE: as if the model were too large for an ONNX file.
// PARPLAN_TEST_NAN: "bias" or "state"; what becomes NaN after a step.
//
//===----------------------------------------------------------------------===//

#include "training_step.h"

using namespace parplan::runtime;
using namespace parplan::runtime::model;

namespace {

constexpr Parameter parameters[] = {viewOf(0, weight, nullptr),
                                    viewOf(1, weight + 40, nullptr),
                                    viewOf(0, mean, "exp_avg", axisA),
                                    viewOf(1, mean + 40, "exp_avg", axisA),
                                    viewOf(0, square, "exp_avg_sq", axisA),
                                    viewOf(1, square + 40, "exp_avg_sq", axisA),
                                    biasOf(bias, nullptr),
                                    biasOf(biasMean, "exp_avg"),
                                    biasOf(biasSquare, "exp_avg_sq")};

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

void step(Rank &rank) {
  beginStep(rank);
  Stream &stream = rank.stream(0);
  Communicator &all = rank.communicator(0);
  const Training &training = *rank.program().training;
  const bool scaled = training.initialLossScale > 0;
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  computeGradients(rank, stream);
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

constexpr Training plainTraining = trainingOf(0.0, true, MODEL_HASH);
constexpr Training scaledTraining = trainingOf(65536.0, true, MODEL_HASH);
constexpr Training largeTraining = trainingOf(0.0, false, MODEL_HASH);

constexpr Stage stages[] = {
    {parameters, inputs, outputs, arenaEnd, 0, 0, 1, 0, step}};
constexpr Program programOf(const Training *training) {
  return {"linear.onnx", mesh, communicators, stages, {}, training};
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
