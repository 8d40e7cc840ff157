//===- Passes.h - The order of work in a step -------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_PASSES_H
#define PARPLAN_PASSES_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
}

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Pipeline/Passes.h.inc"

/// Appends the pipeline phase: in, the program of one rank; out, that of one
/// whole step, with all its micro-batches in order.
void buildPipelinePipeline(mlir::OpPassManager &manager);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_PASSES_H
