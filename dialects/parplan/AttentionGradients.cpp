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

/// sum(dO O) over the width of the values, as [b, g, r, s, 1]. Where the keys
/// are split it needs no reduction, which the equal sum(P dP) would.
static Value sumPerRow(GradientBuilder &gradients, Value gradient, Value result,
                       const AttentionSizes &sizes) {
  Type element = gradients.widen(getTensorType(result).getElementType());
  Value product = gradients.create<MulOp>(gradients.castTo(gradient, element),
                                          gradients.castTo(result, element));
  Value total = gradients.reduce(ReduceKind::sum, product, 3);
  Value perHead =
      gradients.create<TransposeOp>(total, ArrayRef<int64_t>{0, 2, 1, 3});
  return gradients.reshape(perHead, {sizes.b, sizes.g, sizes.r, sizes.s, 1});
}

/// With the probabilities P, computed again: dV = P^T dO, dP = dO V^T,
/// dS = P (dP - sum(dO O)), dQ = scale dS K, dK = dS^T (scale Q). Letters are
/// the factors of the forward op; r is summed over where it stands for query
/// heads that share a key head.
OperandGradients AttentionOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  AttentionSizes sizes(*this);
  Type narrow = getTensorType(getResult()).getElementType();
  OperandGradients answer = gradients.makeNone();
  int mask = getMask() ? 3 : -1;
  // Probabilities serve all operands.
  gradients.serve({0, 1, 2, mask});
  AttentionParts parts = buildAttentionWeights(gradients, *this);
  Value gradient = gradients.reshape(
      resultGradients[0], {sizes.b, sizes.s, sizes.g, sizes.r, sizes.f});
  if (gradients.isNeeded(2)) {
    gradients.serve(2);
    answer[2] = gradients.create<MatmulOp>(
        gradients.castTo(parts.weights, narrow), gradient, "bgrst,bsgrf->btgf");
  }
  if (!gradients.isAnyNeeded({0, 1, mask}))
    return answer;
  gradients.serve({0, 1, mask});
  Value weightGradient =
      gradients.create<MatmulOp>(gradient, getValue(), "bsgrf,btgf->bgrst");
  Value total = sumPerRow(gradients, resultGradients[0], getResult(), sizes);
  Type element = getTensorType(parts.weights).getElementType();
  Value difference =
      gradients.create<SubOp>(gradients.castTo(weightGradient, element), total);
  Value scoreGradient = gradients.castTo(
      gradients.create<MulOp>(parts.weights, difference), narrow);
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    Value product = gradients.create<MatmulOp>(scoreGradient, getKey(),
                                               "bgrst,btge->bsgre");
    answer[0] =
        gradients.scale(gradients.reshape(product, getShape(getQuery())),
                        getScale().convertToDouble());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<MatmulOp>(scoreGradient, parts.query,
                                           "bgrst,bsgre->btge");
  }
  if (gradients.isNeeded(mask)) {
    gradients.serve(mask);
    Value perHead = gradients.reshape(
        scoreGradient, {sizes.b, sizes.g * sizes.r, sizes.s, sizes.t});
    answer[mask] = gradients.sumTo(getMask(), perHead);
  }
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
