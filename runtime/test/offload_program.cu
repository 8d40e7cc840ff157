//===- offload_program.cu - A training step with tiers by hand ------------===//
//
// The model of training_model.h on RANKS ranks. W rests in the host's memory
// and its states on NVMe, the bias on NVMe and its states in the host's memory.
// Both are updated on the host.
//
//===----------------------------------------------------------------------===//

#include "training_step.h"

using namespace parplan::runtime;
using namespace parplan::runtime::model;

namespace {

constexpr auto onHost = MemoryTier::Host, onNvme = MemoryTier::Nvme;

// The host's arena. Memory for a file is aligned in one case, not in others.
constexpr int64_t hostWeight = 0, hostBiasMean = 128, hostBiasSquare = 192,
                  hostRate = 256, hostStepSize = 260, hostCorrection = 264,
                  hostInverse = 268, hostOverflow = 272, hostGradient = 320,
                  hostBias = 448, hostMean = 4096, hostSquare = 4224,
                  hostEnd = 4304;
// The file.
constexpr int64_t fileMean = 0, fileSquare = 4096, fileBias = 8192,
                  fileEnd = 8212;

constexpr Parameter parameters[] = {
    viewOf(0, hostWeight, nullptr, {}, onHost),
    viewOf(1, hostWeight + 40, nullptr, {}, onHost),
    viewOf(0, fileMean, "exp_avg", {}, onNvme),
    viewOf(1, fileMean + 40, "exp_avg", {}, onNvme),
    viewOf(0, fileSquare, "exp_avg_sq", {}, onNvme),
    viewOf(1, fileSquare + 40, "exp_avg_sq", {}, onNvme),
    biasOf(fileBias, nullptr, onNvme),
    biasOf(hostBiasMean, "exp_avg", onHost),
    biasOf(hostBiasSquare, "exp_avg_sq", onHost)};

constexpr Tensor inputs[] = {
    {"x", ElementType::Float32, dimensionsX, inputX, TensorRole::Data, true},
    {"labels", ElementType::Int64, dimensionsLabels, inputLabels,
     TensorRole::Labels, true, classes},
    scalar("rate", hostRate, TensorRole::LearningRate, onHost),
    scalar("step", hostStepSize, TensorRole::StepSize, onHost),
    scalar("correction", hostCorrection, TensorRole::BiasCorrection2Sqrt,
           onHost),
    scalar("scale", lossScale, TensorRole::LossScale),
    scalar("inverse", inverseScale, TensorRole::InverseLossScale),
    scalar("inverse", hostInverse, TensorRole::InverseLossScale, onHost)};

void copy(Stream &stream, int64_t from, MemoryTier source, int64_t to,
          MemoryTier target, int64_t bytes) {
  transfer(stream, {from, bytes, source}, {to, bytes, target});
}

void step(Rank &rank) {
  beginStep(rank);
  constexpr auto onDevice = MemoryTier::Device;
  Stream &compute = rank.stream(streams::compute);
  Stream &down = rank.stream(streams::download);
  Stream &up = rank.stream(streams::upload);
  Stream &work = rank.stream(streams::host);
  Stream &storage = rank.stream(streams::storage);
  const auto order = [&](Stream &first, Stream &second, int32_t event) {
    rank.record(event, first);
    rank.wait(event, second);
  };
  const Training &training = *rank.program().training;
  const bool scaled = training.initialLossScale > 0;

  copy(storage, fileBias, onNvme, hostBias, onHost, 20);
  order(storage, up, 0);
  copy(up, hostBias, onHost, bias, onDevice, 20);
  copy(up, hostWeight, onHost, weight, onDevice, 80);
  order(up, compute, 1);
  computeGradients(rank, compute);
  order(compute, down, 2);
  copy(down, gradient, onDevice, hostGradient, onHost, 100);
  copy(down, overflow, onDevice, hostOverflow, onHost, 1);
  order(down, work, 3);
  copy(storage, fileMean, onNvme, hostMean, onHost, 80);
  copy(storage, fileSquare, onNvme, hostSquare, onHost, 80);
  order(storage, work, 4);

  const auto at = [&](int64_t offset) { return rank.hostAt<float>(offset); };
  if (!scaled)
    host::map<1>(work, {{hostInverse, 4, onHost}}, {1},
                 SetKernel{at(hostInverse), 1});
  OptimizerScalars<float> scalars;
  scalars.learningRate = at(hostRate);
  scalars.stepSize = at(hostStepSize);
  scalars.biasCorrection2Sqrt = at(hostCorrection);
  scalars.gradientScale = at(hostInverse);
  scalars.skip = scaled ? rank.hostAt<bool>(hostOverflow) : nullptr;
  const auto update = [&](int64_t parameter, int64_t from, int64_t first,
                          int64_t second, int64_t count) {
    host::optimizerUpdate<float>(work,
                                 {{parameter, count * 4, onHost},
                                  {from, count * 4, onHost},
                                  {first, count * 4, onHost},
                                  {second, count * 4, onHost}},
                                 training.optimizer, scalars, at(parameter),
                                 at(from), at(first), at(second), at(parameter),
                                 at(first), at(second), count);
  };
  update(hostWeight, hostGradient, hostMean, hostSquare, features * classes);
  update(hostBias, hostGradient + 80, hostBiasMean, hostBiasSquare, classes);
  order(work, storage, 5);
  copy(storage, hostMean, onHost, fileMean, onNvme, 80);
  copy(storage, hostSquare, onHost, fileSquare, onNvme, 80);
  copy(storage, hostBias, onHost, fileBias, onNvme, 20);
}

constexpr Training plainTraining = trainingOf(0.0, true, MODEL_HASH);
constexpr Training scaledTraining = trainingOf(65536.0, true, MODEL_HASH);
constexpr Stage stages[] = {{parameters, inputs, outputs, arenaEnd, hostEnd,
                             fileEnd, /*streamCount=*/7, /*eventCount=*/6,
                             step}};
constexpr Program programOf(const Training *training) {
  return {"linear.onnx", mesh, communicators, stages, {}, training};
}
constexpr Program plain = programOf(&plainTraining);
constexpr Program scaled = programOf(&scaledTraining);

} // namespace

int main(int argc, char **argv) {
  return runProgram(std::getenv("PARPLAN_TEST_SCALED") ? scaled : plain, argc,
                    argv);
}
