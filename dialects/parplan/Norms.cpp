//===- Norms.cpp - Softmax and normalisations -----------------------------===//
//
// Part of parplan. The normalised dimensions are coupled: with axes the op is
// decomposed, and each of its sums becomes a reduction of the small tensor of
// the other dimensions.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/RuleBuilder.h"

#include <limits>

using namespace mlir;

namespace parplan {

/// Factors d0, d1, .. of operand 0 and the result; those from `begin` to `end`
/// are coupled, and further operands have the shape of these dims.
static ShardingRule getNormRule(Operation *op, size_t begin, size_t end) {
  RuleBuilder builder(op);
  for (auto [dim, size] : llvm::enumerate(getShape(op->getResult(0)))) {
    bool isNormalised = begin <= dim && dim < end;
    int factor =
        builder.add("d" + Twine(dim), size,
                    isNormalised ? FactorKind::coupled : FactorKind::parallel);
    builder.operand(0, dim, factor).result(0, dim, factor);
    for (unsigned operand = 1; isNormalised && operand < op->getNumOperands();
         ++operand)
      builder.operand(operand, dim - begin, factor);
  }
  return builder.finish();
}

static bool isCoupled(const ShardingRule &rule, int factor) {
  return rule.factors[factor].kind == FactorKind::coupled;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  return requireDim(getLoc(), getDim(), getType().getRank());
}
ShardingRule SoftmaxOp::getShardingRule() {
  return getNormRule(*this, getDim(), getDim() + 1);
}
OpWork SoftmaxOp::getWork() {
  return getReductionWork(getShardingRule(), 4, 1);
}
/// A row of zeros becomes 1/n.
bool SoftmaxOp::keepsZeroPadding(int) { return false; }

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  int64_t dim = getDim();
  Value maximum = compose.reduce(ReduceKind::max, getInput(), dim);
  Value exponent = compose.create<SubOp>(getInput(), maximum);
  Value weights = compose.create<ExpOp>(exponent);
  Value total = compose.reduce(ReduceKind::sum, weights, dim);
  return {compose.create<DivOp>(weights, total)};
}

LogicalResult LogSoftmaxOp::verify() {
  return requireDim(getLoc(), getDim(), getType().getRank());
}
ShardingRule LogSoftmaxOp::getShardingRule() {
  return getNormRule(*this, getDim(), getDim() + 1);
}
OpWork LogSoftmaxOp::getWork() {
  return getReductionWork(getShardingRule(), 4, 1);
}
/// A row of zeros becomes -log n.
bool LogSoftmaxOp::keepsZeroPadding(int) { return false; }

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  int64_t dim = getDim();
  Value maximum = compose.reduce(ReduceKind::max, getInput(), dim);
  Value exponent = compose.create<SubOp>(getInput(), maximum);
  Value weights = compose.create<ExpOp>(exponent);
  Value total = compose.reduce(ReduceKind::sum, weights, dim);
  Value logarithm = compose.create<LogOp>(total);
  return {compose.create<SubOp>(exponent, logarithm)};
}

//===----------------------------------------------------------------------===//
// Layer norm, RMS norm
//===----------------------------------------------------------------------===//

/// Checks that the operands behind the input have the shape of its dimensions
/// from `dim` on.
static LogicalResult inferNorm(OptionalLocation location, ValueRange operands,
                               int64_t dim, SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, operands)))
    return failure();
  RankedTensorType input = getTensorType(operands.front());
  if (failed(requireDim(location, dim, input.getRank())))
    return failure();
  ArrayRef<int64_t> normalised = input.getShape().drop_front(dim);
  for (Value operand : operands.drop_front())
    if (getShape(operand) != normalised)
      return emitOptionalError(
          location, "scale or bias of shape ", printShape(getShape(operand)),
          " for normalised dimensions of shape ", printShape(normalised));
  types.push_back(input);
  return success();
}

static SmallVector<int64_t> getNormalisedDims(Value input, int64_t dim) {
  return llvm::to_vector(
      llvm::seq<int64_t>(dim, getTensorType(input).getRank()));
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferNorm(location, adaptor.getOperands(), adaptor.getDim(), types);
}
ShardingRule LayerNormOp::getShardingRule() {
  return getNormRule(*this, getDim(), getShape(getInput()).size());
}
OpWork LayerNormOp::getWork() { return getReductionWork(getShardingRule(), 8); }

