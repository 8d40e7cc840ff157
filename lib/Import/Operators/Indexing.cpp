//===- Indexing.cpp - Gathers, TopK, CumSum --------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

static void importGather(NodeContext &node) {
  node.setOutput(0, node.builder.gather(node.getInput(0), node.getInput(1),
                                        node.getInteger("axis", 0)));
}

static void importGatherElements(NodeContext &node) {
  node.setOutput(0,
                 node.builder.gatherElements(node.getInput(0), node.getInput(1),
                                             node.getInteger("axis", 0)));
}

static void importGatherND(NodeContext &node) {
  // Version 11 has no batch dimensions.
  int64_t batchDims = node.version < 12 ? 0 : node.getInteger("batch_dims", 0);
  node.setOutput(
      0, node.builder.gatherND(node.getInput(0), node.getInput(1), batchDims));
}

static void importTopK(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  int64_t count = node.version < 10 ? node.getRequiredInteger("k")
                                    : node.getKnownInteger(1, "k");
  bool largest = node.version < 11 || node.getInteger("largest", 1) != 0;
  if (isBool(builder.getType(input)))
    failNode(codes::badNode, "operand of type bool");
  // Results in any order are asked for by sorted = 0; sorted ones are in one.
  ValueId values =
      builder.topK(input, count, node.getInteger("axis", -1), largest);
  node.setOutput(0, values);
  node.setOutput(1, values + 1);
}

static void importCumSum(NodeContext &node) {
  int64_t dim = node.getKnownInteger(1, "the axis");
  node.setOutput(0, node.builder.cumSum(node.getInput(0), dim,
                                        node.getInteger("exclusive", 0) != 0,
                                        node.getInteger("reverse", 0) != 0));
}

/// `indices` [.., n, ..] compared with the numbers of [.., n, m, ..], where
/// dimension `dim` of the result, behind that of the n, is the m.
static ValueId compareWithNumbers(GraphBuilder &builder, ValueId indices,
                                  int64_t dim, int64_t size) {
  ElementType type = builder.getType(indices);
  if (type != ElementType::i64)
    indices = builder.cast(indices, ElementType::i64);
  indices = builder.insertDims(indices, {dim});
  Shape numbers(builder.getRank(indices), 1);
  numbers[dim] = size;
  return builder.compare(
      Predicate::eq, indices,
      builder.makeRange(ElementType::i64, numbers, dim, 0, 1));
}

static void importOneHot(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId indices = node.getInput(0), values = node.getInput(2);
  if (isFloat(builder.getType(indices)) || isBool(builder.getType(indices)))
    failNode(codes::unsupportedForm, "indices of type ",
             printElementType(builder.getType(indices)));
  int64_t size = node.getKnownInteger(1, "the depth");
  if (size <= 0 || builder.getShape(values) != Shape({2}))
    failNode(codes::badNode, "depth ", size, ", values of shape ",
             printShape(builder.getShape(values)));
  int64_t dim = builder.normalizeDim(node.getInteger("axis", -1),
                                     builder.getRank(indices) + 1);
  ValueId mask = compareWithNumbers(
      builder, builder.countFromStart(indices, size), dim, size);
  auto getValue = [&](int64_t index) {
    return builder.reshape(
        builder.slice(values, SliceRange{0, index, index + 1, 1}), {});
  };
  node.setOutput(0, builder.select(mask, getValue(1), getValue(0)));
}

