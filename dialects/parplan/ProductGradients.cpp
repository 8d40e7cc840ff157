//===- ProductGradients.cpp - Backward of reductions and products ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// A tensor of the shape of the result with the reduced dimensions as ones.
static Value keepDims(GradientBuilder &gradients, ReduceOp op, Value value) {
  Shape shape(getShape(op.getInput()));
  for (int64_t dim : op.getDims())
    shape[dim] = 1;
  return getShape(value) == ArrayRef(shape) ? value
                                            : gradients.reshape(value, shape);
}

/// Equal maxima share the gradient evenly.
static Value getMaximumGradient(GradientBuilder &gradients, ReduceOp op,
                                Value gradient) {
  Value input = op.getInput();
  Value maximum = keepDims(gradients, op, op.getResult());
  Value isMaximum =
      gradients.create<CompareOp>(ComparePredicate::eq, input, maximum);
  Value mask = gradients.cast(isMaximum, getTensorType(input).getElementType());
  Value count = gradients.reduce(ReduceKind::sum, mask, op.getDims());
  Value share = gradients.create<DivOp>(gradient, count);
  return gradients.create<MulOp>(mask, share);
}

/// The product of the others, also where factors are zero: that of all factors
/// but zeros, divided by the own one, if none of the others is zero.
static Value getProductGradient(GradientBuilder &gradients, ReduceOp op,
                                Value gradient) {
  Value input = op.getInput();
  Value isZero = gradients.create<CompareOp>(ComparePredicate::eq, input,
                                             gradients.scalarLike(input, 0));
  Value factors =
      gradients.create<SelectOp>(isZero, gradients.scalarLike(input, 1), input);
  Value product = gradients.reduce(ReduceKind::prod, factors, op.getDims());
  Value others = gradients.create<DivOp>(product, factors);
  Value zero = gradients.cast(isZero, getTensorType(input).getElementType());
  Value zeros = gradients.reduce(ReduceKind::sum, zero, op.getDims());
  Value isOtherZero =
      gradients.create<CompareOp>(ComparePredicate::gt, zeros, zero);
  Value slope = gradients.create<SelectOp>(
      isOtherZero, gradients.scalarLike(input, 0), others);
  return gradients.create<MulOp>(gradient, slope);
}

OperandGradients ReduceOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  Value gradient = keepDims(gradients, *this, resultGradients[0]);
  switch (getKind()) {
  case ReduceKind::sum:
    return {gradients.broadcastTo(getInput(), gradient)};
  case ReduceKind::max:
    return {getMaximumGradient(gradients, *this, gradient)};
  case ReduceKind::prod:
    return {getProductGradient(gradients, *this, gradient)};
  }
  PARPLAN_UNREACHABLE("unknown reduction ", static_cast<int>(getKind()));
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

/// Both gradients are products over the same letters as the forward one, and of
/// the same rows: other rows of the result are zero whatever the operands are.
OperandGradients MatmulOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  MatmulSpec spec = *MatmulSpec::parse(getSpec());
  auto join = [](StringRef lhs, StringRef rhs, StringRef result) {
    return (lhs + "," + rhs + "->" + result).str();
  };
  Value gradient = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    // Tokens stand on the left.
    if (std::optional<ExpertRows> rows = getRows();
        rows && rows->areSummed(spec))
      answer[0] = gradients.create<MatmulOp>(
          getRhs(), gradient, join(spec.rhs, spec.result, spec.lhs), getRows());
    else
      answer[0] = gradients.create<MatmulOp>(
          gradient, getRhs(), join(spec.result, spec.rhs, spec.lhs), getRows());
  }
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<MatmulOp>(
        getLhs(), gradient, join(spec.lhs, spec.result, spec.rhs), getRows());
  }
  return answer;
}

} // namespace parplan
