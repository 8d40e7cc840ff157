//===- server_program.cu - A training step with a parameter server by hand ===//
//
// The model of training_model.h on RANKS workers, which share the samples, and
// SERVERS servers, which keep a piece each of all parameters as one bucket.
// STALENESS -1: they make each step together; otherwise each push is applied by
// itself.
//
// PARPLAN_TEST_SCALED: with loss scaling; a gradient above 65504 overflows.
// PARPLAN_TEST_NAN: NUMBER; the loss of this worker becomes NaN, in step
// PARPLAN_TEST_NAN_STEP and those behind it.
//
//===----------------------------------------------------------------------===//

#include "training_step.h"

using namespace parplan::runtime;
using namespace parplan::runtime::model;

namespace {

constexpr bool isCommon = STALENESS < 0;
constexpr int64_t elements = 25, piece = (elements + SERVERS - 1) / SERVERS;
constexpr int64_t pieceBytes = piece * 4, bucketBytes = pieceBytes * SERVERS;

constexpr Axis serverMesh[] = {{"a", RANKS}, {"ps0", SERVERS}};
constexpr int32_t axisServer[] = {1};
constexpr CommunicatorEntry serverCommunicators[] = {
    {"a", axisA, streams::compute},
    {"ps0", axisServer, streams::compute},
    {"server", {}, streams::pointToPoint, true}};

// --- workers

// Behind the arena of the step: the gradient's bucket has padding, and the
// values arrive as a bucket.
constexpr int64_t values = gradient + bucketBytes,
                  workerEnd = values + bucketBytes;

constexpr Parameter workerParameters[] = {viewOf(0, weight, nullptr),
                                          viewOf(1, weight + 40, nullptr),
                                          biasOf(bias, nullptr)};
constexpr Tensor workerInputs[] = {
    {"x", ElementType::Float32, dimensionsX, inputX, TensorRole::Data, true},
    {"labels", ElementType::Int64, dimensionsLabels, inputLabels,
     TensorRole::Labels, true, classes},
    scalar("loss_scale", lossScale, TensorRole::LossScale),
    scalar("inverse_loss_scale", inverseScale, TensorRole::InverseLossScale)};
constexpr Tensor lossOutput =
    result("loss", ElementType::Float32, loss, OutputRole::Loss);
constexpr Tensor commonOutputs[] = {lossOutput};
constexpr Tensor ownOutputs[] = {lossOutput,
                                 result("label_count", ElementType::Float32,
                                        sums + 4, OutputRole::LabelCount),
                                 result("gradient_norm", ElementType::Float32,
                                        model::norm, OutputRole::GradientNorm)};

struct CopyKernel {
  const float *in;
  float *weight, *bias;
  PARPLAN_DEVICE void operator()(int64_t i) const {
    (i < 20 ? weight[i] : bias[i - 20]) = in[i];
  }
};

void workerStep(Rank &rank) {
  beginStep(rank);
  Stream &compute = rank.stream(streams::compute);
  Stream &messages = rank.stream(streams::pointToPoint);
  Communicator &all = rank.communicator(2);
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  computeOwnGradients(rank, compute, !isCommon);
  const char *bad = std::getenv("PARPLAN_TEST_NAN"),
             *since = std::getenv("PARPLAN_TEST_NAN_STEP");
  static int steps[RANKS];
  if (bad && std::atoi(bad) == rank.rank() &&
      ++steps[rank.rank()] >= (since ? std::atoi(since) : 1))
    map<1>(compute, {{loss, 4}}, {1}, SetKernel{at(loss), NAN});
  if (!isCommon)
    map<1>(compute, {{model::norm, 5}}, {1},
           NormKernel{at(gradient), at(inverseScale), at(model::norm),
                      rank.at<bool>(overflow)});
  rank.record(0, compute);
  rank.wait(0, messages);
  for (int server = 0; server < SERVERS; ++server)
    all.send(messages, {{gradient + server * pieceBytes, pieceBytes}},
             ElementType::Float32, RANKS + server,
             at(gradient + server * pieceBytes), piece);
  for (int server = 0; server < SERVERS; ++server)
    all.receive(messages, {{values + server * pieceBytes, pieceBytes}},
                ElementType::Float32, RANKS + server,
                at(values + server * pieceBytes), piece);
  rank.record(1, messages);
  rank.wait(1, compute);
  map<1>(compute, {{values, bucketBytes}}, {elements},
         CopyKernel{at(values), at(weight), at(bias)});
}

// --- servers

constexpr int64_t own = 0, ownMean = 128, ownSquare = 256, total = 384,
                  squares = 512, serverNorm = 520, serverOverflow = 524,
                  serverRate = 528, serverStep = 532, serverCorrection = 536,
                  serverInverse = 540, pushes = 576,
                  serverEnd = pushes + (isCommon ? RANKS : 1) * pieceBytes;

/// A parameter or state as its part of the bucket.
constexpr Parameter inBucket(Parameter parameter, int64_t offset) {
  parameter.storageAxes = axisServer;
  parameter.bucketOffset = offset;
  parameter.bucketElements = elements;
  return parameter;
}
constexpr Parameter serverParameters[] = {
    inBucket(viewOf(0, own, nullptr), 0),
    inBucket(viewOf(1, own, nullptr), 10),
    inBucket(biasOf(own, nullptr), 20),
    inBucket(viewOf(0, ownMean, "exp_avg"), 0),
    inBucket(viewOf(1, ownMean, "exp_avg"), 10),
    inBucket(biasOf(ownMean, "exp_avg"), 20),
    inBucket(viewOf(0, ownSquare, "exp_avg_sq"), 0),
    inBucket(viewOf(1, ownSquare, "exp_avg_sq"), 10),
    inBucket(biasOf(ownSquare, "exp_avg_sq"), 20)};
constexpr Tensor serverInputs[] = {
    scalar("rate", serverRate, TensorRole::LearningRate),
    scalar("step", serverStep, TensorRole::StepSize),
    scalar("correction", serverCorrection, TensorRole::BiasCorrection2Sqrt),
    scalar("inverse", serverInverse, TensorRole::InverseLossScale)};
constexpr Tensor serverOutputs[] = {
    result("gradient_norm", ElementType::Float32, serverNorm,
           OutputRole::GradientNorm),
    result("overflow", ElementType::Bool, serverOverflow,
           OutputRole::Overflow)};

/// The sum of the pushes in the order of the workers, and its squares and how
/// many of its elements overflow.
struct TotalKernel {
  const float *in;
  float *out, *squares;
  int64_t count;
  PARPLAN_DEVICE void operator()(int64_t) const {
    squares[0] = squares[1] = 0;
    for (int64_t i = 0; i < piece; ++i) {
      out[i] = in[i];
      for (int64_t worker = 1; worker < count; ++worker)
        out[i] += in[worker * piece + i];
      squares[0] += out[i] * out[i];
      squares[1] += std::fabs(out[i]) <= 65504.0f ? 0.0f : 1.0f;
    }
  }
};

struct ServerNormKernel {
  const float *squares, *inverseScale;
  float *norm;
  bool *overflow;
  PARPLAN_DEVICE void operator()(int64_t) const {
    *norm = std::sqrt(squares[0]) * *inverseScale;
    *overflow = squares[1] != 0;
  }
};

void sendValues(Rank &rank, int worker) {
  rank.communicator(2).send(rank.stream(streams::pointToPoint),
                            {{own, pieceBytes}}, ElementType::Float32, worker,
                            rank.at<float>(own), piece);
}

void serverStepOf(Rank &rank) {
  beginStep(rank);
  Stream &compute = rank.stream(streams::compute);
  Stream &messages = rank.stream(streams::pointToPoint);
  const Training &training = *rank.program().training;
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };
  const int64_t count = isCommon ? RANKS : 1;
  for (int64_t i = 0; i < count; ++i)
    rank.communicator(2).receive(
        messages, {{pushes + i * pieceBytes, pieceBytes}}, ElementType::Float32,
        isCommon ? static_cast<int>(i) : rank.worker(),
        at(pushes + i * pieceBytes), piece);
  rank.record(0, messages);
  rank.wait(0, compute);
  map<1>(compute, {{total, pieceBytes}}, {1},
         TotalKernel{at(pushes), at(total), at(squares), count});
  if (training.initialLossScale == 0)
    map<1>(compute, {{serverInverse, 4}}, {1}, SetKernel{at(serverInverse), 1});
  if (isCommon) {
    if (SERVERS > 1)
      rank.communicator(1).allReduce(compute, {{squares, 8}}, Reduction::Sum,
                                     ElementType::Float32, at(squares),
                                     at(squares), 2);
    map<1>(compute, {{squares, 16}}, {1},
           ServerNormKernel{at(squares), at(serverInverse), at(serverNorm),
                            rank.at<bool>(serverOverflow)});
  }
  OptimizerScalars<float> scalars;
  scalars.learningRate = at(serverRate);
  scalars.stepSize = at(serverStep);
  scalars.biasCorrection2Sqrt = at(serverCorrection);
  scalars.gradientScale = at(serverInverse);
  scalars.skip =
      training.initialLossScale > 0 ? rank.at<bool>(serverOverflow) : nullptr;
  optimizerUpdate<float>(compute, {{own, total}}, training.optimizer, scalars,
                         at(own), at(total), at(ownMean), at(ownSquare),
                         at(own), at(ownMean), at(ownSquare), piece);
  rank.record(1, compute);
  rank.wait(1, messages);
  if (isCommon)
    for (int worker = 0; worker < RANKS; ++worker)
      sendValues(rank, worker);
}

void serverReply(Rank &rank) { sendValues(rank, rank.worker()); }

constexpr Training plainTraining = trainingOf(0.0, true, MODEL_HASH);
constexpr Training scaledTraining = trainingOf(65536.0, true, MODEL_HASH);

constexpr Stage stages[] = {
    {workerParameters, workerInputs,
     isCommon ? Table<Tensor>(commonOutputs) : Table<Tensor>(ownOutputs),
     workerEnd, 0, 0, 3, 2, workerStep},
    {serverParameters, serverInputs,
     isCommon ? Table<Tensor>(serverOutputs) : Table<Tensor>(), serverEnd, 0, 0,
     3, 2, serverStepOf, isCommon ? nullptr : serverReply}};
constexpr Program programOf(const Training *training) {
  return {"linear.onnx",
          serverMesh,
          serverCommunicators,
          stages,
          {},
          training,
          /*pipelineAxis=*/-1,
          SERVERS,
          STALENESS};
}
constexpr Program plain = programOf(&plainTraining);
constexpr Program scaled = programOf(&scaledTraining);

} // namespace

int main(int argc, char **argv) {
  return runProgram(std::getenv("PARPLAN_TEST_SCALED") ? scaled : plain, argc,
                    argv);
}
