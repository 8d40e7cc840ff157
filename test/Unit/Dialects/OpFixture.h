//===- OpFixture.h - One op of the dialect, from text -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_DIALECTS_OPFIXTURE_H
#define PARPLAN_TEST_UNIT_DIALECTS_OPFIXTURE_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace parplan::test {

/// A function with one op, written as its generic parts:
///   OpFixture fixture("parplan.relu %0 : tensor<4xf32>", {"4xf32"});
/// The arguments %0, %1, .. have the given tensor types.
class OpFixture {
public:
  OpFixture(const std::string &op, const std::vector<std::string> &arguments,
            const std::string &preamble = "");

  mlir::func::FuncOp getFunction();
  /// The last op before the return.
  mlir::Operation *getOp();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_DIALECTS_OPFIXTURE_H
