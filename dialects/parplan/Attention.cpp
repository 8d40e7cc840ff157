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
  RankedTensorType query = getTensorType(adaptor.getQuery());
  if (Value sink = adaptor.getSink();
      sink && sink.getType() != query.clone({query.getDimSize(2)}))
    return emitOptionalError(location, "has a sink of ", sink.getType(),
                             " for queries of ", query);
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
  if (getSink())
    factors.mapOperand(builder, getSinkIndex(), "h");
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
  if (getStatistics() || getSink())
    return false;
  bool isMasked = getMask() && hasFactor(rule.operands[3], factor);
  return (name == "b" || name == "g") && (!isMasked || getZeroMaskedRows());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {
/// The statistics of rows that see a sink, too, and sums of exponentials less
/// something: those of the keys, and all.
struct RowsWithSink {
  Value logSumExp, ofKeys, total;
};
} // namespace

static RowsWithSink addSink(ComposeHelper &compose, Value logSumExp,
                            Value sink) {
  // The larger one first: exponentials stay at most 1, and rows without a key,
  // of -infinity, have the sink's.
  Value highest = compose.create<MaxOp>(logSumExp, sink);
  auto weigh = [&](Value score) {
    return compose.create<ExpOp>(compose.create<SubOp>(score, highest));
  };
  Value ofKeys = weigh(logSumExp);
  Value total = compose.create<AddOp>(ofKeys, weigh(sink));
  return {compose.create<AddOp>(compose.create<LogOp>(total), highest), ofKeys,
          total};
}

AttentionParts buildAttentionWeights(ComposeHelper &compose, AttentionOp op,
                                     bool needsWeights) {
  AttentionSizes sizes(op.getQuery(), op.getValue());
  AttentionScores parts =
      buildScores(compose,
                  {op.getQuery(), op.getKey(), op.getMask(),
                   op.getQueryOffset(), op.getScale().convertToDouble(),
                   op.getCausal(), static_cast<int64_t>(op.getZigzag())},
                  sizes);
  Value scores = parts.scores;
  if (op.getStatistics() || op.getSink()) {
    Value logSumExp = buildLogSumExp(compose, scores);
    if (op.getSink())
      logSumExp =
          addSink(compose, logSumExp, splitSink(compose, op.getSink(), sizes))
              .logSumExp;
    Value weights =
        needsWeights ? buildWeights(compose, scores, logSumExp) : Value();
    return {parts.query, weights, logSumExp};
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

SmallVector<Value> AttentionOp::writeOutSink(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  auto plain = builder.create<AttentionOp>(
      getLoc(), getQuery(), getKey(), getValue(), getMask(), getQueryOffset(),
      /*sink=*/Value(), getScale(), getCausal(), getZeroMaskedRows(),
      /*statistics=*/true, getZigzag());
  RankedTensorType statistics = getTensorType(plain.getLogSumExp());
  Type wide = statistics.getElementType();
  // Behind [b, h, s].
  Value sink = compose.reshape(compose.castTo(getSink(), wide),
                               {statistics.getDimSize(1), 1});
  RowsWithSink rows = addSink(compose, plain.getLogSumExp(), sink);
  Value share = compose.create<TransposeOp>(
      compose.create<DivOp>(rows.ofKeys, rows.total),
      ArrayRef<int64_t>{0, 2, 1});
  Shape perRow(getShape(share));
  perRow.push_back(1);
  Value scaled = compose.create<MulOp>(compose.castTo(plain.getResult(), wide),
                                       compose.reshape(share, perRow));
  SmallVector<Value> results = {
      compose.castTo(scaled, getTensorType(getResult()).getElementType())};
  if (getStatistics())
    results.push_back(rows.logSumExp);
  return results;
}

} // namespace parplan
