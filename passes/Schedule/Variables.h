//===- Variables.h - Where the new values of variables go -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_VARIABLES_H
#define PARPLAN_PASSES_SCHEDULE_VARIABLES_H

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan {

/// A result of a training step that replaces a variable.
struct VariableResult {
  unsigned index = 0;
  /// The op that reads the old value: a parameter or a bucket of them.
  mlir::Operation *parameter = nullptr;
  /// The tensor whose definition can write to the variable at once; null where
  /// the result has to be copied there at the end of the step.
  mlir::Value written;
};

/// Finds the results of `function` that replace variables. Moves writers, and
/// what depends on them, behind the last reader of the old value where that
/// lets them write in place. Fails, with a diagnostic, where no parameter reads
/// a variable.
llvm::FailureOr<llvm::SmallVector<VariableResult>>
placeVariables(mlir::func::FuncOp function, const Mesh &mesh);

/// The variable or the bucket that a result of a training step replaces; null
/// for other results.
mlir::Attribute getVariable(mlir::func::FuncOp function, unsigned result);

/// Slices of arguments and parameters whose elements lie side by side: a view
/// of their bytes. Elsewhere a view would keep all of its tensor alive.
bool isInputView(SliceOp slice);
/// The first element of such a slice in the tensor.
int64_t getViewOffset(SliceOp slice);

/// The tensor whose definition makes the bytes of `value`, through reshapes and
/// other aliases, if they serve nothing else; null otherwise.
mlir::Value findDefinition(mlir::Value value, const Mesh &mesh);

/// Whether a kernel loads from `input` only what it stores at the same index.
bool loadsWhereItStores(exec::KernelOp kernel, unsigned input);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_VARIABLES_H
