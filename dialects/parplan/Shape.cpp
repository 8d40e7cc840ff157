//===- Shape.cpp - Operations that move elements --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/OpFamilies.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getTensorType(getInput()), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type from ")
           << from.getElementType() << " to " << to.getElementType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("changes the number of elements from ")
           << from.getNumElements() << " to " << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  setOperand(inner.getInput());
  return getResult();
}

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule =
      getReshapeRule(getShape(getInput()), getShape(getResult()));
  rule.linearity = Linearity::jointly;
  return rule;
}
OpWork ReshapeOp::getWork() {
  OpWork work;
  work.kind = WorkKind::none;
  return work;
}
bool ReshapeOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getTensorType(getInput()), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type from ")
           << from.getElementType() << " to " << to.getElementType();
  if (!broadcastsTo(from.getShape(), to.getShape()))
    return emitOpError("shape ")
           << printShape(from.getShape()) << " does not broadcast to "
           << printShape(to.getShape());
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput())
                                           : OpFoldResult();
}

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule = getElementwiseRule(*this);
  rule.linearity = Linearity::jointly;
  return rule;
}
OpWork BroadcastOp::getWork() { return getCopyWork(); }
bool BroadcastOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  ArrayRef<int64_t> input = getShape(adaptor.getInput());
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.size())))
    return emitOptionalError(location, "[", permutation,
                             "] is not a permutation of the ", input.size(),
                             " dimensions");
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(input[dim]);
  types.push_back(RankedTensorType::get(
      shape, getTensorType(adaptor.getInput()).getElementType()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> joined;
  for (int64_t dim : getPermutation())
    joined.push_back(inner.getPermutation()[dim]);
  setOperand(inner.getInput());
  setPermutation(joined);
  return getResult();
}

ShardingRule TransposeOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [dim, from] : llvm::enumerate(getPermutation()))
    builder.addParallel("d" + Twine(from), from, dim);
  return builder.finish(Linearity::jointly);
}
OpWork TransposeOp::getWork() { return getCopyWork(); }
bool TransposeOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        OptionalLocation location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (failed(requireDims(location, dims, input.getRank())))
    return failure();
  if (adaptor.getStarts().size() != dims.size() ||
      adaptor.getLimits().size() != dims.size() ||
      adaptor.getSteps().size() != dims.size())
    return emitOptionalError(
        location, "needs one start, limit and step per sliced dimension");
  Shape shape(input.getShape());
  for (auto [dim, start, limit, step] :
       llvm::zip(dims, adaptor.getStarts(), adaptor.getLimits(),
                 adaptor.getSteps())) {
    int64_t size = input.getDimSize(dim);
    bool forward = step > 0 && 0 <= start && start <= limit && limit <= size;
    bool backward = step < 0 && -1 <= limit && limit <= start && start < size;
    if (!forward && !backward)
      return emitOptionalError(location, "slice ", start, ":", limit, ":", step,
                               " of dimension ", dim, " with ", size,
                               " elements");
    shape[dim] = forward ? ceilDivide(limit - start, step)
                         : ceilDivide(start - limit, -step);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

/// Dimensions outside of `changed` are parallel, the others get blocked
/// factors.
static ShardingRule getRuleExcept(Operation *op, ArrayRef<int64_t> changed,
                                  Linearity linearity) {
  RuleBuilder builder(op);
  for (auto [dim, size] : llvm::enumerate(getShape(op->getResult(0)))) {
    if (llvm::is_contained(changed, static_cast<int64_t>(dim)))
      continue;
    int factor = builder.add("d" + Twine(dim), size);
    builder.result(0, dim, factor);
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      builder.operand(operand, dim, factor);
  }
  return builder.finish(linearity);
}

ShardingRule SliceOp::getShardingRule() {
  return getRuleExcept(*this, getDims(), Linearity::jointly);
}
OpWork SliceOp::getWork() { return getCopyWork(); }
bool SliceOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         OptionalLocation location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "needs at least one input");
  RankedTensorType first = getTensorType(adaptor.getInputs().front());
  int64_t dim = adaptor.getDim();
  if (failed(requireDim(location, dim, first.getRank())))
    return failure();
  Shape shape(first.getShape());
  for (Value input : adaptor.getInputs().drop_front()) {
    RankedTensorType type = getTensorType(input);
    Shape expected(shape);
    if (type.getRank() == first.getRank())
      expected[dim] = type.getDimSize(dim);
    if (type.getShape() != ArrayRef(expected) ||
        type.getElementType() != first.getElementType())
      return emitOptionalError(location, "cannot join ", type, " to ", first,
                               " along dimension ", dim);
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

ShardingRule ConcatOp::getShardingRule() {
  return getRuleExcept(*this, static_cast<int64_t>(getDim()),
                       Linearity::jointly);
}
OpWork ConcatOp::getWork() { return getCopyWork(); }
bool ConcatOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (failed(requireDims(location, dims, input.getRank())))
    return failure();
  if (adaptor.getLow().size() != dims.size() ||
      adaptor.getHigh().size() != dims.size())
    return emitOptionalError(
        location, "needs a low and a high count per padded dimension");
  Shape shape(input.getShape());
  for (auto [dim, low, high] :
       llvm::zip(dims, adaptor.getLow(), adaptor.getHigh())) {
    if (low < 0 || high < 0)
      return emitOptionalError(location, "pads dimension ", dim, " by ", low,
                               " and ", high);
    shape[dim] += low + high;
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

ShardingRule PadOp::getShardingRule() {
  return getRuleExcept(*this, getDims(),
                       getValue().isZero() ? Linearity::jointly
                                           : Linearity::none);
}
OpWork PadOp::getWork() { return getCopyWork(); }
bool PadOp::keepsZeroPadding(int) { return getValue().isZero(); }

} // namespace parplan
