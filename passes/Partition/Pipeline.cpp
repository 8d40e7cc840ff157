//===- Pipeline.cpp - The partition phase as a document -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildPartitionPipeline(mlir::OpPassManager &manager) {
  //===--------------------------------------------------------------------===//
  // Explicit layouts: global types
  //===--------------------------------------------------------------------===//

  // First, so that the reductions inside composites are values with layouts.
  manager.addPass(createDecomposeSplitComposites());
  // Every change of layout becomes visible before any is carried out: equal
  // ones are shared here.
  manager.addPass(createInsertReshards());
  manager.addPass(createReshardsToCollectives());

  //===--------------------------------------------------------------------===//
  // The program of one rank: local types
  //===--------------------------------------------------------------------===//

  manager.addPass(createLocalize());
  manager.addPass(createVerifyLocal());
}

} // namespace parplan
