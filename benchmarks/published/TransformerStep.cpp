//===- TransformerStep.cpp - Training steps of published runs -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TransformerStep.h"

#include "parplan/CostModel/OpCost.h"
#include "parplan/Pipeline/Timeline.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace parplan;
using namespace parplan::published;

namespace {

/// Of 16-bit tensors.
constexpr int64_t elementBytes = 2;

class Step {
public:
  Step(const Run &run, const CostModel &costs, double optimizerBytes,
       const Omissions &omissions)
      : run(run), costs(costs), stack(costs.getCluster().description.stack),
        omissions(omissions), optimizerBytes(optimizerBytes),
        tokens(run.microBatch * run.length), hidden(run.hidden),
        qkv(3 * run.hidden / run.tensor), ffn(run.ffn / run.tensor),
        own(run.hidden / run.tensor) {
    tensorGroup = getGroup(run.tensor, 1);
  }

  Prediction get(bool simulates);

private:
  bool has(const char *term) const { return !omissions.count(term); }

  /// Ranks lie in the order tensor, data, pipeline: the innermost fill nodes.
  RankGroup getGroup(int64_t size, int64_t stride) const {
    int64_t perNode = costs.getCluster().getDevicesPerNode();
    RankGroup group;
    group.size = size;
    group.devicesPerNode = std::clamp<int64_t>(perNode / stride, 1, size);
    group.nodes = (size + group.devicesPerNode - 1) / group.devicesPerNode;
    return group;
  }

  double getProduct(int64_t rows, int64_t columns, int64_t contracted) const {
    OpCost cost;
    cost.kind = WorkKind::matrix;
    cost.flops = 2.0 * static_cast<double>(rows) *
                 static_cast<double>(columns) * static_cast<double>(contracted);
    cost.bytesRead = (rows + columns) * contracted * elementBytes;
    cost.bytesWritten = rows * columns * elementBytes;
    if (has("tiles")) {
      cost.rows = rows;
      cost.columns = columns;
      cost.contracted = contracted;
      cost.batch = 1;
    }
    return costs.getOpSeconds(cost);
  }

  double getAttention(bool isGradient) const {
    bool isFused = stack.attention == AttentionKernels::fused;
    if (!isFused && !has("attention"))
      return 0;
    OpCost cost;
    cost.kind = isGradient ? WorkKind::attentionGradient : WorkKind::attention;
    cost.rows = cost.columns = run.length;
    cost.contracted = run.hidden / run.heads;
    cost.batch = run.microBatch * run.heads / run.tensor;
    // Causal.
    cost.transcendentals = static_cast<double>(cost.batch) *
                           static_cast<double>(run.length) *
                           static_cast<double>(run.length) / 2;
    cost.flops = (isGradient ? 10 : 4) * cost.transcendentals *
                 static_cast<double>(cost.contracted);
    return costs.getOpSeconds(cost);
  }

  double getKernel(double bytes, WorkKind kind = WorkKind::elementwise) const {
    if (!has("elementwise"))
      return 0;
    OpCost cost;
    cost.kind = kind;
    cost.bytesRead = static_cast<int64_t>(bytes);
    return costs.getOpSeconds(cost);
  }

  double getCollective(CollectiveKind kind) const {
    if (!has("tensor"))
      return 0;
    return costs.getCollectiveSeconds(kind, tensorGroup,
                                      elementBytes * tokens * hidden);
  }

  /// Elements of a hidden state that a rank has between two products.
  double getStream() const {
    return static_cast<double>(tokens * hidden) /
           static_cast<double>(run.splitsSequence ? run.tensor : 1);
  }

  /// Without what recomputation leaves out when it stops early.
  double getForward(bool isShort = false) const;
  double getBackward() const;
  double getRecomputed() const;
  double getHead() const;
  double getEmbedding() const;
  double getLayerParameters() const;
  double getDataSeconds(double parameters, double lastBackward) const;
  /// From the first pass to the last.
  double simulate(const std::vector<double> &stages, double forwardShare,
                  double message) const;

