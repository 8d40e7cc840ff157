//===- Activations.cpp - Raises silu and gelu -----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Matching.h"
#include "passes/Simplify/Rewriter.h"

#include <cmath>

using namespace mlir;

namespace parplan::simplify {

/// x * sigmoid(x)
Value raiseSilu(Operation *op, Rewriter &rewriter) {
  for (Value operand : op->getOperands()) {
    auto sigmoid = operand.getDefiningOp<SigmoidOp>();
    if (sigmoid && getOther(op, operand) == sigmoid.getInput())
      return rewriter.create<SiluOp>(sigmoid.getInput());
  }
  return {};
}

/// True when `value` is x^3.
static bool isCube(Value value, Value x) {
  if (auto pow = value.getDefiningOp<PowOp>())
    return pow.getLhs() == x && isSplatOf(pow.getRhs(), 3);
  return false;
}

/// True when the factors are x^3 in some form.
static bool isCube(ArrayRef<Value> factors, Value x) {
  if (factors.size() == 1)
    return isCube(factors[0], x);
  if (factors.size() == 2)
    return llvm::is_contained(factors, x) &&
           llvm::any_of(factors,
                        [&](Value value) { return matchSquare(value) == x; });
  return factors.size() == 3 && llvm::all_equal(factors) && factors[0] == x;
}

/// sqrt(2/pi) * (x + 0.044715 x^3), or the same with x outside.
static bool isTanhArgument(Value value, Value x) {
  constexpr double cubic = 0.044715;
  Type element = getElementType(x);
  Product product = matchProduct(value);
  if (!isNear(product.factor, std::sqrt(2 / M_PI), element))
    return false;
  if (product.factors.size() == 1) {
    auto sum = product.factors[0].getDefiningOp<AddOp>();
    Value term = sum ? getOther(sum, x) : Value();
    if (!term)
      return false;
    Product third = matchProduct(term);
    return isNear(third.factor, cubic, element) && isCube(third.factors, x);
  }
  if (product.factors.size() != 2 || !llvm::is_contained(product.factors, x))
    return false;
  Value other = product.factors[product.factors[0] == x ? 1 : 0];
  Value term = matchShifted(other, 1);
  if (!term)
    return false;
  Scaled second = matchScaled(term);
  if (isNear(second.factor, cubic, element) && matchSquare(second.base) == x)
    return true;
  Product square = matchProduct(term);
  return isNear(square.factor, cubic, element) && square.factors.size() == 2 &&
         llvm::all_equal(square.factors) && square.factors[0] == x;
}

/// x/2 (1 + erf(x/sqrt 2)) and x/2 (1 + tanh(..)), in any order of the factors.
Value raiseGelu(Operation *op, Rewriter &rewriter) {
  Product product = matchProduct(op->getResult(0));
  if (product.factors.size() != 2 ||
      !isNear(product.factor, 0.5, getElementType(op->getResult(0))))
    return {};
  for (int position : {0, 1}) {
    Value x = product.factors[1 - position];
    Value bell = matchShifted(product.factors[position], 1);
    if (!bell)
      continue;
    if (auto erf = bell.getDefiningOp<ErfOp>()) {
      Scaled argument = matchScaled(erf.getInput());
      if (argument.base != x ||
          !isNear(argument.factor, M_SQRT1_2, getElementType(x)))
        continue;
      rewriter.setOnnxOp("Gelu");
      return rewriter.create<GeluOp>(x.getType(), x, /*tanh=*/false);
    }
    auto tanh = bell.getDefiningOp<TanhOp>();
    if (!tanh || !isTanhArgument(tanh.getInput(), x))
      continue;
    rewriter.setOnnxOp("Gelu");
    return rewriter.create<GeluOp>(x.getType(), x, /*tanh=*/true);
  }
  return {};
}

} // namespace parplan::simplify
