//===- NormGradients.cpp - Backward of softmax and normalisations ---------===//
//
// Part of parplan. Statistics are computed again: keeping them would make them
// results of the forward op.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// y (g - sum(g y)).
OperandGradients SoftmaxOp::buildBackward(GradientBuilder &gradients,
                                          ArrayRef<Value> resultGradients) {
  Value product = gradients.create<MulOp>(resultGradients[0], getResult());
  Value total = gradients.reduce(ReduceKind::sum, product,
                                 static_cast<int64_t>(getDim()));
  Value rest = gradients.create<SubOp>(resultGradients[0], total);
  return {gradients.create<MulOp>(getResult(), rest)};
}

/// g - exp(y) sum(g).
OperandGradients LogSoftmaxOp::buildBackward(GradientBuilder &gradients,
                                             ArrayRef<Value> resultGradients) {
  Value total = gradients.reduce(ReduceKind::sum, resultGradients[0],
                                 static_cast<int64_t>(getDim()));
  Value weights = gradients.create<ExpOp>(getResult());
  return {gradients.create<SubOp>(resultGradients[0],
                                  gradients.create<MulOp>(weights, total))};
}

//===----------------------------------------------------------------------===//
// Layer norm, RMS norm
//===----------------------------------------------------------------------===//

namespace {
/// The normalised input and 1 / deviation, as the decomposition has them.
struct Normalised {
  Value input, inverse;
};
} // namespace

static Normalised normalise(GradientBuilder &gradients, Value input,
                            ArrayRef<int64_t> dims, double epsilon,
                            bool isCentred) {
  if (isCentred)
    input = gradients.create<SubOp>(input, gradients.mean(input, dims));
  Value square = gradients.create<MulOp>(input, input);
  Value variance = gradients.mean(square, dims);
  Value inverse =
      gradients.create<RsqrtOp>(gradients.addScalar(variance, epsilon));
  return {gradients.create<MulOp>(input, inverse), inverse};
}

/// With x' the normalised input and g' = g scale, the gradient of the input is
/// (g' - mean(g') - x' mean(g' x')) / deviation, without the first mean if
/// nothing is centred.
static OperandGradients buildNormBackward(GradientBuilder &gradients,
                                          Value input, int64_t dim,
                                          double epsilon, bool isCentred,
                                          Value scale, Value bias,
                                          Value gradient) {
  OperandGradients answer = gradients.makeNone();
  int scaleIndex = scale ? 1 : -1, biasIndex = bias ? (scale ? 2 : 1) : -1;
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(dim, getShape(input).size()));
  if (gradients.isNeeded(biasIndex)) {
    gradients.serve(biasIndex);
    answer[biasIndex] = gradients.sumTo(bias, gradient);
  }
  if (!gradients.isAnyNeeded({0, scaleIndex}))
    return answer;
  gradients.serve({0, scaleIndex});
  Normalised normalised = normalise(gradients, input, dims, epsilon, isCentred);
  if (gradients.isNeeded(scaleIndex)) {
    gradients.serve(scaleIndex);
    answer[scaleIndex] = gradients.sumTo(
        scale, gradients.create<MulOp>(gradient, normalised.input));
  }
  if (!gradients.isNeeded(0))
    return answer;
  gradients.serve(0);
  Value scaled = scale ? gradients.create<MulOp>(gradient, scale) : gradient;
  Value projection =
      gradients.mean(gradients.create<MulOp>(scaled, normalised.input), dims);
  Value rest = scaled;
  if (isCentred)
    rest = gradients.create<SubOp>(scaled, gradients.mean(scaled, dims));
  rest = gradients.create<SubOp>(
      rest, gradients.create<MulOp>(normalised.input, projection));
  answer[0] = gradients.create<MulOp>(rest, normalised.inverse);
  return answer;
}

OperandGradients LayerNormOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  return buildNormBackward(gradients, getInput(), getDim(),
                           getEpsilon().convertToDouble(), /*isCentred=*/true,
                           getScale(), getBias(), resultGradients[0]);
}

