//===- AllPasses.cpp - Dialects and passes of parplan-opt -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "AllPasses.h"

#include "dialects/exec/ExecDialect.h"
#include "dialects/parplan/ParplanDialect.h"
#include "passes/Memory/Passes.h"
#include "passes/Order/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Plan/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Train/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

namespace parplan {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, ParplanDialect, exec::ExecDialect>();
}

void registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  registerPlanPasses();
  registerMemoryPasses();
  registerOrderPasses();
  registerPartitionPasses();
  registerPipelinePasses();
  registerSchedulePasses();
  registerSimplifyPasses();
  registerTrainPasses();
}

} // namespace parplan
