//===- ImportGraph.h - The import up to the graph ---------------*- C++ -*-===//
//
// Part of parplan. All that throws is behind these functions.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_IMPORTGRAPH_H
#define PARPLAN_LIB_IMPORT_SWEEP_IMPORTGRAPH_H

#include "lib/Import/Graph/Graph.h"
#include "lib/Import/ModelInfo.h"

namespace parplan::importer {

struct ImportedGraph {
  std::shared_ptr<const LoadedModel> model;
  std::shared_ptr<ModelInfo> info;
  Graph graph;
  /// The ops that outputs need, in the order in which they are written.
  std::vector<OpId> order;
};

/// Loads, guards, checks, binds and sweeps; reports all problems of a phase
/// before it gives up.
std::optional<ImportedGraph> importGraph(const ImportOptions &options,
                                         DiagnosticEngine &diagnostics);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_IMPORTGRAPH_H
