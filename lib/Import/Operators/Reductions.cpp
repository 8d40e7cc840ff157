//===- Reductions.cpp - Sums, means, extremes ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

namespace {
struct Reduction {
  ValueId input;
  llvm::SmallVector<int64_t, 6> dims;
  bool keepDims;
};
} // namespace

/// Axes are an operand from version 18 on (ReduceSum: 13), before an attribute.
/// Without axes all dimensions are reduced, or none if the node says so.
static Reduction readReduction(NodeContext &node, int operandSince = 18) {
  Reduction reduction;
  reduction.input = node.getInput(0);
  reduction.keepDims = node.getInteger("keepdims", 1) != 0;
  std::optional<std::vector<int64_t>> axes;
  if (node.version < operandSince)
    axes = node.getIntegers("axes");
  else if (node.hasInput(1))
    axes = node.getKnownIntegers(1, "axes");
  int64_t rank = node.builder.getRank(reduction.input);
  if (axes && !axes->empty())
    reduction.dims.assign(axes->begin(), axes->end());
  else if (node.version < operandSince ||
           node.getInteger("noop_with_empty_axes", 0) == 0)
    for (int64_t dim = 0; dim < rank; ++dim)
      reduction.dims.push_back(dim);
  for (int64_t &dim : reduction.dims)
    dim = node.builder.normalizeDim(dim, rank);
  return reduction;
}

static ValueId sum(NodeContext &node, const Reduction &reduction,
                   ValueId input) {
  return node.builder.reduce(ReduceKind::sum, input, reduction.dims,
                             reduction.keepDims);
}

static void importReduceSum(NodeContext &node) {
  Reduction reduction = readReduction(node, /*operandSince=*/13);
  node.setOutput(0, sum(node, reduction, reduction.input));
}

static void importReduceMean(NodeContext &node) {
  Reduction reduction = readReduction(node);
  node.setOutput(0, reduction.dims.empty()
                        ? reduction.input
                        : node.builder.mean(reduction.input, reduction.dims,
                                            reduction.keepDims));
}

static void importReduceProd(NodeContext &node) {
  Reduction reduction = readReduction(node);
  node.setOutput(0, node.builder.reduce(ReduceKind::prod, reduction.input,
                                        reduction.dims, reduction.keepDims));
}

/// Extremes of bools are those of bytes.
static ValueId reduceExtreme(NodeContext &node, bool isLeast) {
  GraphBuilder &builder = node.builder;
  Reduction reduction = readReduction(node);
  ElementType type = builder.getType(reduction.input);
  ValueId input = isBool(type) ? builder.cast(reduction.input, ElementType::u8)
                               : reduction.input;
  // A minimum is the maximum in the order turned round.
  OpKind turn = isFloat(type) ? OpKind::neg : OpKind::logicalNot;
  if (isLeast)
    input = builder.unary(turn, input);
  ValueId greatest = builder.reduce(ReduceKind::max, input, reduction.dims,
                                    reduction.keepDims);
  if (isLeast)
    greatest = builder.unary(turn, greatest);
  return builder.cast(greatest, type);
}

static void importReduceMax(NodeContext &node) {
  node.setOutput(0, reduceExtreme(node, /*isLeast=*/false));
}

static void importReduceMin(NodeContext &node) {
  node.setOutput(0, reduceExtreme(node, /*isLeast=*/true));
}

static void importReduceL1(NodeContext &node) {
  Reduction reduction = readReduction(node);
  node.setOutput(0, sum(node, reduction,
                        node.builder.unary(OpKind::abs, reduction.input)));
}

static ValueId sumOfSquares(NodeContext &node, const Reduction &reduction) {
  return sum(
      node, reduction,
      node.builder.binary(OpKind::mul, reduction.input, reduction.input));
}

static void importReduceSumSquare(NodeContext &node) {
  node.setOutput(0, sumOfSquares(node, readReduction(node)));
}

static void importReduceL2(NodeContext &node) {
  ValueId squares = sumOfSquares(node, readReduction(node));
  node.setOutput(0, node.builder.unary(OpKind::sqrt, squares));
}

static void importReduceLogSum(NodeContext &node) {
  Reduction reduction = readReduction(node);
  node.setOutput(0, node.builder.unary(OpKind::log,
                                       sum(node, reduction, reduction.input)));
}

static void importReduceLogSumExp(NodeContext &node) {
  // log(sum(exp(x - m))) + m with m the greatest element.
  GraphBuilder &builder = node.builder;
  Reduction reduction = readReduction(node);
  ValueId greatest = builder.reduce(ReduceKind::max, reduction.input,
                                    reduction.dims, /*keepDims=*/true);
  ValueId shifted = builder.binary(OpKind::sub, reduction.input, greatest);
  ValueId total = sum(node, reduction, builder.unary(OpKind::exp, shifted));
  ValueId logarithm = builder.unary(OpKind::log, total);
  node.setOutput(
      0, builder.binary(OpKind::add, logarithm,
                        builder.reshape(greatest, builder.getShape(total))));
}

llvm::ArrayRef<OperatorEntry> getReductionOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"ReduceSum", {1, 11, 13}, direct, importReduceSum},
      {"ReduceMax", {1, 11, 12, 13, 18, 20}, direct, importReduceMax},
      {"ReduceProd", {1, 11, 13, 18}, direct, importReduceProd},
      {"ReduceMean",
       {1, 11, 13, 18},
       lowered,
       importReduceMean,
       "sum and multiplication"},
      {"ReduceMin",
       {1, 11, 12, 13, 18, 20},
       lowered,
       importReduceMin,
       "maximum of the negated, or of the complement"},
      {"ReduceL1", {1, 11, 13, 18}, lowered, importReduceL1, "sum"},
      {"ReduceL2", {1, 11, 13, 18}, lowered, importReduceL2, "sum"},
      {"ReduceSumSquare",
       {1, 11, 13, 18},
       lowered,
       importReduceSumSquare,
       "sum"},
      {"ReduceLogSum", {1, 11, 13, 18}, lowered, importReduceLogSum, "sum"},
      {"ReduceLogSumExp",
       {1, 11, 13, 18},
       lowered,
       importReduceLogSumExp,
       "maximum and sum"},
  };
  return entries;
}

} // namespace parplan::importer
