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

class PlanCosts;
struct Program;

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

/// parplan-to-exec by these costs, which must outlive the pass; by those of the
/// preset `host` where there are none.
std::unique_ptr<mlir::Pass> createToExec(const PlanCosts *costs);

/// parplan-verify-programs on a module that is verified. Leaves in `extracted`,
/// which must outlive the pass, what it has found for the simulator: that takes
/// too long to do twice.
std::unique_ptr<mlir::Pass> createVerifyPrograms(Program *extracted);

/// Appends the schedule phase but for what closes it: in, the program of one
/// rank on tensors; out, an `exec.program`. `costs` must outlive the passes.
void buildSchedulePasses(mlir::OpPassManager &manager, const PlanCosts *costs);

/// Appends the schedule phase. Every pass of it also runs alone. `costs` must
/// outlive them.
void buildSchedulePipeline(mlir::OpPassManager &manager,
                           const PlanCosts *costs = nullptr);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PASSES_H
