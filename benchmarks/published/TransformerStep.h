//===- TransformerStep.h - Training steps of published runs -----*- C++ -*-===//
//
// Part of parplan.
//
// Papers give step times of transformers with the numbers of a configuration
// and no graph. This lists the kernels, collectives and messages of such a step
// as the software of the time ran them; what each of them takes is said by
// lib/CostModel alone, as it is for every plan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BENCHMARKS_PUBLISHED_TRANSFORMERSTEP_H
#define PARPLAN_BENCHMARKS_PUBLISHED_TRANSFORMERSTEP_H

#include "parplan/CostModel/CostModel.h"

#include <set>
#include <string>

namespace parplan::published {

enum class Recompute { none, selective, full };

struct Run {
  int64_t layers = 1, hidden = 1, heads = 1, ffn = 1, vocabulary = 1,
          length = 1;
  int64_t tensor = 1, positions = 1, replicas = 1, chunks = 1;
  int64_t microBatch = 1, microBatches = 1;
  /// Norms and residuals are split over the tensor ranks.
  bool splitsSequence = false;
  int64_t zeroStage = 0;
  Recompute recompute = Recompute::none;
  Precision precision = Precision::fp16;
  /// Bytes of an element of a reduced gradient.
  int64_t gradientBytes = 2;
  /// Read and written per parameter where a micro-batch is added to the sum.
  double accumulationBytes = 6;
  /// Read and written per logit, forward and backward.
  double lossBytes = 36;
  /// One layer and nothing else.
  bool isLayer = false;
};

/// What is left out of a prediction, to see what it is worth: "attention",
/// "accumulation", "bubble", "data", "elementwise", "head", "imbalance",
/// "messages", "optimizer", "tensor", "tiles".
using Omissions = std::set<std::string>;

struct Prediction {
  double step = 0;
  /// Of one layer and one micro-batch, the recomputed forward pass in the
  /// second.
  double layerForward = 0, layerBackward = 0;
  double optimizer = 0, data = 0, messages = 0, bubble = 0;
  /// The step with the schedule simulated as for plans, where messages delay
  /// who waits for them and nobody else; only if asked for.
  double simulated = 0;
};

Prediction predict(const Run &run, const CostModel &costs,
                   double optimizerBytesPerParameter,
                   const Omissions &omissions = {}, bool simulates = false);

} // namespace parplan::published

#endif // PARPLAN_BENCHMARKS_PUBLISHED_TRANSFORMERSTEP_H
