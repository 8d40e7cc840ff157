//===- LocalRings.cpp - Attention over keys in a ring ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/LocalRings.h"
#include "passes/Partition/LocalOffsets.h"

using namespace mlir;

namespace parplan {

namespace {

/// Builds one ring; operands are found by their number in the global op.
class RingBuilder {
public:
  RingBuilder(OpBuilder &builder, Operation *op, ValueRange localOperands,
              const ShardingRule &rule, const FactorAssignment &assignment,
              const ShardingAccess &access)
      : builder(builder), op(op), operands(localOperands), rule(rule),
        assignment(assignment), access(access),
        axes(getAxes(/*operand=*/1, /*dim=*/1)), keys(getSize(1, 1)) {}

  FailureOr<Operation *> build(AttentionOp attention) {
    if (attention.getSink())
      return attention.emitOpError("has a sink, which no ring knows: "
                                   "parplan-write-out-sinks comes before");
    if (failed(verifyRing(attention)) ||
        failed(findMask(attention, /*first=*/3)))
      return failure();
    return builder
        .create<RingAttentionOp>(
            op->getLoc(), operands[0], operands[1], operands[2], mask,
            getOffset(attention), access.getAttr(axes),
            builder.getI64IntegerAttr(keys), attention.getScaleAttr(),
            attention.getCausalAttr(), getZigzag(attention),
            attention.getStatisticsAttr())
        .getOperation();
  }

  FailureOr<Operation *> build(AttentionGradientOp gradient) {
    if (failed(verifyRing(gradient)) || failed(findMask(gradient, /*first=*/6)))
      return failure();
    return builder
        .create<RingAttentionGradientOp>(
            op->getLoc(), operands[0], operands[1], operands[2], operands[3],
            operands[4], operands[5], mask, getOffset(gradient),
            access.getAttr(axes), builder.getI64IntegerAttr(keys),
            gradient.getScaleAttr(), gradient.getCausalAttr(),
            getZigzag(gradient))
        .getOperation();
  }

private:
  AxisList getAxes(unsigned operand, unsigned dim) const {
    return getUseSharding(rule, assignment, static_cast<int>(operand))
        .dims[dim];
  }
  int64_t getSize(unsigned operand, unsigned dim) const {
    return cast<RankedTensorType>(op->getOperand(operand).getType())
        .getDimSize(dim);
  }

  /// Keys and values go round together.
  template <typename Attention> LogicalResult verifyRing(Attention attention) {
    if (axes.empty())
      return op->emitOpError("S21: its keys go round no axes");
    if (getAxes(/*operand=*/2, /*dim=*/1) != axes)
      return op->emitOpError(
          "S21: its keys and values are split over different axes");
    int64_t zigzag = attention.getZigzag();
    if (zigzag > 1 && (getAxes(/*operand=*/0, /*dim=*/1) != axes ||
                       access.getMesh().getWidth(axes) != zigzag))
      return op->emitOpError("S22: lies in zig-zag order over ")
             << zigzag << " ranks, but goes round others";
    return success();
  }

  template <typename Attention> UnitAttr getZigzag(Attention attention) {
    return attention.getZigzag() > 1 ? builder.getUnitAttr() : UnitAttr();
  }

  /// Optional operands follow from number `first` on.
  template <typename Attention>
  LogicalResult findMask(Attention attention, unsigned first) {
    next = first;
    if (!attention.getMask())
      return success();
    unsigned rank =
        cast<RankedTensorType>(attention.getMask().getType()).getRank();
    AxisList split;
    if (rank > 0)
      split = getAxes(next, rank - 1);
    if (!split.empty() && split != axes)
      return attention.emitOpError("S21: the keys of its mask are split over a "
                                   "part of the axes that the keys go round");
    mask = operands[next++];
    if (split.empty())
      spreadMask();
    return success();
  }

  /// A mask of one column is one for all keys; but where blocks have one key,
  /// it would be that of a block.
  void spreadMask() {
    auto block = cast<RankedTensorType>(operands[1].getType());
    auto type = cast<RankedTensorType>(mask.getType());
    if (block.getDimSize(1) != 1 ||
        (type.getRank() > 0 && type.getShape().back() != 1))
      return;
    SmallVector<int64_t> shape(type.getShape());
    if (shape.empty())
      shape.push_back(1);
    shape.back() = keys;
    mask = builder.create<BroadcastOp>(op->getLoc(), type.clone(shape), mask);
  }

  /// The position of this rank's first query; a ring knows that of its keys.
  template <typename Attention> Value getOffset(Attention attention) {
    Value offset = attention.getQueryOffset() ? operands[next] : Value();
    AxisList queries = getAxes(/*operand=*/0, /*dim=*/1);
    if (!attention.getCausal())
      return offset;
    return shiftOffset(builder, op->getLoc(), offset, {getSize(0, 1), queries},
                       {keys, {}}, access);
  }

  OpBuilder &builder;
  Operation *op;
  ValueRange operands;
  const ShardingRule &rule;
  const FactorAssignment &assignment;
  const ShardingAccess &access;
  AxisList axes;
  int64_t keys;
  Value mask;
  unsigned next = 0;
};

} // namespace

/// Checks that the keys' dimension of `value` is split by `axes`.
static LogicalResult verifyBlock(Operation *op, StringRef what, Value value,
                                 AxisListAttr axes,
                                 const ShardingAccess &access) {
  FailureOr<Sharding> sharding = access.getSharding(value);
  if (failed(sharding))
    return failure();
  if (access.getAttr(sharding->dims[1]) == axes)
    return success();
  return op->emitError("after partition: S21: the ")
         << what << " lies in " << toString(*sharding, access.getMesh())
         << ", its keys not split by " << axes;
}

LogicalResult verifyRingOp(Operation *op, const ShardingAccess &access) {
  auto verifyKeys = [&](auto ring) {
    return success(succeeded(verifyBlock(op, "key", ring.getKey(),
                                         ring.getAxes(), access)) &&
                   succeeded(verifyBlock(op, "value", ring.getValue(),
                                         ring.getAxes(), access)));
  };
  if (auto ring = dyn_cast<RingAttentionOp>(op))
    return verifyKeys(ring);
  auto ring = dyn_cast<RingAttentionGradientOp>(op);
  if (!ring)
    return success();
  if (failed(verifyKeys(ring)) ||
      failed(verifyBlock(op, "key's gradient", ring.getKeyGradient(),
                         ring.getAxes(), access)))
    return failure();
  return verifyBlock(op, "value's gradient", ring.getValueGradient(),
                     ring.getAxes(), access);
}

FailureOr<Operation *> createRingOp(OpBuilder &builder, Operation *op,
                                    ValueRange localOperands,
                                    const ShardingRule &rule,
                                    const FactorAssignment &assignment,
                                    const ShardingAccess &access) {
  RingBuilder ring(builder, op, localOperands, rule, assignment, access);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return ring.build(attention);
  return ring.build(cast<AttentionGradientOp>(op));
}

} // namespace parplan
