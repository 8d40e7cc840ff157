//===- Layouts.h - No implicit change of layout -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_LAYOUTS_H
#define PARPLAN_PASSES_PARTITION_LAYOUTS_H

#include "passes/Partition/ShardingAccess.h"

namespace parplan {

/// A local move or a collective: states its result as `out_sharding`.
bool isMove(mlir::Operation *op);

/// Checks, on global types, that every operand lies in the layout that its op
/// reads, every result in the layout that its op makes (S7, S8, S9), variables
/// where they rest, and that no reshard is left. Reports every fault.
mlir::LogicalResult verifyLayouts(mlir::func::FuncOp function,
                                  const ShardingAccess &access);

/// Checks that results which replace a variable end where the parameter that
/// reads it rests. Reports every fault.
mlir::LogicalResult verifyVariables(mlir::func::FuncOp function,
                                    const ShardingAccess &access);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_LAYOUTS_H
