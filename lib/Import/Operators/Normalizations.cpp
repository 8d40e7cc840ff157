//===- Normalizations.cpp - Softmax and norms ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

template <OpKind kind> static void importSoftmax(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef shape = builder.getShape(input);
  if (node.version >= 13) {
    node.setOutput(0,
                   builder.softmax(kind, input, node.getInteger("axis", -1)));
    return;
  }
  // Before version 13 the dimensions from the axis on are one.
  int64_t dim = builder.normalizeDim(node.getInteger("axis", 1), shape.size());
  int64_t outer = countElements(shape.take_front(dim));
  int64_t inner = countElements(shape.drop_front(dim));
  if (shape.back() == inner) {
    node.setOutput(0, builder.softmax(kind, input, shape.size() - 1));
    return;
  }
  ValueId flat = builder.reshape(input, {outer, inner});
  node.setOutput(0, builder.reshape(builder.softmax(kind, flat, 1), shape));
}

static void importLayerNormalization(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  int64_t rank = builder.getRank(input);
  int64_t dim = builder.normalizeDim(node.getInteger("axis", -1), rank);
  double epsilon = node.getReal("epsilon", double(1e-5f));
  node.setOutput(0, builder.layerNorm(input, node.getInput(1),
                                      node.getOptionalInput(2), dim, epsilon));
  if (!node.isOutputWanted(1) && !node.isOutputWanted(2))
    return;
  llvm::SmallVector<int64_t, 6> dims;
  for (int64_t i = dim; i < rank; ++i)
    dims.push_back(i);
  ValueId mean = builder.mean(input, dims, /*keepDims=*/true);
  ValueId centered = builder.binary(OpKind::sub, input, mean);
  ValueId variance = builder.mean(
      builder.binary(OpKind::mul, centered, centered), dims, /*keepDims=*/true);
  ValueId deviation = builder.unary(
      OpKind::sqrt,
      builder.binary(OpKind::add, variance,
                     builder.makeNumber(builder.getType(input), epsilon)));
  node.setOutput(1, mean);
  node.setOutput(2, builder.unary(OpKind::reciprocal, deviation));
}

static void importRMSNormalization(NodeContext &node) {
  ValueId input = node.getInput(0);
  int64_t dim = node.builder.normalizeDim(node.getInteger("axis", -1),
                                          node.builder.getRank(input));
  node.setOutput(0,
                 node.builder.rmsNorm(input, node.getInput(1), dim,
                                      node.getReal("epsilon", double(1e-5f))));
}

static void importBatchNormalization(NodeContext &node) {
  if (node.version >= 14 && node.getInteger("training_mode", 0))
    failNode(codes::unsupportedForm,
             "batch statistics mix the samples of a batch: training_mode must "
             "be 0");
  for (size_t output = 1; output < node.getOutputCount(); ++output)
    if (node.isOutputWanted(output))
      failNode(codes::unsupportedForm,
               "batch statistics mix the samples of a batch: only the first "
               "output is supported");
  if (node.version < 9 && node.getInteger("spatial", 1) == 0)
    failNode(codes::unsupportedForm, "statistics per position (spatial = 0)");
  llvm::SmallVector<ValueId, 5> operands;
  for (size_t i = 0; i < 5; ++i)
    operands.push_back(node.getInput(i));
  ElementType type = node.builder.getType(operands[0]);
  for (ValueId &operand : llvm::drop_begin(operands))
    operand = node.builder.cast(operand, type);
  node.setOutput(0, node.builder.batchNorm(
                        operands, node.getReal("epsilon", double(1e-5f))));
}

/// scale * value + bias, of one number each per channel, which are dimension 1.
static ValueId scaleChannels(NodeContext &node, ValueId value) {
  GraphBuilder &builder = node.builder;
  ShapeRef shape = builder.getShape(value);
  Shape column(shape.size(), 1);
  column[1] = shape[1];
  auto spread = [&](size_t operand) {
    ValueId numbers = node.getInput(operand);
    if (builder.getShape(numbers) != Shape({shape[1]}))
      failNode(codes::badNode, "operand ", operand, " of shape ",
               printShape(builder.getShape(numbers)), " for ", shape[1],
               " channels");
    return builder.reshape(builder.cast(numbers, builder.getType(value)),
                           column);
  };
  ValueId scaled = builder.binary(OpKind::mul, value, spread(1));
  return builder.binary(OpKind::add, scaled, spread(2));
}

/// The shape of the operand, which has channels and elements.
static ShapeRef getChannelShape(NodeContext &node, size_t rank) {
  ShapeRef shape = node.builder.getShape(node.getInput(0));
  if (shape.size() < rank || countElements(shape) == 0)
    failNode(codes::badNode, "input of shape ", printShape(shape));
  return shape;
}

