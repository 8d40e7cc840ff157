//===- Padding.h - Where blocks are padded, and clearing it -----*- C++ -*-===//
//
// Part of parplan.
//
// S4: blocks are padded to the uniform size and padding is zero at every op
// boundary.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_PADDING_H
#define PARPLAN_PASSES_PARTITION_PADDING_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

namespace parplan {

/// Dimensions of a tensor with their global sizes and the axes that split them.
struct DimBlocks {
  llvm::SmallVector<int64_t> dims, sizes;
  llvm::SmallVector<AxisList> axes;

  bool empty() const { return dims.empty(); }
};

/// The dimensions that their axes do not divide.
DimBlocks getPaddedDims(llvm::ArrayRef<int64_t> shape, const Sharding &sharding,
                        const Mesh &mesh);

/// The padded dimensions of result `index` that `op` does not keep zero. `rule`
/// is that of the op with its global types.
DimBlocks getDirtyDims(ShardingRuleOpInterface op, const ShardingRule &rule,
                       const FactorAssignment &assignment, const Mesh &mesh,
                       unsigned index);

/// The padded dimensions of operand 0 over which `op` takes a maximum.
DimBlocks getPaddedMaximumDims(const ShardingRule &rule,
                               const FactorAssignment &assignment,
                               const Mesh &mesh);

/// Overwrites the padding of `blocks` in the local `value`.
mlir::Value clearPadding(mlir::OpBuilder &builder, mlir::Location location,
                         const ShardingAccess &access, mlir::Value value,
                         const DimBlocks &blocks, double fill);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_PADDING_H
