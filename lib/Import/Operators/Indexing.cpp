//===- Indexing.cpp - Gathers, TopK, scans ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Numbers.h"
#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

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

/// Products of ever longer runs, as in a parallel scan: after the step of
/// length n, every element is the product of the 2n before and with it.
static void importCumProd(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId result = node.getInput(0);
  int64_t rank = builder.getRank(result);
  int64_t dim = builder.normalizeDim(node.getKnownInteger(1, "the axis"), rank);
  if (isBool(builder.getType(result)))
    failNode(codes::badNode, "operand of type bool");
  int64_t size = builder.getShape(result)[dim];
  bool reverse = node.getInteger("reverse", 0) != 0;
  // The elements `distance` before, ones where there are none.
  auto shift = [&](ValueId value, int64_t distance) {
    std::vector<int64_t> low(rank, 0), high(rank, 0);
    low[dim] = reverse ? -distance : distance;
    high[dim] = -low[dim];
    return builder.pad(value, low, high, 1);
  };
  if (node.getInteger("exclusive", 0) != 0)
    result = shift(result, std::min<int64_t>(1, size));
  for (int64_t length = 1; length < size; length *= 2)
    result = builder.binary(OpKind::mul, result, shift(result, length));
  node.setOutput(0, result);
}

static void importOneHot(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId values = node.getInput(2);
  if (isBool(builder.getType(node.getInput(0))))
    failNode(codes::badNode, "indices of type bool");
  // Floats count as the integers that they are cut to.
  ValueId indices = builder.cast(node.getInput(0), ElementType::i64);
  Cell depth = node.getKnownScalar(1, "the depth");
  int64_t size =
      convertCell(depth, builder.getType(node.getInput(1)), ElementType::i64)
          .integer;
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

/// The elements for which a condition, which must be known, is true.
static void importCompress(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<int64_t> condition = node.getKnownIntegers(1, "the condition");
  int64_t dim = 0;
  if (node.hasAttribute("axis"))
    dim = builder.normalizeDim(node.getInteger("axis", 0),
                               builder.getRank(input));
  else
    input = builder.reshape(input, {countElements(builder.getShape(input))});
  int64_t size = builder.getShape(input)[dim];
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min<int64_t>(size, condition.size()); ++i)
    if (condition[i])
      kept.push_back(i);
  node.setOutput(0, builder.gather(input, builder.makeIntegers(kept), dim));
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
      {"Compress",
       {9, 11},
       Support::lowered,
       importCompress,
       "gather, of a known condition"},
      {"TopK", {1, 10, 11, 24}, direct, importTopK, "of a known k"},
      {"OneHot",
       {9, 11},
       Support::lowered,
       importOneHot,
       "a comparison with every number, of a known depth"},
      {"CumSum", {11, 14}, direct, importCumSum},
      {"CumProd",
       {26},
       Support::lowered,
       importCumProd,
       "multiplications with shifted elements"},
  };
  return entries;
}

} // namespace parplan::importer
