//===- Pipeline.cpp - The memory phase ------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace parplan {

void buildMemoryPipeline(mlir::OpPassManager &manager, int64_t bucketBytes,
                         const PlanCosts *costs) {
  // First: gathers of buckets take the place of those of their members.
  if (bucketBytes > 0)
    manager.addPass(createBucketGradients({bucketBytes}));
  // What servers keep are buckets.
  manager.addPass(createSplitServers());
  manager.addPass(createKeepUpdatedPieces());
  // It orders the gathers that are left.
  manager.addPass(createPrefetchGathers(costs));
  // Last: uploads are for readers in their final places.
  manager.addPass(createInsertTransfers());
  manager.addPass(createVerifyMemory());
}

} // namespace parplan
