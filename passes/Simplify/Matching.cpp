//===- Matching.cpp - What patterns look for ------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Matching.h"

#include <cmath>

using namespace mlir;

namespace parplan::simplify {

std::optional<double> getSplat(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, BroadcastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (!constant)
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return {};
  if (isa<FloatType>(elements.getElementType())) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.convertToDouble();
  }
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
}

bool isNear(double value, double expected, Type element) {
  // Exporters write numbers of double tensors with the precision of floats.
  double tolerance = element.isBF16() ? 1.6e-2 : element.isF16() ? 2e-3 : 5e-6;
  return std::abs(value - expected) <= tolerance * std::abs(expected);
}

bool isSplatOf(Value value, double expected) {
  std::optional<double> number = getSplat(value);
  return number && isNear(*number, expected, getElementType(value));
}

/// A scaling that keeps the shape of `kept`.
static bool isScalar(Value factor, Value kept, Value result) {
  return getSplat(factor) && getShape(kept) == getShape(result);
}

Scaled matchScaled(Value value) {
  Scaled scaled{value, 1};
  while (Operation *op = scaled.base.getDefiningOp()) {
    if (isa<MulOp>(op) &&
        isScalar(op->getOperand(1), op->getOperand(0), op->getResult(0))) {
      scaled.factor *= *getSplat(op->getOperand(1));
      scaled.base = op->getOperand(0);
    } else if (isa<MulOp>(op) && isScalar(op->getOperand(0), op->getOperand(1),
                                          op->getResult(0))) {
      scaled.factor *= *getSplat(op->getOperand(0));
      scaled.base = op->getOperand(1);
    } else if (isa<DivOp>(op) && isScalar(op->getOperand(1), op->getOperand(0),
                                          op->getResult(0))) {
      scaled.factor /= *getSplat(op->getOperand(1));
      scaled.base = op->getOperand(0);
    } else {
      break;
    }
  }
  return scaled;
}

static void collectProduct(Value value, bool isOuter, Product &product) {
  if (std::optional<double> number = getSplat(value)) {
    product.factor *= *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op && (isOuter || value.hasOneUse())) {
    if (isa<MulOp>(op)) {
      collectProduct(op->getOperand(0), /*isOuter=*/false, product);
      collectProduct(op->getOperand(1), /*isOuter=*/false, product);
      return;
    }
    std::optional<double> divisor =
        isa<DivOp>(op) ? getSplat(op->getOperand(1)) : std::nullopt;
    if (divisor) {
      product.factor /= *divisor;
      collectProduct(op->getOperand(0), /*isOuter=*/false, product);
      return;
    }
  }
  product.factors.push_back(value);
}

Product matchProduct(Value value) {
  Product product;
  collectProduct(value, /*isOuter=*/true, product);
  return product;
}

Value getOther(Operation *op, Value known) {
  if (op->getOperand(0) == known)
    return op->getOperand(1);
  return op->getOperand(1) == known ? op->getOperand(0) : Value();
}

Value matchShifted(Value value, double number) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return {};
  if (isSplatOf(add.getRhs(), number))
    return add.getLhs();
  return isSplatOf(add.getLhs(), number) ? add.getRhs() : Value();
}

bool isElementwise(Operation *op) {
  return isa<AbsOp, NegOp, SignOp, ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp,
             SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp,
             AsinhOp, AcoshOp, AtanhOp, TanhOp, SigmoidOp, ErfOp, FloorOp,
             CeilOp, RoundOp, ReluOp, SiluOp, GeluOp, NotOp, IsNaNOp, IsInfOp,
             CastOp, BitcastOp, AddOp, SubOp, MulOp, DivOp, PowOp, ModOp, MaxOp,
             MinOp, AndOp, OrOp, XorOp, CompareOp, SelectOp>(op);
}

std::optional<Mean> matchMean(Value value) {
  Scaled scaled = matchScaled(value);
  auto reduce = scaled.base.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::sum || !reduce.getKeepDims())
    return {};
  ArrayRef<int64_t> shape = getShape(reduce.getInput());
  ArrayRef<int64_t> dims = reduce.getDims();
  int64_t rank = shape.size(), first = rank - static_cast<int64_t>(dims.size());
  if (dims.empty() || !llvm::equal(dims, llvm::seq<int64_t>(first, rank)))
    return {};
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(shape[dim]);
  if (!isNear(scaled.factor * count, 1, getElementType(value)))
    return {};
  return Mean{reduce.getInput(), first};
}

Value matchSquare(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>())
    return mul.getLhs() == mul.getRhs() ? mul.getLhs() : Value();
  auto pow = value.getDefiningOp<PowOp>();
  return pow && isSplatOf(pow.getRhs(), 2) ? pow.getLhs() : Value();
}

int64_t Flattening::getRows() const {
  int64_t rows = 1;
  for (int64_t size : getPrefix())
    rows *= size;
  return rows;
}

std::optional<Flattening> matchFlattening(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  ArrayRef<int64_t> from = getShape(reshape.getInput()), to = getShape(value);
  if (from.size() <= to.size() || to.size() < 2)
    return {};
  size_t kept = to.size() - 1;
  if (from.take_back(kept) != to.take_back(kept))
    return {};
  return Flattening{reshape.getInput(), kept};
}

} // namespace parplan::simplify
