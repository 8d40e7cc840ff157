//===- Pipeline.cpp - The pipeline phase ----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildPipelinePipeline(mlir::OpPassManager &manager) {
  // On the program of one rank: what it writes out is no more planned or split.
  manager.addPass(createUnrollMicroBatches());
  // Closes the phase.
  manager.addPass(createVerifyUnrolled());
}

} // namespace parplan
