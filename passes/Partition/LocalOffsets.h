//===- LocalOffsets.h - Local ops that depend on positions ------*- C++ -*-===//
//
// Part of parplan.
//
// Ops whose values depend on where a block starts, shifted by
// `parplan.block_start` (S3).
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_LOCALOFFSETS_H
#define PARPLAN_PASSES_PARTITION_LOCALOFFSETS_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

namespace parplan {

/// The indices along the iota's dimension of a rank's block.
mlir::Value createLocalIota(mlir::OpBuilder &builder, IotaOp iota,
                            const Sharding &sharding,
                            const ShardingAccess &access);

/// The rank's block of an affine mask.
mlir::Value createLocalMask(mlir::OpBuilder &builder, AffineMaskOp mask,
                            const Sharding &sharding,
                            const ShardingAccess &access);

/// Makes the owner of `ids`, the clone of an embedding or of its gradient whose
/// table of `rowCount` rows is split by `axes`, read ids relative to the first
/// row of the block. Ids of other blocks then lie outside the table or in its
/// padding.
void shiftIds(mlir::OpOperand &ids, int64_t rowCount, llvm::ArrayRef<int> axes,
              const ShardingAccess &access);

/// A dimension and the axes that split it.
struct SplitDim {
  int64_t size;
  llvm::ArrayRef<int> axes;
};

/// Makes `offset`, the query offset of a causal attention or null, the position
/// of the first query of the block relative to its first key.
mlir::Value shiftOffset(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value offset, SplitDim queries, SplitDim keys,
                        const ShardingAccess &access);

/// The same for `local`, the clone of an attention or of its gradient.
void shiftQueries(mlir::Operation *local, SplitDim queries, SplitDim keys,
                  const ShardingAccess &access);

/// Makes `local`, the clone of a dispatch to experts, of its inverse, of their
/// gradient or of a product of the experts' rows, count its experts from the
/// first one of the block. There are `groupCount` groups of them, split by
/// `axes`.
void shiftExperts(mlir::Operation *local, int64_t groupCount,
                  llvm::ArrayRef<int> axes, const ShardingAccess &access);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_LOCALOFFSETS_H
