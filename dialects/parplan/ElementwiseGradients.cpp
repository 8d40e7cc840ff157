//===- ElementwiseGradients.cpp - Backward of elementwise ops -------------===//
//
// Part of parplan. The formulas are PyTorch's, with its values at kinks and
// ties. A result is read rather than an operand where both would do.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Steps: zero almost everywhere, and results that are not numbers
//===----------------------------------------------------------------------===//

#define GRADIENT_IS_ZERO(Op)                                                   \
  OperandGradients Op::buildBackward(GradientBuilder &gradients,               \
                                     ArrayRef<Value>) {                        \
    return gradients.makeNone();                                               \
  }
GRADIENT_IS_ZERO(SignOp)
GRADIENT_IS_ZERO(FloorOp)
GRADIENT_IS_ZERO(CeilOp)
GRADIENT_IS_ZERO(RoundOp)
GRADIENT_IS_ZERO(NotOp)
GRADIENT_IS_ZERO(IsNaNOp)
GRADIENT_IS_ZERO(IsInfOp)
GRADIENT_IS_ZERO(AndOp)
GRADIENT_IS_ZERO(OrOp)
GRADIENT_IS_ZERO(XorOp)
GRADIENT_IS_ZERO(CompareOp)
#undef GRADIENT_IS_ZERO

//===----------------------------------------------------------------------===//
// Functions of one operand: the operand is needed, or nobody asks
//===----------------------------------------------------------------------===//

#define UNARY_GRADIENT(Op)                                                     \
  static Value get##Op##Gradient(GradientBuilder &gradients, Op op,            \
                                 Value gradient);                              \
  OperandGradients Op::buildBackward(GradientBuilder &gradients,               \
                                     ArrayRef<Value> resultGradients) {        \
    return {get##Op##Gradient(gradients, *this, resultGradients[0])};          \
  }                                                                            \
  static Value get##Op##Gradient(GradientBuilder &gradients,                   \
                                 [[maybe_unused]] Op op, Value gradient)

UNARY_GRADIENT(AbsOp) {
  return gradients.create<MulOp>(gradient,
                                 gradients.create<SignOp>(op.getInput()));
}
UNARY_GRADIENT(NegOp) { return gradients.create<NegOp>(gradient); }
UNARY_GRADIENT(ExpOp) {
  return gradients.create<MulOp>(gradient, op.getResult());
}
UNARY_GRADIENT(LogOp) {
  return gradients.create<DivOp>(gradient, op.getInput());
}
UNARY_GRADIENT(SqrtOp) {
  return gradients.create<DivOp>(gradient, gradients.scale(op.getResult(), 2));
}
UNARY_GRADIENT(RsqrtOp) {
  Value y = op.getResult();
  Value cube = gradients.create<MulOp>(gradients.create<MulOp>(y, y), y);
  return gradients.create<MulOp>(gradient, gradients.scale(cube, -0.5));
}
UNARY_GRADIENT(ReciprocalOp) {
  Value square = gradients.create<MulOp>(op.getResult(), op.getResult());
  return gradients.create<NegOp>(gradients.create<MulOp>(gradient, square));
}
UNARY_GRADIENT(SinOp) {
  return gradients.create<MulOp>(gradient,
                                 gradients.create<CosOp>(op.getInput()));
}
UNARY_GRADIENT(CosOp) {
  Value sine = gradients.create<SinOp>(op.getInput());
  return gradients.create<NegOp>(gradients.create<MulOp>(gradient, sine));
}
/// g + g y^2
UNARY_GRADIENT(TanOp) {
  Value square = gradients.create<MulOp>(op.getResult(), op.getResult());
  return gradients.create<AddOp>(gradient,
                                 gradients.create<MulOp>(gradient, square));
}
UNARY_GRADIENT(SinhOp) {
  return gradients.create<MulOp>(gradient,
                                 gradients.create<CoshOp>(op.getInput()));
}
UNARY_GRADIENT(CoshOp) {
  return gradients.create<MulOp>(gradient,
                                 gradients.create<SinhOp>(op.getInput()));
}