  const Run &run;
  const CostModel &costs;
  const Stack &stack;
  const Omissions &omissions;
  double optimizerBytes;
  int64_t tokens, hidden, qkv, ffn, own;
  RankGroup tensorGroup;
};

double Step::getForward(bool isShort) const {
  double stream = getStream();
  auto every = static_cast<double>(tokens);
  double residual = stack.hasDropout ? 7 : 6;
  double seconds = getProduct(tokens, qkv, hidden) +
                   getProduct(tokens, hidden, own) +
                   getProduct(tokens, ffn, hidden) + getAttention(false);
  seconds += 2 * getKernel(4 * stream, WorkKind::reduction) +
             getKernel(residual * stream) +
             getKernel(4 * every * static_cast<double>(ffn)) +
             getKernel(6 * every * static_cast<double>(qkv)) +
             getKernel(4 * every * static_cast<double>(own));
  int collectives = isShort ? 1 : 2;
  if (!isShort)
    seconds += getProduct(tokens, hidden, ffn) + getKernel(residual * stream);
  if (!run.splitsSequence)
    return seconds + collectives * getCollective(CollectiveKind::allReduce);
  return seconds + 2 * getCollective(CollectiveKind::allGather) +
         collectives * getCollective(CollectiveKind::reduceScatter);
}

double Step::getBackward() const {
  double stream = getStream();
  auto every = static_cast<double>(tokens);
  double seconds = getAttention(true);
  // Products that split columns, whose input gradients are to be reduced; and
  // those that split rows.
  for (int64_t columns : {qkv, ffn}) {
    double input = getProduct(tokens, hidden, columns);
    double weight = getProduct(hidden, columns, tokens);
    seconds += input + weight;
    double reduction =
        getCollective(run.splitsSequence ? CollectiveKind::reduceScatter
                                         : CollectiveKind::allReduce);
    double again =
        run.splitsSequence ? getCollective(CollectiveKind::allGather) : 0;
    seconds += stack.overlapsTensorGradients
                   ? costs.getExposedSeconds(reduction, weight) +
                         costs.getExposedSeconds(again, input)
                   : reduction + again;
  }
  for (int64_t rows : {own, ffn}) {
    seconds +=
        getProduct(tokens, rows, hidden) + getProduct(rows, hidden, tokens);
    if (run.splitsSequence)
      seconds += getCollective(CollectiveKind::allGather);
  }
  seconds += 2 * getKernel(10 * stream, WorkKind::reduction) +
             2 * getKernel(6 * stream) +
             getKernel(6 * every * static_cast<double>(ffn)) +
             getKernel(2 * every * static_cast<double>(ffn + qkv)) +
             getKernel(6 * every * static_cast<double>(qkv));
  if (stack.hasDropout)
    seconds += 2 * getKernel(5 * stream);
  if (has("accumulation"))
    seconds += getKernel(run.accumulationBytes * getLayerParameters());
  return seconds;
}

double Step::getRecomputed() const {
  switch (run.recompute) {
  case Recompute::none:
    return 0;
  case Recompute::selective:
    return getAttention(false);
  case Recompute::full:
    return getForward(!stack.recomputesWholeBlocks);
  }
  return 0;
}

double Step::getHead() const {
  if (!has("head"))
    return 0;
  int64_t classes = run.vocabulary / run.tensor;
  double logits = static_cast<double>(tokens) * static_cast<double>(classes);
  double stream = getStream();
  return getProduct(tokens, classes, hidden) +
         getProduct(tokens, hidden, classes) +
         getProduct(hidden, classes, tokens) +
         getKernel(run.lossBytes * logits) +
         getKernel(14 * stream, WorkKind::reduction);
}

double Step::getEmbedding() const {
  if (!has("head"))
    return 0;
  return getKernel(12.0 * static_cast<double>(tokens * hidden));
}

double Step::getLayerParameters() const {
  return static_cast<double>(hidden) * static_cast<double>(qkv + own + 2 * ffn);
}

double Step::getDataSeconds(double parameters, double lastBackward) const {
  if (run.replicas == 1 || run.zeroStage == 3 || !has("data"))
    return 0;
  RankGroup group = getGroup(run.replicas, run.tensor);
  auto bytes =
      static_cast<int64_t>(parameters * static_cast<double>(run.gradientBytes));
  auto weights = static_cast<int64_t>(parameters * elementBytes);
  double reduction =
      run.zeroStage > 0
          ? costs.getCollectiveSeconds(CollectiveKind::reduceScatter, group,
                                       bytes)
          : costs.getCollectiveSeconds(CollectiveKind::allReduce, group, bytes);
  if (stack.overlapsGradientReduction)
    reduction = costs.getExposedSeconds(reduction, lastBackward);
  if (run.zeroStage > 0)
    reduction +=
        costs.getCollectiveSeconds(CollectiveKind::allGather, group, weights);
  return reduction;
}

double Step::simulate(const std::vector<double> &stages, double forwardShare,
                      double message) const {
  ScheduleShape shape;
  shape.kind = run.chunks > 1 ? ScheduleKind::interleaved
                              : ScheduleKind::oneForwardOneBackward;
  shape.positions = run.positions;
  shape.microBatches = run.microBatches;
  shape.chunks = run.chunks;
  StageTimes times;
  for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
    double seconds = stages[static_cast<size_t>(getPosition(shape, stage))] /
                     static_cast<double>(run.chunks);
    double backward = (1 - forwardShare) * seconds;
    times.push_back({forwardShare * seconds, backward / 2, backward / 2});
  }
  PipelineSchedule schedule = makeSchedule(shape, times, message);
  Timeline timeline = parplan::simulate(schedule, times, message);
  double last = 0;
  for (const auto &passes : timeline.passes)
    last = std::max(last, passes.empty() ? 0 : passes.back().endSeconds);
  return last;
}

