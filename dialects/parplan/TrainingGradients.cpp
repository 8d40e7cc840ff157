//===- TrainingGradients.cpp - Backward of losses and sums ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

/// Every micro-batch has the gradient of the whole.
OperandGradients AccumulateOp::buildBackward(GradientBuilder &,
                                             ArrayRef<Value> resultGradients) {
  return {resultGradients[0]};
}

OperandGradients SumOp::buildBackward(GradientBuilder &gradients,
                                      ArrayRef<Value> resultGradients) {
  OperandGradients answer = gradients.makeNone();
  for (size_t operand = 0; operand < answer.size(); ++operand)
    if (gradients.isNeeded(static_cast<int>(operand)))
      answer[operand] = resultGradients[0];
  return answer;
}

OperandGradients SquareSumOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  Value gradient = resultGradients[0];
  Type wide = getTensorType(gradient).getElementType();
  Value product = gradients.create<MulOp>(gradients.cast(getInput(), wide),
                                          gradients.scale(gradient, 2));
  return {gradients.cast(product, getTensorType(getInput()).getElementType())};
}

/// (softmax - onehot) g, and softmax h for the gradient h of the logarithm. It
/// reads the logarithm that the forward op has, so that no reduction is needed
/// where the classes are split.
OperandGradients
CrossEntropyOp::buildBackward(GradientBuilder &gradients,
                              ArrayRef<Value> resultGradients) {
  auto [lossGradient, logarithmGradient] =
      std::make_pair(resultGradients[0], resultGradients[1]);
  RankedTensorType logits = getTensorType(getLogits());
  Type wide = getTensorType(getLogSumExp()).getElementType();
  int64_t last = logits.getRank() - 1;
  Shape rows(logits.getShape());
  rows[last] = 1;
  Value logarithm = gradients.reshape(getLogSumExp(), rows);
  Value probabilities = gradients.create<ExpOp>(
      gradients.create<SubOp>(gradients.cast(getLogits(), wide), logarithm));
  Value answer;
  if (lossGradient) {
    Value labels = gradients.reshape(getLabels(), rows);
    Type integer = getTensorType(labels).getElementType();
    Shape classShape(rows.size(), 1);
    classShape[last] = logits.getDimSize(last);
    Value classes = gradients.create<IotaOp>(
        RankedTensorType::get(classShape, integer), last);
    Value isLabel =
        gradients.create<CompareOp>(ComparePredicate::eq, classes, labels);
    Value isIgnored = gradients.create<CompareOp>(
        ComparePredicate::eq, labels, gradients.scalar(integer, ignoredLabel));
    Value weight =
        gradients.create<SelectOp>(isIgnored, gradients.scalar(wide, 0),
                                   gradients.reshape(lossGradient, rows));
    Value difference =
        gradients.create<SubOp>(probabilities, gradients.cast(isLabel, wide));
    answer = gradients.create<MulOp>(difference, weight);
  }
  if (logarithmGradient) {
    Value part = gradients.create<MulOp>(
        probabilities, gradients.reshape(logarithmGradient, rows));
    answer = answer ? gradients.create<AddOp>(answer, part) : part;
  }
  return {gradients.cast(answer, logits.getElementType()), Value()};
}

} // namespace parplan
