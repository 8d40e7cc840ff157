//===- RaisedModel.h - A model before and after it is simplified *- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SIMPLIFY_RAISEDMODEL_H
#define PARPLAN_TEST_UNIT_SIMPLIFY_RAISEDMODEL_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Simplify/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace parplan::test {

/// A module of one function, simplified, or behind other passes. Expects that
/// the function computes the same of the same random numbers as before.
class RaisedModel {
public:
  explicit RaisedModel(const std::string &text,
                       llvm::function_ref<void(mlir::OpPassManager &)>
                           addPasses = buildSimplifyPipeline);

  /// How many ops of a kind it has now.
  template <typename Op> int count() {
    int ops = 0;
    module->walk([&](Op) { ++ops; });
    return ops;
  }
  template <typename Op> bool contains(llvm::function_ref<bool(Op)> isSought) {
    bool found = false;
    module->walk([&](Op op) { found |= isSought(op); });
    return found;
  }
  /// Initializers that are stacks.
  int countStacks();

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SIMPLIFY_RAISEDMODEL_H
