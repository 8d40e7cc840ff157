//===- Windows.cpp - Convolution and pooling ------------------------------===//
//
// Part of parplan. Spatial dimensions are blocked: a split needs halos.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

/// Appends the output size per spatial dimension.
static LogicalResult appendOutputSizes(OptionalLocation location,
                                       ArrayRef<int64_t> spatial,
                                       const Window &window, Shape &shape) {
  size_t count = spatial.size();
  if (count < 1 || count > 3)
    return emitOptionalError(location, "has ", count,
                             " spatial dimensions; 1 to 3 are possible");
  if (window.sizes.size() != count || window.strides.size() != count ||
      window.dilations.size() != count || window.pads.size() != 2 * count)
    return emitOptionalError(location, "window, strides and dilations need ",
                             count, " values each and pads ", 2 * count);
  for (size_t dim = 0; dim < count; ++dim) {
    int64_t low = window.pads[2 * dim], high = window.pads[2 * dim + 1];
    if (window.sizes[dim] < 1 || window.strides[dim] < 1 ||
        window.dilations[dim] < 1 || low < 0 || high < 0)
      return emitOptionalError(location, "window, strides and dilations must "
                                         "be positive, pads not negative");
    int64_t reach = (window.sizes[dim] - 1) * window.dilations[dim] + 1;
    int64_t room = spatial[dim] + low + high - reach;
    if (room < 0)
      return emitOptionalError(location, "a window of ", reach,
                               " elements does not fit into ",
                               spatial[dim] + low + high);
    shape.push_back(room / window.strides[dim] + 1);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Conv
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> inferConvolution(OptionalLocation location,
                                             RankedTensorType input,
                                             RankedTensorType weight,
                                             const Window &window,
                                             int64_t groups) {
  if (input.getRank() < 3 || weight.getRank() != input.getRank())
    return emitOptionalError(location, "cannot convolve ", input, " by ",
                             weight);
  if (groups < 1 || weight.getDimSize(0) % groups != 0 ||
      weight.getDimSize(1) * groups != input.getDimSize(1))
    return emitOptionalError(location, groups, " groups do not fit ",
                             input.getDimSize(1), " input channels and weight ",
                             weight);
  Shape shape{input.getDimSize(0), weight.getDimSize(0)};
  if (failed(appendOutputSizes(location, input.getShape().drop_front(2), window,
                               shape)))
    return failure();
  return RankedTensorType::get(shape, input.getElementType());
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType weight = getTensorType(adaptor.getWeight());
  Window window{
      weight.getShape().drop_front(std::min<int64_t>(2, weight.getRank())),
      adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations()};
  FailureOr<RankedTensorType> type =
      inferConvolution(location, getTensorType(adaptor.getInput()), weight,
                       window, adaptor.getGroups());
  if (failed(type))
    return failure();
  if (adaptor.getBias() &&
      getShape(adaptor.getBias()) != weight.getShape().take_front(1))
    return emitOptionalError(location, "bias needs the shape [",
                             weight.getDimSize(0), "]");
  return appendType(type, types);
}

/// Factors n, g (groups), co, ci (per group), x* and y* (input and output
/// positions), w* (window). With a bias ci is coupled: the bias may be added
/// once only.
ShardingRule ConvOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> input = getShape(getInput()),
                    weight = getShape(getWeight());
  ArrayRef<int64_t> output = getShape(getResult());
  int64_t groupCount = getGroups();
  int batch = builder.add("n", input[0]);
  int groups = builder.add("g", groupCount);
  int outputs = builder.add("co", weight[0] / groupCount);
  int inputs = builder.add(
      "ci", weight[1], getBias() ? FactorKind::coupled : FactorKind::reduceSum);
  builder.operand(0, 0, batch).operand(0, 1, groups).operand(0, 1, inputs);
  builder.operand(1, 0, groups).operand(1, 0, outputs).operand(1, 1, inputs);
  builder.result(0, 0, batch).result(0, 1, groups).result(0, 1, outputs);
  if (getBias())
    builder.operand(2, 0, groups).operand(2, 0, outputs);
  for (size_t dim = 2; dim < input.size(); ++dim) {
    std::string number = std::to_string(dim - 2);
    builder.operand(0, dim,
                    builder.add("x" + number, input[dim], FactorKind::blocked));
    builder.operand(
        1, dim, builder.add("w" + number, weight[dim], FactorKind::blocked));
    builder.result(0, dim,
                   builder.add("y" + number, output[dim], FactorKind::blocked));
  }
  return builder.finish(getBias() ? Linearity::none : Linearity::separately);
}

OpWork ConvOp::getWork() {
  ShardingRule rule = getShardingRule();
  OpWork work;
  work.kind = WorkKind::matrix;
  WorkTerm term{2, {}};
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    char kind = factor.name[0];
    if (kind == 'x')
      continue;
    term.factors.push_back(static_cast<int>(index));
    auto &role = factor.name == "g"                   ? work.batch
                 : factor.name == "co"                ? work.columns
                 : factor.name == "ci" || kind == 'w' ? work.contracted
                                                      : work.rows;
    role.push_back(static_cast<int>(index));
  }
  work.flops.push_back(std::move(term));
  return work;
}