/// factor x^2 + term
static Value getParabola(GradientBuilder &gradients, Value x, double factor,
                         double term) {
  Value square = gradients.create<MulOp>(x, x);
  return gradients.addScalar(
      factor == 1 ? square : gradients.scale(square, factor), term);
}
static Value divideByRoot(GradientBuilder &gradients, Value gradient,
                          Value square) {
  return gradients.create<MulOp>(gradient, gradients.create<RsqrtOp>(square));
}
UNARY_GRADIENT(AsinOp) {
  return divideByRoot(gradients, gradient,
                      getParabola(gradients, op.getInput(), -1, 1));
}
UNARY_GRADIENT(AcosOp) {
  Value slope = divideByRoot(gradients, gradient,
                             getParabola(gradients, op.getInput(), -1, 1));
  return gradients.create<NegOp>(slope);
}
UNARY_GRADIENT(AtanOp) {
  return gradients.create<DivOp>(gradient,
                                 getParabola(gradients, op.getInput(), 1, 1));
}
UNARY_GRADIENT(AsinhOp) {
  return divideByRoot(gradients, gradient,
                      getParabola(gradients, op.getInput(), 1, 1));
}
UNARY_GRADIENT(AcoshOp) {
  return divideByRoot(gradients, gradient,
                      getParabola(gradients, op.getInput(), 1, -1));
}
UNARY_GRADIENT(AtanhOp) {
  return gradients.create<DivOp>(gradient,
                                 getParabola(gradients, op.getInput(), -1, 1));
}
/// g - g y^2 keeps padding zero, which 1 - y^2 does not.
UNARY_GRADIENT(TanhOp) {
  Value square = gradients.create<MulOp>(op.getResult(), op.getResult());
  return gradients.create<SubOp>(gradient,
                                 gradients.create<MulOp>(gradient, square));
}
UNARY_GRADIENT(SigmoidOp) {
  Value y = op.getResult();
  Value rest = gradients.create<SubOp>(gradients.scalarLike(y, 1), y);
  return gradients.create<MulOp>(gradients.create<MulOp>(gradient, rest), y);
}
UNARY_GRADIENT(ErfOp) {
  Value square = gradients.create<MulOp>(op.getInput(), op.getInput());
  Value bell = gradients.create<ExpOp>(gradients.create<NegOp>(square));
  constexpr double twoOverRootPi = 1.1283791670955126;
  return gradients.create<MulOp>(gradient,
                                 gradients.scale(bell, twoOverRootPi));
}
/// Zero at zero; a NaN lets the gradient through.
UNARY_GRADIENT(ReluOp) {
  Value zero = gradients.scalarLike(gradient, 0);
  Value isOff =
      gradients.create<CompareOp>(ComparePredicate::le, op.getResult(), zero);
  return gradients.create<SelectOp>(isOff, zero, gradient);
}
/// g s (1 + x (1 - s)) with s the sigmoid of x.
UNARY_GRADIENT(SiluOp) {
  Value sigmoid = gradients.create<SigmoidOp>(op.getInput());
  Value rest =
      gradients.create<SubOp>(gradients.scalarLike(sigmoid, 1), sigmoid);
  Value slope =
      gradients.addScalar(gradients.create<MulOp>(op.getInput(), rest), 1);
  return gradients.create<MulOp>(gradient,
                                 gradients.create<MulOp>(sigmoid, slope));
}

/// g (cdf(x) + x pdf(x)).
static Value getExactGeluSlope(GradientBuilder &gradients, Value x) {
  constexpr double rootHalf = 0.7071067811865476;
  constexpr double inverseRootTwoPi = 0.3989422804014327;
  Value erf = gradients.create<ErfOp>(gradients.scale(x, rootHalf));
  Value cdf = gradients.scale(gradients.addScalar(erf, 1), 0.5);
  Value square = gradients.create<MulOp>(x, x);
  Value bell = gradients.create<ExpOp>(gradients.scale(square, -0.5));
  Value pdf = gradients.scale(bell, inverseRootTwoPi);
  return gradients.create<AddOp>(cdf, gradients.create<MulOp>(x, pdf));
}

