//===- Elementwise.cpp - Values of elementwise ops ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace parplan {
namespace {

using RealFunction = double (*)(double);
using RealFunction2 = double (*)(double, double);
using IntegerFunction = int64_t (*)(int64_t);
using IntegerFunction2 = int64_t (*)(int64_t, int64_t);

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

double applySign(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}
double applySigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double applyGelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }
double applyTanhGelu(double x) {
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}
double takeMaximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}
double takeMinimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
}

/// Wraps like the hardware, without overflow in the sense of C++.
int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
int64_t wrapMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}
int64_t wrapNegate(int64_t a) { return wrapMultiply(a, -1); }
/// Quotients and remainders by zero occur in padding only; they are 0.
int64_t divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? wrapNegate(a) : a / b;
}
int64_t takeModulo(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t raiseUnsigned(int64_t base, uint64_t exponent) {
  int64_t power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1)
      power = wrapMultiply(power, base);
    base = wrapMultiply(base, base);
  }
  return power;
}
int64_t raise(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  return raiseUnsigned(base, static_cast<uint64_t>(exponent));
}

RealFunction getRealFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, RealFunction>(op)
      .Case<AbsOp>([](auto) { return [](double x) { return std::fabs(x); }; })
      .Case<NegOp>([](auto) { return [](double x) { return -x; }; })
      .Case<SignOp>([](auto) { return applySign; })
      .Case<ExpOp>([](auto) { return [](double x) { return std::exp(x); }; })
      .Case<LogOp>([](auto) { return [](double x) { return std::log(x); }; })
      .Case<SqrtOp>([](auto) { return [](double x) { return std::sqrt(x); }; })
      .Case<RsqrtOp>(
          [](auto) { return [](double x) { return 1 / std::sqrt(x); }; })
      .Case<ReciprocalOp>([](auto) { return [](double x) { return 1 / x; }; })
      .Case<SinOp>([](auto) { return [](double x) { return std::sin(x); }; })
      .Case<CosOp>([](auto) { return [](double x) { return std::cos(x); }; })
      .Case<TanOp>([](auto) { return [](double x) { return std::tan(x); }; })
      .Case<AsinOp>([](auto) { return [](double x) { return std::asin(x); }; })
      .Case<AcosOp>([](auto) { return [](double x) { return std::acos(x); }; })
      .Case<AtanOp>([](auto) { return [](double x) { return std::atan(x); }; })
      .Case<SinhOp>([](auto) { return [](double x) { return std::sinh(x); }; })
      .Case<CoshOp>([](auto) { return [](double x) { return std::cosh(x); }; })
      .Case<AsinhOp>(
          [](auto) { return [](double x) { return std::asinh(x); }; })
      .Case<AcoshOp>(
          [](auto) { return [](double x) { return std::acosh(x); }; })
      .Case<AtanhOp>(
          [](auto) { return [](double x) { return std::atanh(x); }; })
      .Case<TanhOp>([](auto) { return [](double x) { return std::tanh(x); }; })
      .Case<SigmoidOp>([](auto) { return applySigmoid; })
      .Case<ErfOp>([](auto) { return [](double x) { return std::erf(x); }; })
      .Case<FloorOp>(
          [](auto) { return [](double x) { return std::floor(x); }; })
      .Case<CeilOp>([](auto) { return [](double x) { return std::ceil(x); }; })
      .Case<RoundOp>(
          [](auto) { return [](double x) { return std::nearbyint(x); }; })
      .Case<ReluOp>(
          [](auto) { return [](double x) { return takeMaximum(x, 0); }; })
      .Case<SiluOp>(
          [](auto) { return [](double x) { return x * applySigmoid(x); }; })
      .Case<GeluOp>(
          [](GeluOp op) { return op.getTanh() ? applyTanhGelu : applyGelu; })
      .Default([](auto) { return RealFunction(); });
}

IntegerFunction getIntegerFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, IntegerFunction>(op)
      .Case<AbsOp>([](auto) {
        return [](int64_t x) { return x < 0 ? wrapNegate(x) : x; };
      })
      .Case<NegOp>([](auto) { return wrapNegate; })
      .Case<SignOp>([](auto) {
        return [](int64_t x) { return int64_t(x > 0) - int64_t(x < 0); };
      })
      .Case<ReluOp>([](auto) {
        return [](int64_t x) { return std::max<int64_t>(x, 0); };
      })
      .Case<NotOp>([](auto) { return [](int64_t x) { return ~x; }; })
      .Default([](auto) { return IntegerFunction(); });
}