/// A row of zeros becomes the bias.
bool LayerNormOp::keepsZeroPadding(int factor) {
  return !getBias() && !getEpsilon().isZero() &&
         !isCoupled(getShardingRule(), factor);
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Type element = getTensorType(getInput()).getElementType();
  SmallVector<int64_t> dims = getNormalisedDims(getInput(), getDim());
  Value mean = compose.mean(getInput(), dims);
  Value centered = compose.create<SubOp>(getInput(), mean);
  Value square = compose.create<MulOp>(centered, centered);
  Value variance = compose.mean(square, dims);
  double epsilon = getEpsilon().convertToDouble();
  Value shifted =
      compose.create<AddOp>(variance, compose.scalar(element, epsilon));
  Value inverse = compose.create<RsqrtOp>(shifted);
  Value result = compose.create<MulOp>(centered, inverse);
  if (getScale())
    result = compose.create<MulOp>(result, getScale());
  if (getBias())
    result = compose.create<AddOp>(result, getBias());
  return {result};
}

LogicalResult RMSNormOp::inferReturnTypes(MLIRContext *,
                                          OptionalLocation location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferNorm(location, adaptor.getOperands(), adaptor.getDim(), types);
}
ShardingRule RMSNormOp::getShardingRule() {
  return getNormRule(*this, getDim(), getShape(getInput()).size());
}
OpWork RMSNormOp::getWork() { return getReductionWork(getShardingRule(), 5); }
bool RMSNormOp::keepsZeroPadding(int factor) {
  return !getEpsilon().isZero() && !isCoupled(getShardingRule(), factor);
}

SmallVector<Value> RMSNormOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Type element = getTensorType(getInput()).getElementType();
  Value square = compose.create<MulOp>(getInput(), getInput());
  Value mean = compose.mean(square, getNormalisedDims(getInput(), getDim()));
  double epsilon = getEpsilon().convertToDouble();
  Value shifted = compose.create<AddOp>(mean, compose.scalar(element, epsilon));
  Value inverse = compose.create<RsqrtOp>(shifted);
  Value result = compose.create<MulOp>(getInput(), inverse);
  if (getScale())
    result = compose.create<MulOp>(result, getScale());
  return {result};
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (input.getRank() < 2)
    return emitOptionalError(location, "input of rank ", input.getRank(),
                             " has no channels");
  for (Value operand : adaptor.getOperands().drop_front())
    if (getShape(operand) != ArrayRef(Shape{input.getDimSize(1)}))
      return emitOptionalError(location, "statistics of shape ",
                               printShape(getShape(operand)), " for ",
                               input.getDimSize(1), " channels");
  types.push_back(input);
  return success();
}

/// Elementwise with known statistics: factors n, c and d2, d3, ..
ShardingRule BatchNormOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.addParallel("n", 0, 0);
  int channels = builder.addParallel("c", 1, 1);
  for (unsigned operand = 1; operand < getNumOperands(); ++operand)
    builder.operand(operand, 0, channels);
  for (size_t dim = 2; dim < getShape(getInput()).size(); ++dim)
    builder.addParallel("d" + Twine(dim), dim, dim);
  return builder.finish();
}

OpWork BatchNormOp::getWork() {
  OpWork work;
  work.kind = WorkKind::elementwise;
  work.flops.push_back(termOver(2, getShardingRule().results[0]));
  return work;
}

/// Padded channels have scale and bias zero; elsewhere zeros become
/// bias - mean * scale / sqrt(variance + epsilon).
bool BatchNormOp::keepsZeroPadding(int factor) {
  return getShardingRule().factors[factor].name == "c" &&
         !getEpsilon().isZero();
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  RankedTensorType input = getTensorType(getInput());
  Shape channelShape(input.getRank() - 1, 1);
  channelShape[0] = input.getDimSize(1);
  auto perChannel = [&](Value value) {
    return compose.reshape(value, channelShape);
  };
  Value epsilon =
      compose.scalar(input.getElementType(), getEpsilon().convertToDouble());
  Value inverse =
      compose.create<RsqrtOp>(compose.create<AddOp>(getVariance(), epsilon));
  Value gain = compose.create<MulOp>(getScale(), inverse);
  Value centered = compose.create<SubOp>(getInput(), perChannel(getMean()));
  Value scaled = compose.create<MulOp>(centered, perChannel(gain));
  return {compose.create<AddOp>(scaled, perChannel(getBias()))};
}

} // namespace parplan
