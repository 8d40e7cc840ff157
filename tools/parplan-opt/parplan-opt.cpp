//===- parplan-opt.cpp - Runs passes of parplan on text -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "AllPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  parplan::registerAllDialects(registry);
  parplan::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "parplan's optimizer\n", registry));
}
