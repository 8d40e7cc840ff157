//===- Elementwise.cpp - Elementwise operations ---------------------------===//
//
// Part of parplan. Types, rules and costs of ops that broadcast like numpy.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/OpFamilies.h"
#include "dialects/parplan/RuleBuilder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult inferBroadcast(OptionalLocation location,
                                    ValueRange operands, Type elementType,
                                    SmallVectorImpl<Type> &types) {
  Shape shape(getShape(operands.front()));
  for (Value operand : operands.drop_front()) {
    FailureOr<Shape> joined =
        broadcastShapes(location, shape, getShape(operand));
    if (failed(joined))
      return failure();
    shape = std::move(*joined);
  }
  types.push_back(RankedTensorType::get(shape, elementType));
  return success();
}

#define INFER_BROADCAST(Op)                                                    \
  LogicalResult Op::inferReturnTypes(MLIRContext *, OptionalLocation location, \
                                     Adaptor adaptor,                          \
                                     SmallVectorImpl<Type> &types) {           \
    ValueRange operands = adaptor.getOperands();                               \
    if (failed(requireTensors(location, operands)))                            \
      return failure();                                                        \
    return inferBroadcast(location, operands,                                  \
                          getTensorType(operands.front()).getElementType(),    \
                          types);                                              \
  }
INFER_BROADCAST(AddOp)
INFER_BROADCAST(SubOp)
INFER_BROADCAST(MulOp)
INFER_BROADCAST(DivOp)
INFER_BROADCAST(PowOp)
INFER_BROADCAST(ModOp)
INFER_BROADCAST(MaxOp)
INFER_BROADCAST(MinOp)
INFER_BROADCAST(AndOp)
INFER_BROADCAST(OrOp)
INFER_BROADCAST(XorOp)
#undef INFER_BROADCAST

#define INFER_PREDICATE(Op)                                                    \
  LogicalResult Op::inferReturnTypes(                                          \
      MLIRContext *context, OptionalLocation location, Adaptor adaptor,        \
      SmallVectorImpl<Type> &types) {                                          \
    ValueRange operands = adaptor.getOperands();                               \
    if (failed(requireTensors(location, operands)))                            \
      return failure();                                                        \
    return inferBroadcast(location, operands, IntegerType::get(context, 1),    \
                          types);                                              \
  }
INFER_PREDICATE(IsNaNOp)
INFER_PREDICATE(IsInfOp)
INFER_PREDICATE(CompareOp)
#undef INFER_PREDICATE

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         OptionalLocation location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  Type onTrue = getTensorType(adaptor.getOnTrue()).getElementType();
  Type onFalse = getTensorType(adaptor.getOnFalse()).getElementType();
  if (onTrue != onFalse)
    return emitOptionalError(location, "selects between ", onTrue, " and ",
                             onFalse);
  return inferBroadcast(location, adaptor.getOperands(), onTrue, types);
}

LogicalResult BitcastOp::verify() {
  auto getBytes = [](Type type) {
    return (type.getIntOrFloatBitWidth() + 7) / 8;
  };
  Type from = getTensorType(getInput()).getElementType(),
       to = getType().getElementType();
  if (getBytes(from) != getBytes(to) || (to.isInteger(1) && from != to))
    return emitOpError("reads the bits of ") << from << " as " << to;
  return success();
}

//===----------------------------------------------------------------------===//
// Rule
//===----------------------------------------------------------------------===//

