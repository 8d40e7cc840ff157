//===- Step.h - What passes of the phase do to @main ------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_STEP_H
#define PARPLAN_PASSES_TRAIN_STEP_H

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan::train {

/// The function @main; reports that there is none.
mlir::func::FuncOp findMain(mlir::ModuleOp module);

/// Erases ops without uses, from the end.
void eraseUnused(mlir::Block &block);

/// A result of @main with its attributes.
struct StepResult {
  mlir::Value value;
  mlir::DictionaryAttr attributes;
};

llvm::SmallVector<StepResult> getResults(mlir::func::FuncOp function);
void setResults(mlir::func::FuncOp function,
                llvm::ArrayRef<StepResult> results);
/// `result` with the name that reports call it by.
StepResult makeNamedResult(mlir::Value value, llvm::StringRef name);

/// The argument with that `parplan.schedule`, or null.
mlir::Value findScheduled(mlir::func::FuncOp function,
                          llvm::StringRef schedule);
/// The same; added as a scalar of `element` where it is missing.
mlir::Value getScheduled(mlir::func::FuncOp function, llvm::StringRef schedule,
                         mlir::Type element);

/// Name of argument or result `index` in the model; empty if it has none.
llvm::StringRef getArgumentName(mlir::func::FuncOp function, unsigned index);
llvm::StringRef getResultName(mlir::func::FuncOp function, unsigned index);

/// Ops that depend on an argument with `parplan.batch`, up to and without
/// `parplan.accumulate`.
llvm::DenseSet<mlir::Operation *>
findMicroBatchOps(mlir::func::FuncOp function);

} // namespace parplan::train

#endif // PARPLAN_PASSES_TRAIN_STEP_H
