//===- Passes.h - From a forward pass to a training step --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_PASSES_H
#define PARPLAN_PASSES_TRAIN_PASSES_H

#include "passes/Train/Parameters.h"
#include "passes/Train/TrainingOptions.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Train/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Train/Passes.h.inc"

/// The pass with the exporter's marks, which options would have to list.
std::unique_ptr<mlir::Pass>
createSelectParameters(SelectParametersOptions options, InitializerMarks marks);

/// Appends the train phase: in, a simplified @main; out, one training step.
/// Errors of these passes are the user's, at the location of an op: a node of
/// the model. `createVerifyStep` closes the phase; its errors are internal.
void buildTrainPipeline(mlir::OpPassManager &manager,
                        const TrainingOptions &options, InitializerMarks marks);

} // namespace parplan

#endif // PARPLAN_PASSES_TRAIN_PASSES_H
