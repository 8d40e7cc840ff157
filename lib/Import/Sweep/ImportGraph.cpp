//===- ImportGraph.cpp - The import up to the graph ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/ImportGraph.h"

#include "lib/Import/Load/LoadedModel.h"
#include "lib/Import/Sweep/Sweep.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

namespace parplan::importer {

/// Every result must have elements: programs of nothing are not supported.
static void checkEmptyTensors(const LoadedModel &model, const Graph &graph,
                              const std::vector<OpId> &order,
                              const SweptModel &swept,
                              DiagnosticEngine &diagnostics) {
  for (OpId id : order) {
    const Op &op = graph.getOp(id);
    bool isEmpty = countElements(graph.getValue(op.firstResult).shape) == 0;
    for (ValueId operand : op.operands)
      isEmpty |= countElements(graph.getValue(operand).shape) == 0;
    if (isEmpty)
      diagnostics.error(
          codes::unsupportedForm,
          model.locateNode(op.node, std::string(swept.operators[op.node])))
          << "a tensor without elements";
  }
}

static void countParameters(const Graph &graph, const std::vector<OpId> &order,
                            ModelInfo &info) {
  std::vector<bool> isRead(graph.parameters.size(), false);
  auto read = [&](ValueId id) {
    const Value &value = graph.getValue(id);
    if (value.kind == ValueKind::parameter)
      isRead[value.leaf] = true;
  };
  for (OpId id : order)
    for (ValueId operand : graph.getOp(id).operands)
      read(operand);
  for (const GraphOutput &output : graph.outputs)
    read(output.value);
  for (size_t i = 0; i < isRead.size(); ++i)
    if (isRead[i])
      info.parameterCount += countElements(graph.parameters[i].shape);
}

std::optional<ImportedGraph> importGraph(const ImportOptions &options,
                                         DiagnosticEngine &diagnostics) {
  auto model = std::make_shared<LoadedModel>();
  model->path = options.path;
  if (!model->load(diagnostics) || !guardModel(*model, diagnostics))
    return std::nullopt;
  ModelChecker checker(*model);
  SweepOptions sweepOptions;
  sweepOptions.dims = options.dims;
  sweepOptions.globalBatch = options.globalBatch;
  sweepOptions.chooseSamples = options.chooseSamples;
  sweepOptions.needWeights = options.needWeights;
  std::unique_ptr<SweptModel> swept =
      sweepModel(*model, sweepOptions, diagnostics);
  // What the import found is nearer to the cause than what the checker says.
  if (!swept)
    return std::nullopt;
  if (std::string reason = checker.join(); !reason.empty()) {
    diagnostics.error(codes::checkerRefuses, Location::inFile(model->path))
        << "ONNX's checker refuses the model: " << sanitize(reason);
    return std::nullopt;
  }

  size_t before = diagnostics.getErrorCount();
  std::vector<OpId> order = orderOps(swept->graph);
  swept->graph.assignNodes(order);
  checkEmptyTensors(*model, swept->graph, order, *swept, diagnostics);
  if (diagnostics.getErrorCount() != before)
    return std::nullopt;
  auto info = std::make_shared<ModelInfo>(model);
  countParameters(swept->graph, order, *info);
  for (const GraphInput &input : swept->graph.inputs)
    info->inputNames.push_back(input.name);
  for (const GraphOutput &output : swept->graph.outputs)
    info->outputNames.push_back(output.name);
  info->batch = swept->batch;
  info->batchSymbol = swept->batchSymbol;
  info->symbols = std::move(swept->symbols);
  return ImportedGraph{std::move(model), std::move(info),
                       std::move(swept->graph), std::move(order)};
}

} // namespace parplan::importer
