//===- Norms.cpp - Raises layer norm and RMS norm -------------------------===//
//
// Part of parplan. The quotient is recognised first; scale and bias join when
// the walk reaches them.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Matching.h"
#include "passes/Simplify/Rewriter.h"

using namespace mlir;

namespace parplan::simplify {

/// The operand of a square root, or null.
static Value matchSqrt(Value value) {
  if (auto sqrt = value.getDefiningOp<SqrtOp>())
    return sqrt.getInput();
  auto pow = value.getDefiningOp<PowOp>();
  return pow && isSplatOf(pow.getRhs(), 0.5) ? pow.getLhs() : Value();
}

/// The w of 1 / sqrt(w), or null.
static Value matchInverseSqrt(Value value) {
  if (auto rsqrt = value.getDefiningOp<RsqrtOp>())
    return rsqrt.getInput();
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    return matchSqrt(reciprocal.getInput());
  if (auto div = value.getDefiningOp<DivOp>())
    return isSplatOf(div.getLhs(), 1) ? matchSqrt(div.getRhs()) : Value();
  auto pow = value.getDefiningOp<PowOp>();
  return pow && isSplatOf(pow.getRhs(), -0.5) ? pow.getLhs() : Value();
}

namespace {
/// value / sqrt(mean(value^2) + epsilon)
struct Quotient {
  Value value;
  int64_t dim;
  double epsilon;
};
} // namespace

static std::optional<Quotient> matchQuotient(Value dividend, Value shifted) {
  auto add = shifted ? shifted.getDefiningOp<AddOp>() : AddOp();
  if (!add)
    return {};
  std::optional<double> epsilon = getSplat(add.getRhs());
  Value variance = add.getLhs();
  if (!epsilon) {
    epsilon = getSplat(add.getLhs());
    variance = add.getRhs();
  }
  std::optional<Mean> mean = epsilon ? matchMean(variance) : std::nullopt;
  if (!mean || matchSquare(mean->input) != dividend)
    return {};
  return Quotient{dividend, mean->dim, *epsilon};
}

static std::optional<Quotient> matchQuotient(Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (isa<DivOp>(op))
    return matchQuotient(lhs, matchSqrt(rhs));
  if (std::optional<Quotient> found = matchQuotient(lhs, matchInverseSqrt(rhs)))
    return found;
  return matchQuotient(rhs, matchInverseSqrt(lhs));
}

Value raiseNorm(Operation *op, Rewriter &rewriter) {
  std::optional<Quotient> quotient = matchQuotient(op);
  if (!quotient)
    return {};
  FloatAttr epsilon = rewriter.builder.getF64FloatAttr(quotient->epsilon);
  IntegerAttr dim = rewriter.builder.getI64IntegerAttr(quotient->dim);
  if (auto centered = quotient->value.getDefiningOp<SubOp>()) {
    std::optional<Mean> mean = matchMean(centered.getRhs());
    if (mean && mean->input == centered.getLhs() &&
        mean->dim == quotient->dim) {
      rewriter.setOnnxOp("LayerNormalization");
      return rewriter.create<LayerNormOp>(centered.getLhs(), /*scale=*/Value(),
                                          /*bias=*/Value(), dim, epsilon);
    }
  }
  rewriter.setOnnxOp("RMSNormalization");
  return rewriter.create<RMSNormOp>(quotient->value, /*scale=*/Value(), dim,
                                    epsilon);
}

/// `value` in the shape of the normalised dimensions, or null.
static Value matchPerElement(Value value, ArrayRef<int64_t> input, int64_t dim,
                             Rewriter &rewriter) {
  ArrayRef<int64_t> wanted = input.drop_front(dim), shape = getShape(value);
  if (shape.size() < wanted.size() ||
      shape.take_back(wanted.size()) != wanted ||
      !llvm::all_of(shape.drop_back(wanted.size()),
                    [](int64_t size) { return size == 1; }))
    return {};
  return rewriter.reshape(value, wanted);
}

/// Carries over what the raised op already says about itself.
static void keepName(Rewriter &rewriter, Operation *norm) {
  rewriter.setOrigin(norm);
}

Value absorbNormScale(Operation *op, Rewriter &rewriter) {
  for (Value operand : op->getOperands()) {
    Value scale = getOther(op, operand);
    if (!operand.hasOneUse())
      continue;
    if (auto norm = operand.getDefiningOp<LayerNormOp>();
        norm && !norm.getScale() && !norm.getBias()) {
      keepName(rewriter, norm);
      if (Value fitting = matchPerElement(scale, getShape(norm.getInput()),
                                          norm.getDim(), rewriter))
        return rewriter.create<LayerNormOp>(norm.getInput(), fitting,
                                            /*bias=*/Value(), norm.getDimAttr(),
                                            norm.getEpsilonAttr());
    }
    if (auto norm = operand.getDefiningOp<RMSNormOp>();
        norm && !norm.getScale()) {
      keepName(rewriter, norm);
      if (Value fitting = matchPerElement(scale, getShape(norm.getInput()),
                                          norm.getDim(), rewriter))
        return rewriter.create<RMSNormOp>(
            norm.getInput(), fitting, norm.getDimAttr(), norm.getEpsilonAttr());
    }
  }
  return {};
}

Value absorbNormBias(Operation *op, Rewriter &rewriter) {
  for (Value operand : op->getOperands()) {
    auto norm = operand.getDefiningOp<LayerNormOp>();
    if (!norm || norm.getBias() || !operand.hasOneUse())
      continue;
    // An activation of the normalised shape is a residual, not a bias.
    Value bias = getOther(op, operand);
    if (!isa_and_nonnull<ParameterOp, ConstantOp>(bias.getDefiningOp()))
      continue;
    keepName(rewriter, norm);
    if (Value fitting = matchPerElement(bias, getShape(norm.getInput()),
                                        norm.getDim(), rewriter))
      return rewriter.create<LayerNormOp>(norm.getInput(), norm.getScale(),
                                          fitting, norm.getDimAttr(),
                                          norm.getEpsilonAttr());
  }
  return {};
}

} // namespace parplan::simplify
