//===- Training.cpp - Sums, losses and updates ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

/// f64 stays f64, other floats are summed in f32.
static Type getSumType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

static Value castTo(ComposeHelper &compose, Value value, Type element) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == element)
    return value;
  return compose.create<CastOp>(type.clone(element), value);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult SumOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  return success();
}

LogicalResult SquareSumOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  types.push_back(RankedTensorType::get(
      {}, Float64Type::get(adaptor.getInput().getContext())));
  return success();
}

/// S20: pending over the axes of the dimensions, or of the storage.
ShardingRule SquareSumOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [dim, size] : llvm::enumerate(getShape(getInput())))
    builder.operand(0, dim,
                    builder.add("d" + Twine(dim), size, FactorKind::reduceSum));
  ShardingRule rule = builder.finish();
  rule.flat = !getShape(getInput()).empty();
  return rule;
}
OpWork SquareSumOp::getWork() { return getReductionWork(getShardingRule(), 2); }
bool SquareSumOp::keepsZeroPadding(int) { return true; }

SmallVector<Value> SquareSumOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Value input = castTo(compose, getInput(), getType().getElementType());
  Value square = compose.create<MulOp>(input, input);
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, getShape(getInput()).size()));
  return {compose.create<ReduceOp>(ReduceKind::sum, square, dims,
                                   /*keep_dims=*/false)};
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

static bool isAdam(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
}

static size_t countStates(OptimizerKind kind) {
  return isAdam(kind) ? 2 : kind == OptimizerKind::momentum ? 1 : 0;
}

LogicalResult
OptimizerUpdateOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType type = getTensorType(adaptor.getParameter());
  OptimizerKind kind = adaptor.getKind();
  if (adaptor.getStates().size() != countStates(kind))
    return emitOptionalError(location, stringifyOptimizerKind(kind), " has ",
                             countStates(kind), " states, not ",
                             adaptor.getStates().size());
  types.push_back(type);
  auto requireType = [&](Value value, RankedTensorType expected) {
    if (!value || getTensorType(value) == expected)
      return success();
    return LogicalResult(emitOptionalError(location, "needs ", expected,
                                           " for a parameter of ", type,
                                           ", not ", value.getType()));
  };
  if (failed(requireType(adaptor.getGradient(), type)))
    return failure();
  for (Value state : adaptor.getStates()) {
    if (failed(requireType(state, type)))
      return failure();
    types.push_back(type);
  }
  auto scalar = RankedTensorType::get({}, type.getElementType());
  for (Value number : {adaptor.getLearningRate(), adaptor.getStepSize(),
                       adaptor.getBiasCorrection2Sqrt(), adaptor.getScale()})
    if (failed(requireType(number, scalar)))
      return failure();
  if (static_cast<bool>(adaptor.getStepSize()) != isAdam(kind) ||
      static_cast<bool>(adaptor.getBiasCorrection2Sqrt()) != isAdam(kind))
    return emitOptionalError(location, "adam and adamw, and only they, take "
                                       "step_size and bias_correction2_sqrt");
  // Without it zeros would become 0 / 0 (S4).
  if (isAdam(kind) && !(adaptor.getEpsilon().convertToDouble() > 0))
    return emitOptionalError(location, "epsilon must be positive");
  return success();
}

/// Scalars have no dimensions, so neither axes nor storage.
ShardingRule OptimizerUpdateOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned tensors = 2 + getStates().size();
  for (auto [dim, size] : llvm::enumerate(getShape(getParameter()))) {
    int factor = builder.add("d" + Twine(dim), size);
    for (unsigned operand = 0; operand < tensors; ++operand)
      builder.operand(operand, dim, factor);
    for (unsigned result = 0; result < getNumResults(); ++result)
      builder.result(result, dim, factor);
  }
  ShardingRule rule = builder.finish();
  rule.flat = !getShape(getParameter()).empty();
  return rule;
}

OpWork OptimizerUpdateOp::getWork() {
  OpWork work;
  work.kind = WorkKind::elementwise;
  double flops = isAdam(getKind())                      ? 14
                 : getKind() == OptimizerKind::momentum ? 6
                                                        : 4;
  work.flops.push_back(termOver(flops, getShardingRule().operands[0]));
  if (isAdam(getKind()))
    work.transcendentals.push_back(termOver(2, getShardingRule().operands[0]));
  return work;
}
bool OptimizerUpdateOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *,
                                               OptionalLocation location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType logits = getTensorType(adaptor.getLogits());
  ArrayRef<int64_t> labels = getShape(adaptor.getLabels());
  if (logits.getRank() < 1 || logits.getShape().drop_back() != labels)
    return emitOptionalError(location, "labels of shape ", printShape(labels),
                             " do not fit logits of shape ",
                             printShape(logits.getShape()));
  types.append(
      2, RankedTensorType::get(labels, getSumType(logits.getElementType())));
  return success();
}

ShardingRule CrossEntropyOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> labels = getShape(getLabels());
  for (auto [dim, size] : llvm::enumerate(labels)) {
    int factor = builder.add("d" + Twine(dim), size);
    builder.operand(0, dim, factor).operand(1, dim, factor);
    builder.result(0, dim, factor).result(1, dim, factor);
  }
  int classes =
      builder.add("v", getShape(getLogits()).back(), FactorKind::coupled);
  builder.operand(0, labels.size(), classes).number(classes);
  return builder.finish();
}
OpWork CrossEntropyOp::getWork() {
  return getReductionWork(getShardingRule(), 3, 1);
}
/// A row of zeros has the loss log v.
bool CrossEntropyOp::keepsZeroPadding(int) { return false; }

/// The logit of the label is picked by comparing indices, which localisation
/// shifts. It clears the padding of every part, so that a padded class neither
/// counts nor is picked (S4).
SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  RankedTensorType type = cast<RankedTensorType>(getLoss().getType());
  Type element = type.getElementType();
  Type labelElement = getTensorType(getLabels()).getElementType();
  Value logits = castTo(compose, getLogits(), element);
  int64_t dim = type.getRank();
  Value maximum = compose.reduce(ReduceKind::max, logits, dim);
  Value exponent = compose.create<SubOp>(logits, maximum);
  Value weights = compose.create<ExpOp>(exponent);
  Value total = compose.reduce(ReduceKind::sum, weights, dim);
  Value logarithm = compose.create<LogOp>(total);
  Value logSumExp = compose.reshape(compose.create<AddOp>(logarithm, maximum),
                                    type.getShape());

  Shape line(dim + 1, 1), column(type.getShape());
  line.back() = getShape(getLogits()).back();
  column.push_back(1);
  Value classes =
      compose.create<IotaOp>(RankedTensorType::get(line, labelElement), dim);
  Value isLabel = compose.create<CompareOp>(
      ComparePredicate::eq, compose.reshape(getLabels(), column), classes);
  Value zero = compose.scalar(element, 0);
  Value picked = compose.create<SelectOp>(isLabel, logits, zero);
  Value chosen =
      compose.create<ReduceOp>(ReduceKind::sum, picked, ArrayRef<int64_t>{dim},
                               /*keep_dims=*/false);
  Value isIgnored = compose.create<CompareOp>(
      ComparePredicate::eq, getLabels(),
      compose.scalar(labelElement, static_cast<double>(ignoredLabel)));
  Value loss = compose.create<SubOp>(logSumExp, chosen);
  return {compose.create<SelectOp>(isIgnored, zero, loss), logSumExp};
}

} // namespace parplan
