//===- Passes.h - From imported ops to composites ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_PASSES_H
#define PARPLAN_PASSES_SIMPLIFY_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Simplify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Simplify/Passes.h.inc"

/// Appends the simplify phase: in, what the importer emits; out, composites,
/// parameters as views, numbered blocks.
void buildSimplifyPipeline(mlir::OpPassManager &manager);

} // namespace parplan

#endif // PARPLAN_PASSES_SIMPLIFY_PASSES_H