RealFunction2 getRealFunction2(Operation *op) {
  return llvm::TypeSwitch<Operation *, RealFunction2>(op)
      .Case<AddOp>(
          [](auto) { return [](double a, double b) { return a + b; }; })
      .Case<SubOp>(
          [](auto) { return [](double a, double b) { return a - b; }; })
      .Case<MulOp>(
          [](auto) { return [](double a, double b) { return a * b; }; })
      .Case<DivOp>(
          [](auto) { return [](double a, double b) { return a / b; }; })
      .Case<PowOp>([](auto) {
        return [](double a, double b) { return std::pow(a, b); };
      })
      .Case<ModOp>([](auto) {
        return [](double a, double b) { return std::fmod(a, b); };
      })
      .Case<MaxOp>([](auto) { return takeMaximum; })
      .Case<MinOp>([](auto) { return takeMinimum; })
      .Default([](auto) { return RealFunction2(); });
}

IntegerFunction2 getIntegerFunction2(Operation *op) {
  return llvm::TypeSwitch<Operation *, IntegerFunction2>(op)
      .Case<AddOp>([](auto) { return wrapAdd; })
      .Case<SubOp>([](auto) {
        return [](int64_t a, int64_t b) { return wrapAdd(a, wrapNegate(b)); };
      })
      .Case<MulOp>([](auto) { return wrapMultiply; })
      .Case<DivOp>([](auto) { return divide; })
      .Case<PowOp>([](auto) { return raise; })
      .Case<ModOp>([](auto) { return takeModulo; })
      .Case<MaxOp>([](auto) {
        return [](int64_t a, int64_t b) { return std::max(a, b); };
      })
      .Case<MinOp>([](auto) {
        return [](int64_t a, int64_t b) { return std::min(a, b); };
      })
      .Case<AndOp>(
          [](auto) { return [](int64_t a, int64_t b) { return a & b; }; })
      .Case<OrOp>(
          [](auto) { return [](int64_t a, int64_t b) { return a | b; }; })
      .Case<XorOp>(
          [](auto) { return [](int64_t a, int64_t b) { return a ^ b; }; })
      .Default([](auto) { return IntegerFunction2(); });
}

/// Unsigned integers of 64 bits are kept as their bits: none is negative.
IntegerFunction getUnsignedFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, IntegerFunction>(op)
      .Case<AbsOp, ReluOp>([](auto) { return [](int64_t x) { return x; }; })
      .Case<SignOp>(
          [](auto) { return [](int64_t x) { return int64_t(x != 0); }; })
      .Default([&](auto) { return getIntegerFunction(op); });
}

IntegerFunction2 getUnsignedFunction2(Operation *op) {
  using Bits = uint64_t;
  return llvm::TypeSwitch<Operation *, IntegerFunction2>(op)
      .Case<DivOp>([](auto) {
        return [](int64_t a, int64_t b) {
          return b == 0 ? 0 : static_cast<int64_t>(Bits(a) / Bits(b));
        };
      })
      .Case<ModOp>([](auto) {
        return [](int64_t a, int64_t b) {
          return b == 0 ? 0 : static_cast<int64_t>(Bits(a) % Bits(b));
        };
      })
      .Case<PowOp>([](auto) {
        return [](int64_t a, int64_t b) { return raiseUnsigned(a, Bits(b)); };
      })
      .Case<MaxOp>([](auto) {
        return [](int64_t a, int64_t b) { return takeGreater(a, b, true); };
      })
      .Case<MinOp>([](auto) {
        return [](int64_t a, int64_t b) {
          return takeGreater(a, b, true) == a ? b : a;
        };
      })
      .Default([&](auto) { return getIntegerFunction2(op); });
}

template <typename Number>
bool compareNumbers(ComparePredicate predicate, Number a, Number b) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == b;
  case ComparePredicate::ne:
    return a != b;
  case ComparePredicate::lt:
    return a < b;
  case ComparePredicate::le:
    return a <= b;
  case ComparePredicate::gt:
    return a > b;
  case ComparePredicate::ge:
    return a >= b;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Calls `body` with a position of the result and those of all operands.
