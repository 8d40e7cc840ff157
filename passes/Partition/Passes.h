//===- Passes.h - From sharded global types to local programs ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_PASSES_H
#define PARPLAN_PASSES_PARTITION_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
}

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"

/// Appends the partition phase: in, a planned module with global types; out,
/// the program of one rank. Every pass of it also runs alone.
void buildPartitionPipeline(mlir::OpPassManager &manager);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_PASSES_H