/// A widening conversion of floats is exact, so it is linear; others round.
static bool isExactFloatCast(CastOp op) {
  auto from =
      dyn_cast<FloatType>(getTensorType(op.getInput()).getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  return from && to && from.getWidth() < to.getWidth();
}

static Linearity getElementwiseLinearity(Operation *op) {
  if (auto cast = dyn_cast<CastOp>(op))
    return isExactFloatCast(cast) ? Linearity::jointly : Linearity::none;
  if (isa<AddOp, SubOp, NegOp, SumOp, AccumulateOp>(op))
    return Linearity::jointly;
  return isa<MulOp>(op) ? Linearity::separately : Linearity::none;
}

/// Element i of the result comes from the elements i of the operands, or of
/// scalars, and zeros give zeros: the op may run on flattened pieces (S6).
static bool isFlat(Operation *op) {
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  bool isScaling = isa<MulOp>(op);
  if (shape.empty() ||
      !(op->hasTrait<MapsZeroToZero>() || isScaling || isa<AddOp, SubOp>(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return getShape(operand) == shape ||
           (isScaling && getShape(operand).empty());
  });
}

ShardingRule getElementwiseRule(Operation *op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> resultShape = getShape(op->getResult(0));
  for (auto [dim, size] : llvm::enumerate(resultShape)) {
    int factor = builder.add("d" + Twine(dim), size);
    builder.result(0, dim, factor);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      ArrayRef<int64_t> shape = getShape(operand);
      int64_t operandDim = static_cast<int64_t>(dim + shape.size()) -
                           static_cast<int64_t>(resultShape.size());
      if (operandDim >= 0 && shape[operandDim] == size)
        builder.operand(index, operandDim, factor);
    }
  }
  ShardingRule rule = builder.finish(getElementwiseLinearity(op));
  rule.flat = isFlat(op);
  return rule;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Functions that the vector units compute by series or special units.
static double countTranscendentals(Operation *op) {
  if (isa<ExpOp, LogOp, SqrtOp, RsqrtOp, SinOp, CosOp, TanOp, AsinOp, AcosOp,
          AtanOp, SinhOp, CoshOp, AsinhOp, AcoshOp, AtanhOp, TanhOp, SigmoidOp,
          ErfOp, SiluOp, GeluOp, ReciprocalOp>(op))
    return 1;
  return isa<PowOp>(op) ? 2 : 0;
}

static double countFlops(Operation *op) {
  if (auto gelu = dyn_cast<GeluOp>(op))
    return gelu.getTanh() ? 8 : 4;
  if (auto sum = dyn_cast<SumOp>(op))
    return static_cast<double>(sum.getInputs().size() - 1);
  return isa<SiluOp, SigmoidOp>(op) ? 2 : 1;
}

OpWork getElementwiseWork(Operation *op) {
  ShardingRule rule = getElementwiseRule(op);
  OpWork work;
  work.kind = WorkKind::elementwise;
  work.flops.push_back(termOver(countFlops(op), rule.results[0]));
  if (double count = countTranscendentals(op))
    work.transcendentals.push_back(termOver(count, rule.results[0]));
  return work;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

static bool isPositiveConstant(Value value) {
  // The padding of a local constant lies in dimensions that callers exclude.
  if (auto cleared = value.getDefiningOp<ClearPaddingOp>())
    value = cleared.getInput();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return false;
  return constant.getSplatValue<APFloat>().compare(APFloat::getZero(
             cast<FloatType>(constant.getElementType()).getFloatSemantics())) ==
         APFloat::cmpGreaterThan;
}

bool elementwiseKeepsZeroPadding(Operation *op, int factor) {
  ShardingRule rule = getElementwiseRule(op);
  auto isPadded = [&](unsigned operand) {
    return hasFactor(rule.operands[operand], factor);
  };
  if (op->hasTrait<MapsZeroToZero>())
    return true;
  // f(0, 0) = 0, but f(0, b) = b.
  if (isa<AddOp, SubOp, MaxOp, MinOp, OrOp, XorOp>(op))
    return isPadded(0) && isPadded(1);
  // f(0, b) = 0.
  if (isa<MulOp, AndOp>(op))
    return true;
  // 0 / b = 0, but 0 / 0 and 0 / NaN are not.
  if (isa<DivOp, ModOp>(op))
    return !isPadded(1) && isPositiveConstant(op->getOperand(1));
  if (isa<PowOp>(op))
    return isPadded(0) && !isPadded(1) && isPositiveConstant(op->getOperand(1));
  if (auto compare = dyn_cast<CompareOp>(op))
    return isPadded(0) && isPadded(1) &&
           (compare.getPredicate() == ComparePredicate::ne ||
            compare.getPredicate() == ComparePredicate::lt ||
            compare.getPredicate() == ComparePredicate::gt);
  // A padded condition is false there.
  if (isa<SelectOp>(op))
    return isPadded(2) && (isPadded(0) || isPadded(1));
  return false;
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  Value sigmoid = builder.create<SigmoidOp>(getLoc(), getInput());
  return {builder.create<MulOp>(getLoc(), getInput(), sigmoid)};
}

/// A scalar constant that broadcasts to any shape.
static Value createScalar(OpBuilder &builder, Location location, Type element,
                          double value) {
  auto type = RankedTensorType::get({}, element);
  return builder.create<ConstantOp>(
      location,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Value x = getInput();
  auto scale = [&](Value value, double factor) -> Value {
    Value constant =
        createScalar(builder, location, getType().getElementType(), factor);
    return builder.create<MulOp>(location, value, constant);
  };
  auto addScalar = [&](Value value, double term) -> Value {
    Value constant =
        createScalar(builder, location, getType().getElementType(), term);
    return builder.create<AddOp>(location, value, constant);
  };
  Value bell;
  if (getTanh()) {
    Value square = builder.create<MulOp>(location, x, x);
    Value cubic = addScalar(scale(square, 0.044715), 1.0);
    Value inner = builder.create<MulOp>(location, x, cubic);
    bell = builder.create<TanhOp>(location, scale(inner, 0.7978845608028654));
  } else {
    bell = builder.create<ErfOp>(location, scale(x, 0.7071067811865476));
  }
  Value half = scale(x, 0.5);
  return {builder.create<MulOp>(location, half, addScalar(bell, 1.0))};
}

} // namespace parplan