Prediction Step::get(bool simulates) {
  Prediction result;
  result.layerForward = getForward();
  result.layerBackward = getBackward() + getRecomputed();
  if (run.isLayer) {
    result.step = result.layerForward + result.layerBackward;
    return result;
  }
  auto microBatches = static_cast<double>(run.microBatches);
  auto positions = static_cast<double>(run.positions);
  auto chunks = static_cast<double>(run.chunks);
  double layers = static_cast<double>(run.layers) / positions;
  double layer = result.layerForward + result.layerBackward;

  if (run.zeroStage == 3 && has("data")) {
    // Every layer is gathered for each of its passes, and its gradient is
    // scattered.
    RankGroup group = getGroup(run.replicas, run.tensor);
    double parameters = getLayerParameters();
    double gather = costs.getCollectiveSeconds(
        CollectiveKind::allGather, group,
        static_cast<int64_t>(parameters * elementBytes));
    double scatter = costs.getCollectiveSeconds(
        CollectiveKind::reduceScatter, group,
        static_cast<int64_t>(parameters *
                             static_cast<double>(run.gradientBytes)));
    double moved = 2 * gather + scatter;
    // What is recomputed is gathered once for both passes.
    layer += stack.overlapsParameterGathers
                 ? costs.getExposedSeconds(moved, layer)
                 : moved;
  }

  std::vector<double> stages(static_cast<size_t>(run.positions),
                             layers * layer);
  stages.front() += getEmbedding();
  stages.back() += getHead();
  double sum = 0, most = 0;
  for (double stage : stages) {
    sum += stage;
    most = std::max(most, stage);
  }
  if (!has("imbalance"))
    most = sum / positions;

  // A message there and one back for every chunk.
  double message = 0;
  if (run.positions > 1 && has("messages")) {
    RankGroup neighbours = getGroup(2, run.tensor * run.replicas);
    int64_t bytes = elementBytes * tokens * hidden;
    message = 2 * chunks *
              (run.splitsSequence
                   ? costs.getCollectiveSeconds(CollectiveKind::send,
                                                neighbours, bytes / run.tensor)
                   : costs.getMessageSeconds(neighbours, bytes, run.tensor));
  }
  result.messages = microBatches * message;
  if (has("bubble"))
    result.bubble = (sum - most + (positions - 1) * message) / chunks;

  double parameters = layers * getLayerParameters();
  if (has("head"))
    parameters +=
        static_cast<double>(run.vocabulary) * static_cast<double>(own);
  double lastBackward = most - layers * result.layerForward;
  result.data = getDataSeconds(parameters, lastBackward);
  if (run.positions > 1 && has("data"))
    // Both ends have the embedding.
    result.data += costs.getCollectiveSeconds(
        CollectiveKind::allReduce, getGroup(2, run.tensor * run.replicas),
        run.vocabulary * own * run.gradientBytes);
  if (has("optimizer")) {
    double held = parameters;
    if (run.zeroStage > 0)
      held /= static_cast<double>(run.replicas);
    OpCost update;
    update.bytesRead = static_cast<int64_t>(held * optimizerBytes);
    result.optimizer = costs.getOpSeconds(update);
  }
  double ends = result.data + result.optimizer;
  result.step = microBatches * (most + message) + result.bubble + ends;
  result.simulated = simulates && run.positions > 1
                         ? simulate(stages, result.layerForward / layer,
                                    message / 2 / chunks) +
                               ends
                         : result.step;
  return result;
}

} // namespace

Prediction published::predict(const Run &run, const CostModel &costs,
                              double optimizerBytesPerParameter,
                              const Omissions &omissions, bool simulates) {
  return Step(run, costs, optimizerBytesPerParameter, omissions).get(simulates);
}
