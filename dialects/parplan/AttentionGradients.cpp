//===- AttentionGradients.cpp - Backward of attention and rotation --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"
#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

AttentionBackward::AttentionBackward(ComposeHelper &compose,
                                     const AttentionSizes &sizes,
                                     const AttentionParts &parts,
                                     Value resultGradient)
    : compose(compose), sizes(sizes), parts(parts),
      gradient(compose.reshape(resultGradient,
                               {sizes.b, sizes.s, sizes.g, sizes.r, sizes.f})),
      narrow(getTensorType(resultGradient).getElementType()) {}

Value AttentionBackward::getValueGradient() {
  return compose.create<MatmulOp>(compose.castTo(parts.weights, narrow),
                                  gradient, "bgrst,bsgrf->btgf");
}

/// sum(dO O) over the width of the values, as [b, g, r, s, 1]. Where the keys
/// are split it needs no reduction, which the equal sum(P dP) would.
Value AttentionBackward::sumPerRow(Value result) {
  Type element = compose.widen(narrow);
  Value split =
      compose.reshape(result, {sizes.b, sizes.s, sizes.g, sizes.r, sizes.f});
  Value product = compose.create<MulOp>(compose.castTo(gradient, element),
                                        compose.castTo(split, element));
  Value total = compose.reduce(ReduceKind::sum, product, 4);
  return compose.create<TransposeOp>(total, ArrayRef<int64_t>{0, 2, 3, 1, 4});
}

Value AttentionBackward::getScoreGradient(Value value, Value result) {
  Value weightGradient =
      compose.create<MatmulOp>(gradient, value, "bsgrf,btgf->bgrst");
  Value total = sumPerRow(result);
  Type element = getTensorType(parts.weights).getElementType();
  Value difference =
      compose.create<SubOp>(compose.castTo(weightGradient, element), total);
  return compose.castTo(compose.create<MulOp>(parts.weights, difference),
                        narrow);
}

Value AttentionBackward::getQueryGradient(Value scoreGradient, Value key,
                                          double scale) {
  Value product =
      compose.create<MatmulOp>(scoreGradient, key, "bgrst,btge->bsgre");
  Value heads =
      compose.reshape(product, {sizes.b, sizes.s, sizes.g * sizes.r, sizes.e});
  return compose.create<MulOp>(heads, compose.scalar(narrow, scale));
}

Value AttentionBackward::getSinkGradient(Value sink, Value result) {
  Value probability = compose.create<ExpOp>(
      compose.create<SubOp>(splitSink(compose, sink, sizes), parts.logSumExp));
  Value product = compose.create<MulOp>(probability, sumPerRow(result));
  Value sum =
      compose.create<NegOp>(compose.reduce(ReduceKind::sum, product, {0, 3}));
  return compose.castTo(compose.reshape(sum, {sizes.g * sizes.r}),
                        getTensorType(sink).getElementType());
}

Value AttentionBackward::getKeyGradient(Value scoreGradient) {
  return compose.create<MatmulOp>(scoreGradient, parts.query,
                                  "bgrst,bsgre->btge");
}

/// Letters of products are the factors of the forward op; r is summed over
/// where it stands for query heads that share a key head.
static OperandGradients buildPrimitiveBackward(GradientBuilder &gradients,
                                               AttentionOp op,
                                               Value resultGradient) {
  AttentionSizes sizes(op.getQuery(), op.getValue());
  OperandGradients answer = gradients.makeNone();
  int mask = op.getMaskIndex(), sink = op.getSinkIndex();
  // Probabilities serve all operands.
  gradients.serve({0, 1, 2, mask, sink});
  AttentionParts parts = buildAttentionWeights(
      gradients, op, gradients.isAnyNeeded({0, 1, 2, mask}));
  AttentionBackward backward(gradients, sizes, parts, resultGradient);
  if (gradients.isNeeded(2)) {
    gradients.serve(2);
    answer[2] = backward.getValueGradient();
  }
  if (gradients.isNeeded(sink)) {
    gradients.serve(sink);
    answer[sink] = backward.getSinkGradient(op.getSink(), op.getResult());
  }
  if (!gradients.isAnyNeeded({0, 1, mask}))
    return answer;
  gradients.serve({0, 1, mask});
  Value scoreGradient =
      backward.getScoreGradient(op.getValue(), op.getResult());
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = backward.getQueryGradient(scoreGradient, op.getKey(),
                                          op.getScale().convertToDouble());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = backward.getKeyGradient(scoreGradient);
  }
  if (gradients.isNeeded(mask)) {
    gradients.serve(mask);
    Value perHead = gradients.reshape(
        scoreGradient, {sizes.b, sizes.g * sizes.r, sizes.s, sizes.t});
    answer[mask] = gradients.sumTo(op.getMask(), perHead);
  }
  return answer;
}

OperandGradients AttentionOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  if (!getStatistics())
    return buildPrimitiveBackward(gradients, *this, resultGradients[0]);
  // What reads the statistics, and a learned mask, want the probabilities.
  if (resultGradients[1] || gradients.isNeeded(getMaskIndex()))
    return gradients.differentiateParts(resultGradients);
  OperandGradients answer = gradients.makeNone();
  if (int sink = getSinkIndex(); gradients.isNeeded(sink)) {
    gradients.serve(sink);
    AttentionSizes sizes(getQuery(), getValue());
    Value rows = gradients.reshape(getLogSumExp(),
                                   {sizes.b, sizes.g, sizes.r, sizes.s, 1});
    AttentionBackward backward(gradients, sizes,
                               {/*query=*/{}, /*weights=*/{}, rows},
                               resultGradients[0]);
    answer[sink] = backward.getSinkGradient(getSink(), getResult());
  }
  if (!gradients.isAnyNeeded({0, 1, 2}))
    return answer;
  gradients.serve({0, 1, 2});
  Value first = gradients.create<AttentionGradientOp>(
      getQuery(), getKey(), getValue(), getResult(), getLogSumExp(),
      resultGradients[0], getMask(), getQueryOffset(), getScaleAttr(),
      getCausalAttr(), getZigzagAttr());
  Operation *all = first.getDefiningOp();
  for (int operand : {0, 1, 2})
    if (gradients.isNeeded(operand))
      answer[operand] = all->getResult(operand);
  return answer;
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// The inverse rotation, whose sine has the other sign. Angles are constants in
/// any model that we know, so their gradients are left to the parts.
OperandGradients RopeOp::buildBackward(GradientBuilder &gradients,
                                       ArrayRef<Value> resultGradients) {
  if (gradients.isAnyNeeded({1, 2}))
    return gradients.differentiateParts(resultGradients);
  OperandGradients answer = gradients.makeNone();
  Value back = gradients.create<NegOp>(getSin());
  answer[0] = gradients.create<RopeOp>(resultGradients[0], getCos(), back,
                                       getInterleaved());
  return answer;
}

} // namespace parplan
