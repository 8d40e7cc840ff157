//===- Pipeline.cpp - The simplify phase ----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildSimplifyPipeline(mlir::OpPassManager &manager) {
  // Composites first: blocks are compared by what they compute, and raised ones
  // have a third of the ops.
  manager.addPass(createRaise());
  // Experts are compared by what they compute, too, and blocks have loops of
  // fewer ops.
  manager.addPass(createRaiseExpertLoops());
  manager.addPass(createNumberBlocks());
  manager.addPass(createVerifySimplified());
}

} // namespace parplan