void forEachBroadcast(
    const Evaluation &evaluation, ArrayRef<int64_t> shape,
    llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> body) {
  SmallVector<SmallVector<int64_t>, 3> strides;
  for (const Tensor *operand : evaluation.operands)
    strides.push_back(getBroadcastStrides(*operand, shape));
  SmallVector<int64_t, 3> positions(strides.size());
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t position) {
    for (size_t operand = 0; operand < strides.size(); ++operand)
      positions[operand] = getPosition(index, strides[operand]);
    body(position, positions);
  });
}

Values evaluateUnary(const Evaluation &evaluation, RealFunction real,
                     IntegerFunction integer) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  for (int64_t i = 0; i < result.getSize(); ++i) {
    if (result.isReal())
      result[i].real = real(input[i].real);
    else
      result[i].integer = integer(input[i].integer);
  }
  return {result};
}

Values evaluateBinary(const Evaluation &evaluation, RealFunction2 real,
                      IntegerFunction2 integer) {
  Tensor result = evaluation.makeResult();
  const Tensor &lhs = evaluation.operand(0), &rhs = evaluation.operand(1);
  forEachBroadcast(evaluation, result.getShape(),
                   [&](int64_t position, ArrayRef<int64_t> from) {
                     if (result.isReal())
                       result[position].real =
                           real(lhs[from[0]].real, rhs[from[1]].real);
                     else
                       result[position].integer =
                           integer(lhs[from[0]].integer, rhs[from[1]].integer);
                   });
  return {result};
}

Values evaluatePredicate(const Evaluation &evaluation, bool (*holds)(double)) {
  Tensor result = evaluation.makeResult();
  for (int64_t i = 0; i < result.getSize(); ++i)
    result[i].integer = holds(evaluation.operand(0)[i].real);
  return {result};
}

Values evaluateCompare(const Evaluation &evaluation, CompareOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &lhs = evaluation.operand(0), &rhs = evaluation.operand(1);
  forEachBroadcast(evaluation, result.getShape(),
                   [&](int64_t position, ArrayRef<int64_t> from) {
                     Scalar a = lhs[from[0]], b = rhs[from[1]];
                     ComparePredicate predicate = op.getPredicate();
                     result[position].integer =
                         lhs.isReal()
                             ? compareNumbers(predicate, a.real, b.real)
                         : lhs.isUnsigned()
                             ? compareNumbers(predicate, uint64_t(a.integer),
                                              uint64_t(b.integer))
                             : compareNumbers(predicate, a.integer, b.integer);
                   });
  return {result};
}

Values evaluateSelect(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  forEachBroadcast(evaluation, result.getShape(),
                   [&](int64_t position, ArrayRef<int64_t> from) {
                     unsigned chosen =
                         evaluation.operand(0)[from[0]].integer ? 1 : 2;
                     result[position] =
                         evaluation.operand(chosen)[from[chosen]];
                   });
  return {result};
}

} // namespace

MaybeValues evaluateElementwise(const Evaluation &evaluation) {
  Operation *op = evaluation.op;
  if (op->getNumResults() != 1)
    return std::nullopt;
  bool isUnsigned =
      getElementTypeOrSelf(op->getResult(0).getType()).isUnsignedInteger();
  RealFunction real = getRealFunction(op);
  IntegerFunction integer =
      isUnsigned ? getUnsignedFunction(op) : getIntegerFunction(op);
  if (real || integer)
    return FailureOr<Values>(evaluateUnary(evaluation, real, integer));
  RealFunction2 real2 = getRealFunction2(op);
  IntegerFunction2 integer2 =
      isUnsigned ? getUnsignedFunction2(op) : getIntegerFunction2(op);
  if (real2 || integer2)
    return FailureOr<Values>(evaluateBinary(evaluation, real2, integer2));
  return llvm::TypeSwitch<Operation *, MaybeValues>(op)
      .Case<IsNaNOp>([&](auto) {
        return evaluatePredicate(evaluation,
                                 [](double x) { return std::isnan(x); });
      })
      .Case<IsInfOp>([&](auto) {
        return evaluatePredicate(evaluation,
                                 [](double x) { return std::isinf(x); });
      })
      .Case<CompareOp>(
          [&](CompareOp op) { return evaluateCompare(evaluation, op); })
      .Case<SelectOp>([&](auto) { return evaluateSelect(evaluation); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