/// With u = a (x + b x^3) and t = tanh u: (1 + t) / 2 + x (1 - t^2) u' / 2.
static Value getTanhGeluSlope(GradientBuilder &gradients, Value x) {
  constexpr double a = 0.7978845608028654, b = 0.044715;
  Value square = gradients.create<MulOp>(x, x);
  Value factor = gradients.addScalar(gradients.scale(square, b), 1);
  Value inner = gradients.scale(gradients.create<MulOp>(x, factor), a);
  Value tanh = gradients.create<TanhOp>(inner);
  Value left = gradients.scale(gradients.addScalar(tanh, 1), 0.5);
  Value rest = gradients.create<SubOp>(gradients.scalarLike(x, 1),
                                       gradients.create<MulOp>(tanh, tanh));
  Value slope =
      gradients.addScalar(gradients.scale(square, 1.5 * a * b), 0.5 * a);
  Value right =
      gradients.create<MulOp>(gradients.create<MulOp>(x, slope), rest);
  return gradients.create<AddOp>(left, right);
}

UNARY_GRADIENT(GeluOp) {
  Value slope = op.getTanh() ? getTanhGeluSlope(gradients, op.getInput())
                             : getExactGeluSlope(gradients, op.getInput());
  return gradients.create<MulOp>(gradient, slope);
}
UNARY_GRADIENT(CastOp) {
  return gradients.cast(gradient,
                        getTensorType(op.getInput()).getElementType());
}
UNARY_GRADIENT(BitcastOp) {
  (void)gradients, (void)op, (void)gradient;
  return Value(); // Bits are no numbers.
}
#undef UNARY_GRADIENT

//===----------------------------------------------------------------------===//
// Functions of two operands, which broadcast
//===----------------------------------------------------------------------===//

/// The answer of a binary op from functions that build what comes in before the
/// sum over stretched dimensions. The roles of `left` and `right` are separate.
static OperandGradients buildBinary(GradientBuilder &gradients, Operation *op,
                                    llvm::function_ref<Value()> left,
                                    llvm::function_ref<Value()> right) {
  OperandGradients answer = gradients.makeNone();
  llvm::function_ref<Value()> builders[] = {left, right};
  for (int operand : {0, 1}) {
    if (!gradients.isNeeded(operand))
      continue;
    gradients.serve(operand);
    answer[operand] =
        gradients.sumTo(op->getOperand(operand), builders[operand]());
  }
  return answer;
}

#define BINARY_GRADIENT(Op)                                                    \
  OperandGradients Op::buildBackward(GradientBuilder &gradients,               \
                                     ArrayRef<Value> resultGradients)

