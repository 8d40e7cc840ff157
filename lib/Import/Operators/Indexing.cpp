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
      {"CumSum", {11, 14}, direct, importCumSum},
  };
  return entries;
}

} // namespace parplan::importer
