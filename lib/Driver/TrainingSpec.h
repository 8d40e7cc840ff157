//===- TrainingSpec.h - The options of training -----------------*- C++ -*-===//
//
// Part of parplan. docs/cli.md has their syntax.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_TRAININGSPEC_H
#define PARPLAN_DRIVER_TRAININGSPEC_H

#include "lib/Driver/Options.h"
#include "parplan/Support/Diagnostics.h"

#include <string_view>

namespace parplan {

/// `cross-entropy`, `mse`, `cross-entropy:LOGITS`, `mse:OUTPUT`, `output:NAME`.
void parseLoss(std::string_view text, TrainingOptions &options,
               DiagnosticEngine &engine);

/// `adamw:lr=3e-4,beta1=0.9`. Reports keys that the optimizer does not have and
/// values out of range.
OptimizerOptions parseOptimizer(std::string_view text,
                                DiagnosticEngine &engine);

/// `cosine:warmup=10,total=1000,final=0.1`.
LearningRateOptions parseLearningRateSchedule(std::string_view text,
                                              DiagnosticEngine &engine);

/// The options as they are read, every key given.
std::string printLoss(const TrainingOptions &options);
std::string printOptimizer(const OptimizerOptions &options);
std::string printLearningRateSchedule(const LearningRateOptions &options);

} // namespace parplan

#endif // PARPLAN_DRIVER_TRAININGSPEC_H
