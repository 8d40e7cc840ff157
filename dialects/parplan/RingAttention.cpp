//===- RingAttention.cpp - Attention over keys in a ring ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult RingAttentionOp::inferReturnTypes(MLIRContext *,
                                                OptionalLocation location,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())) ||
      failed(verifyAttentionOperands(
          location, adaptor.getQuery(), adaptor.getKey(), adaptor.getValue(),
          adaptor.getMask(), static_cast<int64_t>(adaptor.getKeys()))))
    return failure();
  types.push_back(
      getWideType(getAttentionType(adaptor.getQuery(), adaptor.getValue())));
  if (adaptor.getStatistics())
    types.push_back(getLogSumExpType(adaptor.getQuery()));
  return success();
}

LogicalResult RingAttentionGradientOp::inferReturnTypes(
    MLIRContext *, OptionalLocation location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())) ||
      failed(verifyAttentionOperands(
          location, adaptor.getQuery(), adaptor.getKey(), adaptor.getValue(),
          adaptor.getMask(), static_cast<int64_t>(adaptor.getKeys()))) ||
      failed(verifyGradientOperands(location, adaptor.getQuery(),
                                    adaptor.getValue(), adaptor.getResult(),
                                    adaptor.getLogSumExp())))
    return failure();
  types.append({getWideType(getTensorType(adaptor.getQuery())),
                adaptor.getKey().getType(), adaptor.getValue().getType()});
  return success();
}

/// The ring, and that the key is a block of it.
template <typename RingOp> static LogicalResult verifyRing(RingOp op) {
  MeshOp meshOp = getOnlyMesh(op->template getParentOfType<ModuleOp>());
  if (!meshOp)
    return op.emitOpError("needs a module with one mesh");
  const Mesh &mesh = meshOp.getMesh().getMesh();
  FailureOr<AxisList> axes = op.getAxes().resolve(mesh);
  if (failed(axes))
    return op.emitOpError()
           << "axes " << op.getAxes() << " are not axes of the mesh (S2)";
  llvm::SmallDenseSet<int> seen(axes->begin(), axes->end());
  if (axes->empty() || seen.size() != axes->size())
    return op.emitOpError() << "goes round " << op.getAxes()
                            << ", which must be axes, each once (S1)";
  int64_t block = getShape(op.getKey())[1], width = mesh.getWidth(*axes);
  int64_t keys = op.getKeys();
  if (keys < 1)
    return op.emitOpError() << "has " << keys << " keys, not one or more (S21)";
  if (block != (keys + width - 1) / width)
    return op.emitOpError() << "has blocks of " << block << " keys, not of "
                            << (keys + width - 1) / width << ": " << keys
                            << " over " << width << " ranks (S3)";
  if (op.getZigzag() &&
      (!op.getCausal() || getShape(op.getQuery())[1] != block ||
       keys % (2 * width) != 0))
    return op.emitOpError("lies in zig-zag order, but is not causal over as "
                          "many queries as keys, a multiple of two per rank");
  return success();
}

LogicalResult RingAttentionOp::verify() { return verifyRing(*this); }
LogicalResult RingAttentionGradientOp::verify() { return verifyRing(*this); }

//===----------------------------------------------------------------------===//
// Rules, of local types
//===----------------------------------------------------------------------===//

ShardingRule RingAttentionOp::getShardingRule() {
  AttentionSizes sizes(getQuery(), getValue());
  RuleBuilder builder(*this);
  auto factors = AttentionFactors::addForward(builder, sizes);
  factors.mapOperand(builder, 0, "bshe");
  factors.mapOperand(builder, 1, "btge");
  factors.mapOperand(builder, 2, "btgf");
  factors.mapResult(builder, 0, "bshf");
  if (getStatistics())
    factors.mapResult(builder, 1, "bhs");
  if (getMask())
    factors.mapMask(builder, 3, getMask(), sizes.t);
  return builder.finish();
}

ShardingRule RingAttentionGradientOp::getShardingRule() {
  AttentionSizes sizes(getQuery(), getValue());
  RuleBuilder builder(*this);
  auto factors = AttentionFactors::addGradient(builder, sizes);
  factors.mapOperand(builder, 0, "bshe");
  factors.mapOperand(builder, 1, "btge");
  factors.mapOperand(builder, 2, "btgf");
  factors.mapOperand(builder, 3, "bshf");
  factors.mapOperand(builder, 4, "bhs");
  factors.mapOperand(builder, 5, "bshf");
  if (getMask())
    factors.mapMask(builder, 6, getMask(), sizes.t);
  factors.mapResult(builder, 0, "bshe");
  factors.mapResult(builder, 1, "btge");
  factors.mapResult(builder, 2, "btgf");
  return builder.finish();
}

/// Of one hop; a ring has as many as ranks. Of a causal one it is the mean of
/// the hops.
OpWork RingAttentionOp::getWork() {
  return getAttentionWork(getShardingRule(),
                          {getCausal(), getKeys(), getZigzag()},
                          /*gradient=*/false);
}

OpWork RingAttentionGradientOp::getWork() {
  return getAttentionWork(getShardingRule(),
                          {getCausal(), getKeys(), getZigzag()},
                          /*gradient=*/true);
}

/// As of an attention without statistics that gives zero where it has no key.
bool RingAttentionOp::keepsZeroPadding(int factor) {
  StringRef name = getShardingRule().factors[factor].name;
  return name == "e" || name == "f" ||
         (!getStatistics() && (name == "b" || name == "g"));
}

/// Padded keys are left out.
bool RingAttentionGradientOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