BINARY_GRADIENT(AddOp) {
  auto same = [&] { return resultGradients[0]; };
  return buildBinary(gradients, *this, same, same);
}
BINARY_GRADIENT(SubOp) {
  Value gradient = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  if (gradients.isNeeded(0)) {
    gradients.serve(0);
    answer[0] = gradients.sumTo(getLhs(), gradient);
  }
  // The sum first: its result is smaller.
  if (gradients.isNeeded(1)) {
    gradients.serve(1);
    answer[1] = gradients.create<NegOp>(gradients.sumTo(getRhs(), gradient));
  }
  return answer;
}
BINARY_GRADIENT(MulOp) {
  Value gradient = resultGradients[0];
  return buildBinary(
      gradients, *this,
      [&] { return gradients.create<MulOp>(gradient, getRhs()); },
      [&] { return gradients.create<MulOp>(gradient, getLhs()); });
}
BINARY_GRADIENT(DivOp) {
  Value gradient = resultGradients[0];
  return buildBinary(
      gradients, *this,
      [&] { return gradients.create<DivOp>(gradient, getRhs()); },
      [&] {
        Value slope = gradients.create<DivOp>(getResult(), getRhs());
        Value product = gradients.create<MulOp>(gradient, slope);
        return gradients.create<NegOp>(product);
      });
}
/// Of the base: g b a^(b-1), zero where b is 0. Of the exponent: g y log a,
/// zero where a is 0 and b is not negative.
BINARY_GRADIENT(PowOp) {
  Value gradient = resultGradients[0], base = getLhs(), exponent = getRhs();
  auto isEqual = [&](Value value, double number) -> Value {
    return gradients.create<CompareOp>(ComparePredicate::eq, value,
                                       gradients.scalarLike(value, number));
  };
  return buildBinary(
      gradients, *this,
      [&]() -> Value {
        Value lower = gradients.addScalar(exponent, -1);
        Value power = gradients.create<PowOp>(base, lower);
        Value slope = gradients.create<MulOp>(exponent, power);
        return gradients.create<SelectOp>(
            isEqual(exponent, 0), gradients.scalarLike(gradient, 0),
            gradients.create<MulOp>(gradient, slope));
      },
      [&]() -> Value {
        Value logarithm = gradients.create<LogOp>(base);
        Value slope = gradients.create<MulOp>(getResult(), logarithm);
        Value isPositive = gradients.create<CompareOp>(
            ComparePredicate::ge, exponent, gradients.scalarLike(exponent, 0));
        Value isFlat = gradients.create<AndOp>(isEqual(base, 0), isPositive);
        return gradients.create<SelectOp>(
            isFlat, gradients.scalarLike(gradient, 0),
            gradients.create<MulOp>(gradient, slope));
      });
}
/// a - b trunc(a / b): the truncated quotient is constant.
BINARY_GRADIENT(ModOp) {
  Value gradient = resultGradients[0];
  return buildBinary(
      gradients, *this, [&] { return gradient; },
      [&]() -> Value {
        Value quotient = gradients.create<DivOp>(getLhs(), getRhs());
        Value size =
            gradients.create<FloorOp>(gradients.create<AbsOp>(quotient));
        Value whole =
            gradients.create<MulOp>(gradients.create<SignOp>(quotient), size);
        return gradients.create<NegOp>(
            gradients.create<MulOp>(gradient, whole));
      });
}

/// Of equal operands each gets half. `loses` is how an operand compares to the
/// other one if it has no influence.
static OperandGradients buildExtremum(GradientBuilder &gradients, Operation *op,
                                      Value gradient, ComparePredicate loses) {
  Value half, isTie;
  auto share = [&](Value own, Value other) -> Value {
    if (!half) {
      gradients.serve({0, 1});
      half = gradients.scale(gradient, 0.5);
      isTie = gradients.create<CompareOp>(ComparePredicate::eq, own, other);
    }
    Value isLost = gradients.create<CompareOp>(loses, own, other);
    Value mine = gradients.create<SelectOp>(isTie, half, gradient);
    return gradients.create<SelectOp>(isLost, gradients.scalarLike(gradient, 0),
                                      mine);
  };
  Value left = op->getOperand(0), right = op->getOperand(1);
  return buildBinary(
      gradients, op, [&] { return share(left, right); },
      [&] { return share(right, left); });
}
BINARY_GRADIENT(MaxOp) {
  return buildExtremum(gradients, *this, resultGradients[0],
                       ComparePredicate::lt);
}
BINARY_GRADIENT(MinOp) {
  return buildExtremum(gradients, *this, resultGradients[0],
                       ComparePredicate::gt);
}
#undef BINARY_GRADIENT

//===----------------------------------------------------------------------===//
// Select
//===----------------------------------------------------------------------===//

OperandGradients SelectOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  Value gradient = resultGradients[0];
  OperandGradients answer = gradients.makeNone();
  for (int operand : {1, 2}) {
    if (!gradients.isNeeded(operand))
      continue;
    gradients.serve(operand);
    Value zero = gradients.scalarLike(gradient, 0);
    bool isTaken = operand == 1;
    Value part = gradients.create<SelectOp>(
        getCondition(), isTaken ? gradient : zero, isTaken ? zero : gradient);
    answer[operand] = gradients.sumTo(getOperand(operand), part);
  }
  return answer;
}

} // namespace parplan
