//===- PanelLoops.h - Local ops that move panels ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_PANELLOOPS_H
#define PARPLAN_PASSES_PARTITION_PANELLOOPS_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

namespace parplan {

/// Builds the local op of `op`, whose assignment has panels (S21), from its
/// local operands; result types are those of blocks. Only rules of ops that
/// have such a local op allow panels.
mlir::Operation *createPanelOp(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::ValueRange localOperands,
                               const ShardingRule &rule,
                               const FactorAssignment &assignment,
                               const ShardingAccess &access);

/// Checks that operands and results of a local op with panels lie split along
/// the panel dimension as the op says (S21). Other ops pass.
mlir::LogicalResult verifyPanelOp(mlir::Operation *op,
                                  const ShardingAccess &access);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_PANELLOOPS_H
