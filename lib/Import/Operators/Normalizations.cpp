//===- Normalizations.cpp - Softmax and norms ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

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

llvm::ArrayRef<OperatorEntry> getNormalizationOperators() {
  constexpr Support direct = Support::direct;
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
  };
  return entries;
}

} // namespace parplan::importer
