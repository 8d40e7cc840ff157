//===- Pipeline.cpp - The schedule phase as a document --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildSchedulePasses(mlir::OpPassManager &manager, const PlanCosts *costs) {
  // First, so that the transposes it adds can be fused into what produces them.
  manager.addPass(createLegalizeLayouts());
  // Before placement: what is fused away needs no buffer.
  manager.addPass(createFuseElementwise());
  // After fusion, which asks for few ops and not for their order.
  manager.addPass(createDelayKernels());
  // After them: which op is the last to read a value is known.
  manager.addPass(createHoistLastReaders());
  manager.addPass(createToExec(costs));
}

void buildSchedulePipeline(mlir::OpPassManager &manager,
                           const PlanCosts *costs) {
  buildSchedulePasses(manager, costs);
  // The verifier of exec.program has looked at each program; this closes the
  // phase.
  manager.addPass(createVerifyPrograms());
}

} // namespace parplan
