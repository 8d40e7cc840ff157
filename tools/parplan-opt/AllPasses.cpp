//===- AllPasses.cpp - Dialects and passes of parplan-opt -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "AllPasses.h"

#include "dialects/parplan/ParplanDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

namespace parplan {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, ParplanDialect>();
}

void registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}

} // namespace parplan
