//===- Passes.h - From local programs to statements -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_PASSES_H
#define PARPLAN_PASSES_SCHEDULE_PASSES_H

#include "dialects/exec/ExecDialect.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
}

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

/// Appends the schedule phase: in, the program of one rank on tensors; out, an
/// `exec.program`. Every pass of it also runs alone.
void buildSchedulePipeline(mlir::OpPassManager &manager);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PASSES_H
