//===- Passes.h - Memory of a training step ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_MEMORY_PASSES_H
#define PARPLAN_PASSES_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
}

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// Appends the memory phase. `bucketBytes` is about what a bucket of gradients
/// holds; 0 leaves every variable alone.
void buildMemoryPipeline(mlir::OpPassManager &manager, int64_t bucketBytes);

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_PASSES_H
