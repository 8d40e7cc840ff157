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
  // First: copies belong to the stage of what they copy.
  manager.addPass(createRecompute());
  manager.addPass(createPlaceStages());
  manager.addPass(createUnrollMicroBatches());
  // Close the phase.
  manager.addPass(createVerifyUnrolled());
  manager.addPass(createVerifyPipeline());
}

} // namespace parplan
