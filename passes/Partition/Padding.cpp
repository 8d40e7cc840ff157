//===- Padding.cpp - Where blocks are padded, and clearing it -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Padding.h"

using namespace mlir;

namespace parplan {

DimBlocks getPaddedDims(ArrayRef<int64_t> shape, const Sharding &sharding,
                        const Mesh &mesh) {
  DimBlocks padded;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const AxisList &axes = sharding.dims[dim];
    if (size % mesh.getWidth(axes) == 0)
      continue;
    padded.dims.push_back(dim);
    padded.sizes.push_back(size);
    padded.axes.push_back(axes);
  }
  return padded;
}

/// The padded dimensions of a tensor whose factor `isWanted` accepts.
/// Dimensions of several factors are never padded (S10).
static DimBlocks
selectPaddedDims(const TensorFactors &tensor, const ShardingRule &rule,
                 const FactorAssignment &assignment, const Mesh &mesh,
                 llvm::function_ref<bool(int factor)> isWanted) {
  DimBlocks padded;
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    if (factors.size() != 1)
      continue;
    int factor = factors.front();
    int64_t size = rule.factors[factor].size;
    const AxisList &axes = assignment.axes[factor];
    if (size % mesh.getWidth(axes) == 0 || !isWanted(factor))
      continue;
    padded.dims.push_back(dim);
    padded.sizes.push_back(size);
    padded.axes.push_back(axes);
  }
  return padded;
}

DimBlocks getDirtyDims(ShardingRuleOpInterface op, const ShardingRule &rule,
                       const FactorAssignment &assignment, const Mesh &mesh,
                       unsigned index) {
  return selectPaddedDims(
      rule.results[index], rule, assignment, mesh,
      [&](int factor) { return !op.keepsZeroPadding(factor); });
}

DimBlocks getPaddedMaximumDims(const ShardingRule &rule,
                               const FactorAssignment &assignment,
                               const Mesh &mesh) {
  return selectPaddedDims(
      rule.operands[0], rule, assignment, mesh, [&](int factor) {
        return rule.factors[factor].kind == FactorKind::reduceMax;
      });
}

Value clearPadding(OpBuilder &builder, Location location,
                   const ShardingAccess &access, Value value,
                   const DimBlocks &blocks, double fill) {
  SmallVector<Attribute> axes;
  for (const AxisList &list : blocks.axes)
    axes.push_back(access.getAttr(list));
  return builder.create<ClearPaddingOp>(
      location, value.getType(), value,
      builder.getDenseI64ArrayAttr(blocks.dims),
      builder.getDenseI64ArrayAttr(blocks.sizes), builder.getArrayAttr(axes),
      builder.getF64FloatAttr(fill));
}

} // namespace parplan
