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

/// parplan-verify-programs, which leaves in `extracted` what it verified for
/// the simulator; that takes too long to do twice.
std::unique_ptr<mlir::Pass> createVerifyPrograms(Program *extracted);

/// Appends the schedule phase: in, the program of one rank on tensors; out, an
/// `exec.program`, and in `extracted` what it does, where somebody asks for it.
/// Every pass also runs alone. `costs` and `extracted` must outlive them.
void buildSchedulePipeline(mlir::OpPassManager &manager,
                           const PlanCosts *costs = nullptr,
                           Program *extracted = nullptr);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PASSES_H
