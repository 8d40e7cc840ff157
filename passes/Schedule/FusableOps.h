//===- FusableOps.h - Which ops can be part of a kernel ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_FUSABLEOPS_H
#define PARPLAN_PASSES_SCHEDULE_FUSABLEOPS_H

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include <optional>

namespace parplan {

/// The function of an op that applies one to each element.
std::optional<exec::ScalarFunction> getFunction(mlir::Operation *op);
/// Elementwise ops that can be part of a kernel.
bool isFusable(mlir::Operation *op);
/// Fusable ops that read no tensor: computed wherever they are used.
bool isFree(mlir::Operation *op);
/// Fusable ops that only say which element to take.
bool isIndexing(mlir::Operation *op);
/// A function that costs many times an addition.
bool isCostly(mlir::Operation *op);
/// Reshapes that only add or drop dimensions of size 1.
bool isUnitReshape(mlir::Operation *op);

/// Whether an attention reads the operand as the position of its queries: the
/// start of a block is then a number that the rank knows, and no array.
bool readsPosition(mlir::OpOperand &use);

/// Whether an attention reads the operand through strides, so that it may be a
/// transposed view.
bool readsHeadsByStrides(mlir::OpOperand &use);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_FUSABLEOPS_H