/// The bias is added to padded rows of the batch; padded channels have a zero
/// weight and bias.
bool ConvOp::keepsZeroPadding(int factor) {
  return !getBias() || getShardingRule().factors[factor].name != "n";
}

/// The bias as an addition of its own.
SmallVector<Value> ConvOp::decompose(OpBuilder &builder) {
  Value product = builder.create<ConvOp>(
      getLoc(), getInput(), getWeight(), /*bias=*/Value(), getStridesAttr(),
      getPadsAttr(), getDilationsAttr(), getGroupsAttr());
  if (!getBias())
    return {product};
  Shape shape(getShape(getInput()).size() - 1, 1);
  shape[0] = getShape(getBias())[0];
  Value bias = builder.create<ReshapeOp>(
      getLoc(),
      RankedTensorType::get(shape, getTensorType(getBias()).getElementType()),
      getBias());
  return {builder.create<AddOp>(getLoc(), product, bias)};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> inferPool(OptionalLocation location,
                                      RankedTensorType input,
                                      const Window &window) {
  if (input.getRank() < 3)
    return emitOptionalError(location, "cannot pool ", input);
  Shape shape(input.getShape().take_front(2));
  if (failed(appendOutputSizes(location, input.getShape().drop_front(2), window,
                               shape)))
    return failure();
  return RankedTensorType::get(shape, input.getElementType());
}

template <typename Adaptor>
static LogicalResult inferPoolTypes(OptionalLocation location, Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  Window window{adaptor.getWindow(), adaptor.getStrides(), adaptor.getPads(),
                adaptor.getDilations()};
  return appendType(
      inferPool(location, getTensorType(adaptor.getInput()), window), types);
}

static ShardingRule getPoolRule(Operation *op) {
  RuleBuilder builder(op);
  builder.addParallel("n", 0, 0);
  builder.addParallel("c", 1, 1);
  ArrayRef<int64_t> input = getShape(op->getOperand(0));
  ArrayRef<int64_t> output = getShape(op->getResult(0));
  for (size_t dim = 2; dim < input.size(); ++dim) {
    builder.operand(
        0, dim,
        builder.add("x" + Twine(dim - 2), input[dim], FactorKind::blocked));
    builder.result(
        0, dim,
        builder.add("y" + Twine(dim - 2), output[dim], FactorKind::blocked));
  }
  return builder.finish();
}

static OpWork getPoolWork(Operation *op, ArrayRef<int64_t> window) {
  double size = 1;
  for (int64_t length : window)
    size *= static_cast<double>(length);
  OpWork work;
  work.kind = WorkKind::reduction;
  work.flops.push_back(termOver(size, getPoolRule(op).results[0]));
  return work;
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *,
                                          OptionalLocation location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferPoolTypes(location, adaptor, types);
}
ShardingRule MaxPoolOp::getShardingRule() { return getPoolRule(*this); }
OpWork MaxPoolOp::getWork() { return getPoolWork(*this, getWindow()); }
bool MaxPoolOp::keepsZeroPadding(int) { return true; }

LogicalResult AveragePoolOp::inferReturnTypes(MLIRContext *,
                                              OptionalLocation location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  return inferPoolTypes(location, adaptor, types);
}
ShardingRule AveragePoolOp::getShardingRule() { return getPoolRule(*this); }
OpWork AveragePoolOp::getWork() { return getPoolWork(*this, getWindow()); }
bool AveragePoolOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
