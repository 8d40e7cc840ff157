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

class PlanCosts;

#define GEN_PASS_DECL
#include "passes/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// parplan-prefetch-gathers by these costs, which must outlive the pass; by
/// those of the preset `host` where there are none.
std::unique_ptr<mlir::Pass> createPrefetchGathers(const PlanCosts *costs);

/// Appends the memory phase. `bucketBytes` is about what a bucket of gradients
/// holds; 0 leaves every variable alone. `costs` must outlive the passes.
void buildMemoryPipeline(mlir::OpPassManager &manager, int64_t bucketBytes,
                         const PlanCosts *costs);

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_PASSES_H
