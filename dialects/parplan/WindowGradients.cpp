//===- WindowGradients.cpp - Backward of convolutions and pooling ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

OperandGradients ConvOp::buildBackward(GradientBuilder &gradients,
                                       ArrayRef<Value> resultGradients) {
  Value gradient = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.create<ConvInputGradientOp>(
        getInput().getType(), gradient, getWeight(), getStrides(), getPads(),
        getDilations(), getGroups());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<ConvWeightGradientOp>(
        getWeight().getType(), getInput(), gradient, getStrides(), getPads(),
        getDilations(), getGroups());
  }
  if (getBias() && gradients.isNeeded(2)) {
    gradients.serve(2);
    SmallVector<int64_t> dims{0};
    llvm::append_range(dims, llvm::seq<int64_t>(2, getShape(gradient).size()));
    answer[2] = gradients.create<ReduceOp>(ReduceKind::sum, gradient, dims,
                                           /*keep_dims=*/false);
  }
  return answer;
}

/// The three tensors of a convolution are linear in each other: what one
/// product makes, the other two read.
OperandGradients
ConvInputGradientOp::buildBackward(GradientBuilder &gradients,
                                   ArrayRef<Value> resultGradients) {
  Value input = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.create<ConvOp>(input, getWeight(), /*bias=*/Value(),
                                         getStrides(), getPads(),
                                         getDilations(), getGroups());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<ConvWeightGradientOp>(
        getWeight().getType(), input, getGradient(), getStrides(), getPads(),
        getDilations(), getGroups());
  }
  return answer;
}

OperandGradients
ConvWeightGradientOp::buildBackward(GradientBuilder &gradients,
                                    ArrayRef<Value> resultGradients) {
  Value weight = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.create<ConvInputGradientOp>(
        getInput().getType(), getGradient(), weight, getStrides(), getPads(),
        getDilations(), getGroups());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<ConvOp>(getInput(), weight, /*bias=*/Value(),
                                         getStrides(), getPads(),
                                         getDilations(), getGroups());
  }
  return answer;
}

OperandGradients MaxPoolOp::buildBackward(GradientBuilder &gradients,
                                          ArrayRef<Value> resultGradients) {
  return {gradients.create<MaxPoolGradientOp>(getInput(), resultGradients[0],
                                              getWindow(), getStrides(),
                                              getPads(), getDilations())};
}

OperandGradients AveragePoolOp::buildBackward(GradientBuilder &gradients,
                                              ArrayRef<Value> resultGradients) {
  return {gradients.create<AveragePoolGradientOp>(
      getInput().getType(), resultGradients[0], getWindow(), getStrides(),
      getPads(), getDilations(), getCountIncludePad())};
}

} // namespace parplan
