//===- TrainingOptions.h - What a training step is to do --------*- C++ -*-===//
//
// Part of parplan. No MLIR here: the command line fills it in.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_TRAININGOPTIONS_H
#define PARPLAN_PASSES_TRAIN_TRAININGOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

enum class LossKind { crossEntropy, meanSquaredError, output };

enum class OptimizerRule { sgd, momentum, adam, adamw };

/// Hyper-parameters with PyTorch's defaults.
struct OptimizerOptions {
  OptimizerRule kind = OptimizerRule::adamw;
  double learningRate = 1e-3;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 0.01;
};

enum class ComputePrecision { fp32, bf16, fp16 };

struct TrainingOptions {
  LossKind loss = LossKind::crossEntropy;
  /// The output of the model that the loss reads; empty: the first one.
  std::string lossOutput;
  OptimizerOptions optimizer;
  /// Largest global norm of the gradients.
  std::optional<double> clipNorm;
  bool reportGradientNorm = false;
  /// Globs of initializers that stay as they are.
  std::vector<std::string> frozen;
  ComputePrecision precision = ComputePrecision::fp32;
  /// The step gives the number of labels that its loss is the mean over.
  bool countsLabels = false;
  /// Multiplies the loss by a scale and divides gradients; fp16 always does.
  bool scalesLoss = false;
  int64_t microBatches = 1;
  /// Samples of one micro-batch, over all replicas; 0: what the module has.
  int64_t microBatchSize = 0;
};

} // namespace parplan

#endif // PARPLAN_PASSES_TRAIN_TRAININGOPTIONS_H
