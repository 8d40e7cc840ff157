//===- OpFamilies.h - What ops of a family share ----------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect; definitions generated from
// ParplanOps.td call these.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_OPFAMILIES_H
#define PARPLAN_DIALECTS_PARPLAN_OPFAMILIES_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// One factor d0, d1, .. per result dimension of more than one element;
/// operands are aligned at the right and lack the factors they broadcast over.
ShardingRule getElementwiseRule(mlir::Operation *op);
OpWork getElementwiseWork(mlir::Operation *op);
bool elementwiseKeepsZeroPadding(mlir::Operation *op, int factor);

/// Checks of local moves and collectives: S1, S2, the operand's sharding, and
/// that `out_sharding` is what the move makes of it.
mlir::LogicalResult verifyMove(mlir::Operation *op);

/// Checks of `send` and `receive` (P9).
mlir::LogicalResult verifyPointToPoint(mlir::Operation *op);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_OPFAMILIES_H