OperandGradients RMSNormOp::buildBackward(GradientBuilder &gradients,
                                          ArrayRef<Value> resultGradients) {
  return buildNormBackward(gradients, getInput(), getDim(),
                           getEpsilon().convertToDouble(), /*isCentred=*/false,
                           getScale(), /*bias=*/Value(), resultGradients[0]);
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

namespace {
/// Builds what the gradients of one batch norm share when it is first needed.
class BatchNormBackward {
public:
  BatchNormBackward(GradientBuilder &gradients, BatchNormOp op, Value gradient)
      : gradients(gradients), op(op), gradient(gradient) {}

  OperandGradients run() {
    OperandGradients answer = gradients.makeNone();
    auto build = [&](int operand, Value (BatchNormBackward::*make)()) {
      if (!gradients.isNeeded(operand))
        return;
      serving = operand;
      gradients.serve(operand);
      answer[operand] = (this->*make)();
    };
    build(0, &BatchNormBackward::makeInput);
    build(1, &BatchNormBackward::makeScale);
    build(2, &BatchNormBackward::makeBias);
    build(3, &BatchNormBackward::makeMean);
    build(4, &BatchNormBackward::makeVariance);
    return answer;
  }

private:
  using Part = Value BatchNormBackward::*;

  /// Builds a part once; it serves all operands.
  Value share(Part part, llvm::function_ref<Value()> make) {
    if (this->*part)
      return this->*part;
    gradients.serve({0, 1, 2, 3, 4});
    this->*part = make();
    gradients.serve(serving);
    return this->*part;
  }

  Value getInverse() {
    return share(&BatchNormBackward::inverse, [&]() -> Value {
      return gradients.create<RsqrtOp>(gradients.addScalar(
          op.getVariance(), op.getEpsilon().convertToDouble()));
    });
  }
  Value getGain() {
    Value inverse = getInverse();
    return share(&BatchNormBackward::gain, [&]() -> Value {
      return gradients.create<MulOp>(op.getScale(), inverse);
    });
  }
  /// The sum per channel of the gradient.
  Value getTotal() {
    return share(&BatchNormBackward::total,
                 [&] { return sumPerChannel(gradient); });
  }
  /// The sum per channel of the gradient times (input - mean).
  Value getProjection() {
    return share(&BatchNormBackward::projection, [&] {
      Value centered =
          gradients.create<SubOp>(op.getInput(), perChannel(op.getMean()));
      return sumPerChannel(gradients.create<MulOp>(gradient, centered));
    });
  }

  Value makeInput() {
    return gradients.create<MulOp>(gradient, perChannel(getGain()));
  }
  Value makeScale() {
    Value projection = getProjection();
    return gradients.create<MulOp>(projection, getInverse());
  }
  Value makeBias() { return getTotal(); }
  Value makeMean() {
    Value total = getTotal();
    return gradients.create<NegOp>(gradients.create<MulOp>(total, getGain()));
  }
  /// d/dv of (v + epsilon)^(-1/2) is -1/2 of its cube.
  Value makeVariance() {
    Value projection = getProjection(), inverse = getInverse();
    Value slope = gradients.create<MulOp>(
        getGain(), gradients.create<MulOp>(inverse, inverse));
    return gradients.create<MulOp>(projection, gradients.scale(slope, -0.5));
  }

  Value perChannel(Value value) {
    Shape shape(getShape(op.getInput()).size() - 1, 1);
    shape[0] = getShape(value)[0];
    return gradients.reshape(value, shape);
  }
  Value sumPerChannel(Value value) {
    SmallVector<int64_t> dims{0};
    llvm::append_range(dims, llvm::seq<int64_t>(2, getShape(value).size()));
    return gradients.create<ReduceOp>(ReduceKind::sum, value, dims,
                                      /*keep_dims=*/false);
  }

  GradientBuilder &gradients;
  BatchNormOp op;
  Value gradient;
  int serving = 0;
  Value inverse, gain, total, projection;
};
} // namespace

OperandGradients BatchNormOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  return BatchNormBackward(gradients, *this, resultGradients[0]).run();
}

} // namespace parplan
