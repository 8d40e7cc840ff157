//===- AttentionGradientOp.cpp - The backward of attention ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"

using namespace mlir;

namespace parplan {

LogicalResult
AttentionGradientOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())) ||
      failed(verifyAttentionOperands(location, adaptor.getQuery(),
                                     adaptor.getKey(), adaptor.getValue(),
                                     adaptor.getMask())) ||
      failed(verifyGradientOperands(location, adaptor.getQuery(),
                                    adaptor.getValue(), adaptor.getResult(),
                                    adaptor.getLogSumExp())))
    return failure();
  types.append({adaptor.getQuery().getType(), adaptor.getKey().getType(),
                adaptor.getValue().getType()});
  return success();
}

LogicalResult AttentionGradientOp::verify() { return verifyZigzag(*this); }

ShardingRule AttentionGradientOp::getShardingRule() {
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
  return finishAttentionRule(builder, factors, getCausal());
}

OpWork AttentionGradientOp::getWork() {
  return getAttentionWork(getShardingRule(),
                          {getCausal(), std::nullopt, getZigzag() > 1},
                          /*gradient=*/true);
}

/// Padding of dO is zero, and so is what it makes of queries, batches and
/// heads; padded keys have a probability like others, but no effect on the
/// query's gradient.
bool AttentionGradientOp::keepsZeroPadding(int factor) {
  return getShardingRule().factors[factor].name != "t";
}

SmallVector<Value> AttentionGradientOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  AttentionSizes sizes(getQuery(), getValue());
  double scale = getScale().convertToDouble();
  AttentionScores inputs =
      buildScores(compose,
                  {getQuery(), getKey(), getMask(), getQueryOffset(), scale,
                   getCausal(), static_cast<int64_t>(getZigzag())},
                  sizes);
  Value statistics =
      compose.reshape(getLogSumExp(), {sizes.b, sizes.g, sizes.r, sizes.s, 1});
  AttentionParts parts{inputs.query,
                       buildWeights(compose, inputs.scores, statistics),
                       statistics};
  AttentionBackward backward(compose, sizes, parts, getResultGradient());
  Value valueGradient = backward.getValueGradient();
  Value scoreGradient = backward.getScoreGradient(getValue(), getResult());
  return {backward.getQueryGradient(scoreGradient, getKey(), scale),
          backward.getKeyGradient(scoreGradient), valueGradient};
}

} // namespace parplan
