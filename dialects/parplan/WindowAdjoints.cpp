//===- WindowAdjoints.cpp - Adjoints of convolution and pooling -----------===//
//
// Part of parplan. An adjoint has the factors of its op.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyConvolution(Op op, RankedTensorType input,
                                       RankedTensorType weight,
                                       Value gradient) {
  Window window{
      weight.getShape().drop_front(std::min<int64_t>(2, weight.getRank())),
      op.getStrides(), op.getPads(), op.getDilations()};
  FailureOr<RankedTensorType> expected =
      inferConvolution(op.getLoc(), input, weight, window, op.getGroups());
  if (failed(expected))
    return failure();
  if (gradient.getType() != *expected)
    return op.emitOpError("needs a gradient of ")
           << *expected << ", not " << gradient.getType();
  return success();
}

LogicalResult ConvInputGradientOp::verify() {
  return verifyConvolution(*this, getType(), getTensorType(getWeight()),
                           getGradient());
}
LogicalResult ConvWeightGradientOp::verify() {
  return verifyConvolution(*this, getTensorType(getInput()), getType(),
                           getGradient());
}

namespace {
/// Adds the factors n g co ci to the dimensions of input, weight and gradient,
/// which are operands or the result.
struct ConvFactors {
  int batch, groups, outputs, inputs;

  ConvFactors(RuleBuilder &builder, ArrayRef<int64_t> input,
              ArrayRef<int64_t> weight, int64_t groupCount, FactorKind n,
              FactorKind co) {
    batch = builder.add("n", input[0], n);
    groups = builder.add("g", groupCount);
    outputs = builder.add("co", weight[0] / groupCount, co);
    inputs = builder.add("ci", weight[1]);
  }
};
} // namespace

/// Positions and windows, in the order of the forward op.
static void addSpatialFactors(ArrayRef<int64_t> input, ArrayRef<int64_t> weight,
                              ArrayRef<int64_t> output, RuleBuilder &builder,
                              llvm::function_ref<void(int64_t, int)> onInput,
                              llvm::function_ref<void(int64_t, int)> onWeight,
                              llvm::function_ref<void(int64_t, int)> onOutput) {
  auto add = [&](char letter, int64_t dim, int64_t size) {
    return builder.add(Twine(letter) + Twine(dim - 2), size,
                       FactorKind::blocked);
  };
  for (size_t dim = 2; dim < input.size(); ++dim) {
    onInput(dim, add('x', dim, input[dim]));
    onWeight(dim, add('w', dim, weight[dim]));
    onOutput(dim, add('y', dim, output[dim]));
  }
}

ShardingRule ConvInputGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> input = getShape(getResult()),
                    weight = getShape(getWeight());
  ConvFactors factors(builder, input, weight, getGroups(),
                      /*n=*/FactorKind::parallel, /*co=*/FactorKind::reduceSum);
  auto [batch, groups, outputs, inputs] = factors;
  builder.operand(0, 0, batch).operand(0, 1, groups).operand(0, 1, outputs);
  builder.operand(1, 0, groups).operand(1, 0, outputs).operand(1, 1, inputs);
  builder.result(0, 0, batch).result(0, 1, groups).result(0, 1, inputs);
  addSpatialFactors(
      input, weight, getShape(getGradient()), builder,
      [&](int64_t dim, int factor) { builder.result(0, dim, factor); },
      [&](int64_t dim, int factor) { builder.operand(1, dim, factor); },
      [&](int64_t dim, int factor) { builder.operand(0, dim, factor); });
  return builder.finish(Linearity::separately);
}

ShardingRule ConvWeightGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> input = getShape(getInput()),
                    weight = getShape(getResult());
  ConvFactors factors(builder, input, weight, getGroups(),
                      /*n=*/FactorKind::reduceSum, /*co=*/FactorKind::parallel);
  auto [batch, groups, outputs, inputs] = factors;
  builder.operand(0, 0, batch).operand(0, 1, groups).operand(0, 1, inputs);
  builder.operand(1, 0, batch).operand(1, 1, groups).operand(1, 1, outputs);
  builder.result(0, 0, groups).result(0, 0, outputs).result(0, 1, inputs);
  addSpatialFactors(
      input, weight, getShape(getGradient()), builder,
      [&](int64_t dim, int factor) { builder.operand(0, dim, factor); },
      [&](int64_t dim, int factor) { builder.result(0, dim, factor); },
      [&](int64_t dim, int factor) { builder.operand(1, dim, factor); });
  return builder.finish(Linearity::separately);
}