/// A sum over the n indices of a choice of the updates: as many numbers as
/// indices and elements together, for each of the other dimensions.
static void importScatterElements(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId data = node.getInput(0), indices = node.getInput(1),
          updates = node.getInput(2);
  int64_t rank = builder.getRank(data);
  int64_t dim = builder.normalizeDim(node.getInteger("axis", 0), rank);
  std::string reduction = node.getText("reduction", "none");
  Shape shape(builder.getShape(data)), expected(shape);
  if (builder.getRank(indices) == rank)
    expected[dim] = builder.getShape(indices)[dim];
  if (builder.getShape(indices) != expected ||
      builder.getShape(updates) != expected)
    failNode(codes::unsupportedForm, "indices of shape ",
             printShape(builder.getShape(indices)), ", updates of shape ",
             printShape(builder.getShape(updates)), ", data of shape ",
             printShape(shape));
  if (reduction != "none" && reduction != "add")
    failNode(codes::unsupportedForm, "reduction '", reduction, "'");
  // Larger ones would be compared with every element.
  constexpr int64_t largest = 4096;
  if (expected[dim] * shape[dim] > largest)
    failNode(codes::unsupportedForm, expected[dim], " indices of ", shape[dim],
             " elements");
  if (isBool(builder.getType(data)))
    failNode(codes::unsupportedForm, "data of type bool");
  ValueId mask =
      compareWithNumbers(builder, builder.countFromStart(indices, shape[dim]),
                         dim + 1, shape[dim]);
  ValueId zero = builder.makeNumber(builder.getType(data), 0);
  ValueId sum = builder.reduce(
      ReduceKind::sum,
      builder.select(mask, builder.insertDims(updates, {dim + 1}), zero), {dim},
      /*keepDims=*/false);
  std::optional<Cell> splat = builder.getSplat(data);
  if (splat && (isFloat(builder.getType(data)) ? splat->real == 0
                                               : splat->integer == 0)) {
    node.setOutput(0, sum);
    return;
  }
  if (reduction == "add") {
    node.setOutput(0, builder.binary(OpKind::add, data, sum));
    return;
  }
  ValueId hits = builder.reduce(ReduceKind::sum,
                                builder.cast(mask, ElementType::i64), {dim},
                                /*keepDims=*/false);
  ValueId isHit = builder.compare(Predicate::gt, hits,
                                  builder.makeNumber(ElementType::i64, 0));
  node.setOutput(0, builder.select(isHit, sum, data));
}

static void importScatterND(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId data = node.getInput(0), indices = node.getInput(1),
          updates = node.getInput(2);
  ShapeRef from = builder.getShape(indices);
  Shape expected;
  if (!from.empty() && from.back() >= 1 &&
      from.back() <= builder.getRank(data)) {
    expected.append(from.begin(), from.end() - 1);
    expected.append(builder.getShape(data).begin() + from.back(),
                    builder.getShape(data).end());
  }
  if (builder.getShape(updates) != expected)
    failNode(codes::badNode, "indices of shape ", printShape(from),
             " and updates of shape ", printShape(builder.getShape(updates)),
             " do not fit data of shape ", printShape(builder.getShape(data)));
  ValueId sum = noValue;
  if (node.getText("reduction", "none") == "add" && from.size() == 2)
    sum = builder.addByDigits(data, indices, updates);
  if (sum == noValue)
    failNode(codes::unsupportedForm,
             "other than a sum of rows at indices that repeat 0, 1, ..");
  node.setOutput(0, sum);
}

llvm::ArrayRef<OperatorEntry> getIndexingOperators() {
  constexpr Support direct = Support::direct;
  static const OperatorEntry entries[] = {
      {"Gather",
       {1, 11, 13},
       direct,
       importGather,
       "embedding for rows of a table, slice for constant indices"},
      {"GatherElements", {11, 13}, direct, importGatherElements},
      {"GatherND", {11, 12, 13}, direct, importGatherND},
      {"TopK", {1, 10, 11, 24}, direct, importTopK, "of a known k"},
      {"OneHot",
       {9, 11},
       Support::lowered,
       importOneHot,
       "a comparison with every number, of a known depth"},
      {"ScatterElements",
       {11, 13, 16, 18},
       Support::lowered,
       importScatterElements,
       "few elements: a sum over the indices; reductions none and add"},
      {"ScatterND",
       {11, 13, 16, 18},
       Support::lowered,
       importScatterND,
       "sums of rows at regular indices"},
      {"CumSum", {11, 14}, direct, importCumSum},
  };
  return entries;
}

} // namespace parplan::importer
