//===- LocalRings.h - Attention over keys in a ring -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_LOCALRINGS_H
#define PARPLAN_PASSES_PARTITION_LOCALRINGS_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

namespace parplan {

/// Builds the ring of `op`, an attention or its gradient whose assignment has
/// panels of the keys (S21), from its local operands. Its results have the
/// shapes of blocks, but may be wider. Fails, with a diagnostic, on a mask
/// whose keys are split over a part of the ring.
mlir::FailureOr<mlir::Operation *>
createRingOp(mlir::OpBuilder &builder, mlir::Operation *op,
             mlir::ValueRange localOperands, const ShardingRule &rule,
             const FactorAssignment &assignment, const ShardingAccess &access);

/// Checks that keys, values and their gradients lie split as a ring of them
/// says (S21). Other ops pass.
mlir::LogicalResult verifyRingOp(mlir::Operation *op,
                                 const ShardingAccess &access);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_LOCALRINGS_H
