//===- Attention.cpp - Attention ------------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"

#include <limits>

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())) ||
      failed(verifyAttentionOperands(location, adaptor.getQuery(),
                                     adaptor.getKey(), adaptor.getValue(),
                                     adaptor.getMask())))
    return failure();
  types.push_back(getAttentionType(adaptor.getQuery(), adaptor.getValue()));
  if (adaptor.getStatistics())
    types.push_back(getLogSumExpType(adaptor.getQuery()));
  return success();
}

LogicalResult AttentionOp::verify() { return verifyZigzag(*this); }

//===----------------------------------------------------------------------===//
// Rule, cost, padding
//===----------------------------------------------------------------------===//

ShardingRule AttentionOp::getShardingRule() {
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
  return finishAttentionRule(builder, factors, getCausal());
}

OpWork AttentionOp::getWork() {
  return getAttentionWork(getShardingRule(),
                          {getCausal(), std::nullopt, getZigzag() > 1},
                          /*gradient=*/false);
}

/// Padded queries average the values; padded batches and heads have values of
/// zero, but their keys are counted. A mask that excludes a whole padded row
/// leaves it undefined.
bool AttentionOp::keepsZeroPadding(int factor) {
  ShardingRule rule = getShardingRule();
  StringRef name = rule.factors[factor].name;
  if (name == "e" || name == "f")
    return true;
  if (getStatistics())
    return false;
  bool isMasked = getMask() && hasFactor(rule.operands[3], factor);
  return (name == "b" || name == "g") && (!isMasked || getZeroMaskedRows());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

AttentionParts buildAttentionWeights(ComposeHelper &compose, AttentionOp op) {
  AttentionSizes sizes(op.getQuery(), op.getValue());
  AttentionScores parts =
      buildScores(compose,
                  {op.getQuery(), op.getKey(), op.getMask(),
                   op.getQueryOffset(), op.getScale().convertToDouble(),
                   op.getCausal(), static_cast<int64_t>(op.getZigzag())},
                  sizes);
  Value scores = parts.scores;
  if (op.getStatistics()) {
    Value logSumExp = buildLogSumExp(compose, scores);
    return {parts.query, buildWeights(compose, scores, logSumExp), logSumExp};
  }
  Value weights = compose.create<SoftmaxOp>(scores, /*dim=*/4);
  if (op.getZeroMaskedRows()) {
    Value isMasked = compose.create<IsNaNOp>(weights);
    Type element = getTensorType(scores).getElementType();
    weights = compose.create<SelectOp>(isMasked, compose.scalar(element, 0.0),
                                       weights);
  }
  return {parts.query, weights, {}};
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  AttentionParts parts = buildAttentionWeights(compose, *this);
  Value weights =
      compose.castTo(parts.weights, getTensorType(getValue()).getElementType());
  Value heads =
      compose.create<MatmulOp>(weights, getValue(), "bgrst,btgf->bsgrf");
  SmallVector<Value> results = {compose.reshape(heads, getShape(getResult()))};
  if (getStatistics())
    results.push_back(
        compose.reshape(parts.logSumExp, getShape(getLogSumExp())));
  return results;
}

} // namespace parplan
