//===- Pipeline.cpp - The train phase -------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"

#include "parplan/Support/Check.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

static const char *getName(LossKind loss) {
  switch (loss) {
  case LossKind::crossEntropy:
    return "cross-entropy";
  case LossKind::meanSquaredError:
    return "mse";
  case LossKind::output:
    return "output";
  }
  PARPLAN_UNREACHABLE("unknown loss ", static_cast<int>(loss));
}

static const char *getName(OptimizerRule rule) {
  switch (rule) {
  case OptimizerRule::sgd:
    return "sgd";
  case OptimizerRule::momentum:
    return "momentum";
  case OptimizerRule::adam:
    return "adam";
  case OptimizerRule::adamw:
    return "adamw";
  }
  PARPLAN_UNREACHABLE("unknown optimizer ", static_cast<int>(rule));
}

static AddOptimizerOptions getOptions(const TrainingOptions &options) {
  const OptimizerOptions &optimizer = options.optimizer;
  AddOptimizerOptions result;
  result.kind = getName(optimizer.kind);
  result.momentum = optimizer.momentum;
  result.beta1 = optimizer.beta1;
  result.beta2 = optimizer.beta2;
  result.epsilon = optimizer.epsilon;
  result.weightDecay = optimizer.weightDecay;
  result.clipNorm = options.clipNorm.value_or(0);
  result.reportNorm = options.reportGradientNorm;
  return result;
}

void buildTrainPipeline(mlir::OpPassManager &manager,
                        const TrainingOptions &options,
                        InitializerMarks marks) {
  //===--- What is trained, and on what ----------------------------------===//

  // First: what the loss does not need must not be followed or refused.
  manager.addPass(createSelectOutput({options.lossOutput}));
  SelectParametersOptions selection;
  selection.freeze = options.frozen;
  manager.addPass(createSelectParameters(selection, std::move(marks)));
  manager.addPass(createSplitParameters());
  // Before the loss, whose mean counts the elements of a micro-batch.
  manager.addPass(createSetBatch({options.microBatches, options.microBatchSize,
                                  options.loss == LossKind::output}));

  //===--- The step -------------------------------------------------------===//

  bool isHalf = options.precision == ComputePrecision::fp16;
  bool isScaled = isHalf || options.scalesLoss;
  manager.addPass(
      createAddLoss({getName(options.loss), isScaled, options.countsLabels}));
  // Before the gradients, which then have the types of what they belong to.
  if (options.precision != ComputePrecision::fp32)
    manager.addPass(createSetPrecision({isHalf ? "f16" : "bf16"}));
  manager.addPass(createKeepStatistics());
  manager.addPass(createDifferentiate());
  manager.addPass(createAddOptimizer(getOptions(options)));
  // createVerifyStep runs behind this pipeline, on its own: errors of the
  // passes above are the user's, its errors are internal.
}

} // namespace parplan
