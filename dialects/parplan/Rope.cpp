//===- Rope.cpp - Rotary embedding ----------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

LogicalResult RopeOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (input.getRank() < 1 || input.getShape().back() % 2 != 0)
    return emitOptionalError(location,
                             "rotates pairs of the last dimension of ", input);
  Shape table(input.getShape());
  table.back() /= 2;
  for (Value angles : {adaptor.getCos(), adaptor.getSin()})
    if (getShape(angles).empty() || getShape(angles).back() != table.back() ||
        !broadcastsTo(getShape(angles), table))
      return emitOptionalError(location, "cos or sin of shape ",
                               printShape(getShape(angles)),
                               " does not broadcast to ", printShape(table));
  types.push_back(input);
  return success();
}

/// Pairs lie far apart in the last dimension, so it is blocked.
ShardingRule RopeOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> shape = getShape(getInput());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isLast = dim + 1 == shape.size();
    int factor =
        builder.add("d" + Twine(dim), size,
                    isLast ? FactorKind::blocked : FactorKind::parallel);
    builder.operand(0, dim, factor).result(0, dim, factor);
    for (unsigned table : {1, 2}) {
      ArrayRef<int64_t> angles = getShape(getOperand(table));
      size_t missing = shape.size() - angles.size();
      if (!isLast && dim >= missing && angles[dim - missing] == size)
        builder.operand(table, dim - missing, factor);
    }
  }
  return builder.finish();
}

OpWork RopeOp::getWork() {
  OpWork work;
  work.kind = WorkKind::elementwise;
  work.flops.push_back(termOver(3, getShardingRule().results[0]));
  return work;
}
bool RopeOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

SmallVector<Value> RopeOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Shape shape(getShape(getInput()));
  int64_t last = shape.size() - 1, half = shape.back() / 2;
  int64_t step = getInterleaved() ? 2 : 1;
  int64_t second = getInterleaved() ? 1 : half;
  Value low = compose.slice(getInput(), last, 0,
                            getInterleaved() ? 2 * half : half, step);
  Value high = compose.slice(getInput(), last, second, 2 * half, step);
  Value lowCos = compose.create<MulOp>(low, getCos());
  Value highSin = compose.create<MulOp>(high, getSin());
  Value highCos = compose.create<MulOp>(high, getCos());
  Value lowSin = compose.create<MulOp>(low, getSin());
  Value first = compose.create<SubOp>(lowCos, highSin);
  Value other = compose.create<AddOp>(highCos, lowSin);
  if (!getInterleaved())
    return {compose.create<ConcatOp>(ValueRange{first, other}, last)};
  Shape pairs(shape);
  pairs.back() = half;
  pairs.push_back(1);
  first = compose.reshape(first, pairs);
  other = compose.reshape(other, pairs);
  Value joined = compose.create<ConcatOp>(ValueRange{first, other}, last + 1);
  return {compose.reshape(joined, shape)};
}

} // namespace parplan
