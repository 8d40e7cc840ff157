//===- ExpertGradients.cpp - Backward of dispatch and combine -------------===//
//
// Part of parplan. Each is the adjoint of the other; which experts a token goes
// to has no gradient.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

/// The operand of the weights of both, where there are any.
static constexpr int weightOperand = 2;

OperandGradients MoeDispatchOp::buildBackward(GradientBuilder &gradients,
                                              ArrayRef<Value> resultGradients) {
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.create<MoeCombineOp>(resultGradients[0], getExperts(),
                                               getWeights(), getFirstExpert(),
                                               getGroupsAttr());
  }
  if (getWeights() && gradients.isNeeded(weightOperand)) {
    gradients.serve(weightOperand);
    answer[weightOperand] = gradients.create<MoeWeightGradientOp>(
        resultGradients[0], getTokens(), getExperts(), getFirstExpert(),
        getGroupsAttr());
  }
  return answer;
}

OperandGradients MoeCombineOp::buildBackward(GradientBuilder &gradients,
                                             ArrayRef<Value> resultGradients) {
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.create<MoeDispatchOp>(
        getValues().getType(), resultGradients[0], getExperts(), getWeights(),
        getFirstExpert(), getGroupsAttr());
  }
  if (getWeights() && gradients.isNeeded(weightOperand)) {
    gradients.serve(weightOperand);
    answer[weightOperand] = gradients.create<MoeWeightGradientOp>(
        getValues(), resultGradients[0], getExperts(), getFirstExpert(),
        getGroupsAttr());
  }
  return answer;
}

} // namespace parplan
