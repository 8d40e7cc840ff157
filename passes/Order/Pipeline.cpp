//===- Pipeline.cpp - The order phase -------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Order/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildOrderPipeline(mlir::OpPassManager &manager, int64_t ranks) {
  manager.addPass(createBringIntoZigzagOrder({ranks}));
  manager.addPass(createVerifyOrder());
}

} // namespace parplan