static void importInstanceNormalization(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ShapeRef shape = getChannelShape(node, 3);
  ValueId rows =
      builder.reshape(node.getInput(0),
                      {shape[0], shape[1], countElements(shape.drop_front(2))});
  ValueId normal = builder.layerNorm(rows, noValue, noValue, /*dim=*/2,
                                     node.getReal("epsilon", double(1e-5f)));
  node.setOutput(0, scaleChannels(node, builder.reshape(normal, shape)));
}

static void importGroupNormalization(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ShapeRef shape = getChannelShape(node, 2);
  int64_t groups = node.getRequiredInteger("num_groups");
  if (groups < 1 || shape[1] % groups != 0)
    failNode(codes::badNode, shape[1], " channels in ", groups, " groups");
  int64_t inner = countElements(shape) / (shape[0] * groups);
  ValueId rows = builder.reshape(node.getInput(0), {shape[0], groups, inner});
  ValueId normal = builder.layerNorm(rows, noValue, noValue, /*dim=*/2,
                                     node.getReal("epsilon", double(1e-5f)));
  node.setOutput(0, scaleChannels(node, builder.reshape(normal, shape)));
}

/// x / (bias + alpha / size * sum of the squares of the channels around)^beta
static void importLRN(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  Formula formula(node);
  ValueId input = node.getInput(0);
  ShapeRef shape = getChannelShape(node, 3);
  int64_t size = node.getRequiredInteger("size");
  if (size < 1 || size > (int64_t(1) << 20))
    failNode(codes::badNode, "size ", size);
  // An average of a window over the channels, what is outside being zero.
  ValueId squares = builder.reshape(
      formula.mul(input, input),
      {shape[0], 1, shape[1], countElements(shape.drop_front(2))});
  Window window;
  window.strides = {1, 1};
  window.dilations = {1, 1};
  window.pads = {(size - 1) / 2, size / 2, 0, 0};
  ValueId average = builder.reshape(builder.pool(OpKind::averagePool, squares,
                                                 {size, 1}, window,
                                                 /*countPadding=*/true),
                                    shape);
  ValueId base =
      formula.shift(formula.scale(average, node.getReal("alpha", 1e-4f)),
                    node.getReal("bias", 1.0));
  node.setOutput(
      0, formula.div(input, formula.power(base, node.getReal("beta", 0.75))));
}

/// Rows of zeros stay zero.
static void importLpNormalization(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  Formula formula(node);
  ValueId input = node.getInput(0);
  int64_t dim =
      builder.normalizeDim(node.getInteger("axis", -1), builder.getRank(input));
  int64_t exponent = node.getInteger("p", 2);
  if (exponent != 1 && exponent != 2)
    failNode(codes::badNode, "p is neither 1 nor 2");
  ValueId terms = exponent == 1 ? formula.unary(OpKind::abs, input)
                                : formula.mul(input, input);
  ValueId norm =
      builder.reduce(ReduceKind::sum, terms, {dim}, /*keepDims=*/true);
  if (exponent == 2)
    norm = formula.unary(OpKind::sqrt, norm);
  node.setOutput(
      0, formula.div(input, formula.choose(norm, norm, formula.number(1))));
}

static void importMeanVarianceNormalization(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  Formula formula(node);
  ValueId input = node.getInput(0);
  std::vector<int64_t> axes = {0, 2, 3};
  if (auto given = node.getIntegers("axes"))
    axes = *given;
  ValueId centered =
      formula.sub(input, builder.mean(input, axes, /*keepDims=*/true));
  ValueId variance =
      builder.mean(formula.mul(centered, centered), axes, /*keepDims=*/true);
  node.setOutput(
      0,
      formula.div(centered,
                  formula.shift(formula.unary(OpKind::sqrt, variance), 1e-9)));
}

llvm::ArrayRef<OperatorEntry> getNormalizationOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Softmax", {1, 11, 13}, direct, importSoftmax<OpKind::softmax>},
      {"LogSoftmax", {1, 11, 13}, direct, importSoftmax<OpKind::logSoftmax>},
      {"LayerNormalization", {17}, direct, importLayerNormalization},
      {"RMSNormalization", {23}, direct, importRMSNormalization},
      {"BatchNormalization",
       {7, 9, 14, 15},
       direct,
       importBatchNormalization,
       "with running statistics"},
      {"InstanceNormalization",
       {6, 22},
       lowered,
       importInstanceNormalization,
       "layer_norm and arithmetic"},
      {"GroupNormalization",
       {21},
       lowered,
       importGroupNormalization,
       "layer_norm and arithmetic"},
      {"LRN", {1, 13}, lowered, importLRN, "average_pool and arithmetic"},
      {"LpNormalization",
       {1, 22},
       lowered,
       importLpNormalization,
       "sum and division"},
      {"MeanVarianceNormalization",
       {9, 13},
       lowered,
       importMeanVarianceNormalization,
       "sums and arithmetic"},
  };
  return entries;
}

} // namespace parplan::importer