/// The product of the forward op, with other factors contracted.
static OpWork getConvWork(const ShardingRule &rule,
                          llvm::function_ref<bool(StringRef)> isContracted,
                          llvm::function_ref<bool(StringRef)> isColumn) {
  OpWork work;
  work.kind = WorkKind::matrix;
  WorkTerm term{2, {}};
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    // One product per output position and tap of the window.
    if (factor.name[0] == 'x')
      continue;
    term.factors.push_back(static_cast<int>(index));
    auto &role = factor.name == "g"          ? work.batch
                 : isContracted(factor.name) ? work.contracted
                 : isColumn(factor.name)     ? work.columns
                                             : work.rows;
    role.push_back(static_cast<int>(index));
  }
  work.flops.push_back(std::move(term));
  return work;
}

OpWork ConvInputGradientOp::getWork() {
  return getConvWork(
      getShardingRule(), [](StringRef name) { return name == "co"; },
      [](StringRef name) { return name == "ci" || name[0] == 'w'; });
}
OpWork ConvWeightGradientOp::getWork() {
  return getConvWork(
      getShardingRule(),
      [](StringRef name) { return name == "n" || name[0] == 'y'; },
      [](StringRef name) { return name == "ci" || name[0] == 'w'; });
}
bool ConvInputGradientOp::keepsZeroPadding(int) { return true; }
bool ConvWeightGradientOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// Factors n and c of all tensors; the rest is blocked.
static ShardingRule getPoolAdjointRule(Operation *op, Linearity linearity) {
  RuleBuilder builder(op);
  for (int64_t dim : {0, 1}) {
    int factor = builder.addParallel(dim == 0 ? "n" : "c", dim, dim);
    if (op->getNumOperands() > 1)
      builder.operand(1, dim, factor);
  }
  return builder.finish(linearity);
}

/// Every tap of every window.
static OpWork getPoolAdjointWork(const ShardingRule &rule, unsigned gradient,
                                 ArrayRef<int64_t> window) {
  double size = 1;
  for (int64_t length : window)
    size *= static_cast<double>(length);
  OpWork work;
  work.kind = WorkKind::reduction;
  work.flops.push_back(termOver(size, rule.operands[gradient]));
  return work;
}

LogicalResult
MaxPoolGradientOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  Window window{adaptor.getWindow(), adaptor.getStrides(), adaptor.getPads(),
                adaptor.getDilations()};
  FailureOr<RankedTensorType> expected = inferPool(location, input, window);
  if (failed(expected))
    return failure();
  if (adaptor.getGradient().getType() != *expected)
    return emitOptionalError(location, "needs a gradient of ", *expected,
                             ", not ", adaptor.getGradient().getType());
  types.push_back(input);
  return success();
}
ShardingRule MaxPoolGradientOp::getShardingRule() {
  return getPoolAdjointRule(*this, Linearity::none);
}
OpWork MaxPoolGradientOp::getWork() {
  return getPoolAdjointWork(getShardingRule(), /*gradient=*/1, getWindow());
}
bool MaxPoolGradientOp::keepsZeroPadding(int) { return true; }

LogicalResult AveragePoolGradientOp::verify() {
  Window window{getWindow(), getStrides(), getPads(), getDilations()};
  FailureOr<RankedTensorType> expected = inferPool(getLoc(), getType(), window);
  if (failed(expected))
    return failure();
  if (getGradient().getType() != *expected)
    return emitOpError("needs a gradient of ")
           << *expected << ", not " << getGradient().getType();
  return success();
}
ShardingRule AveragePoolGradientOp::getShardingRule() {
  return getPoolAdjointRule(*this, Linearity::jointly);
}
OpWork AveragePoolGradientOp::getWork() {
  return getPoolAdjointWork(getShardingRule(), /*gradient=*/0, getWindow());
}
bool AveragePoolGradientOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
