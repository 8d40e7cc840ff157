//===- Sweep.h - From a loaded model to the folded graph --------*- C++ -*-===//
//
// Part of parplan.
//
// One pass over the nodes in file order. Calls of local functions and constant
// conditions are entered where they stand, so nothing is inlined beforehand.
// A node that cannot be imported is reported and its results are poison; the
// pass goes on, so that all problems of a model come in one run.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_SWEEP_H
#define PARPLAN_LIB_IMPORT_SWEEP_SWEEP_H

#include "lib/Import/Graph/Graph.h"
#include "lib/Import/Load/LoadedModel.h"
#include "lib/Import/Sweep/Dims.h"

namespace parplan::importer {

struct SweepOptions {
  DimBindings dims;
  std::optional<int64_t> globalBatch;
  std::function<int64_t(int64_t)> chooseSamples;
  /// Fail if a file of weights is missing or too short.
  bool needWeights = false;
  /// Keep the value of every name of the main graph, for tests.
  bool keepNames = false;
};

struct SweptModel {
  Graph graph;
  /// ONNX operator of every node of the main graph; views into the model.
  std::vector<std::string_view> operators;
  std::optional<int64_t> batch;
  std::string batchSymbol;
  std::vector<std::string> symbols;
  /// With keepNames: value by name.
  std::vector<std::pair<std::string, ValueId>> names;
  /// By node: true if it left no op of its own.
  std::vector<bool> isFolded;
};

/// Returns nothing after reporting errors.
std::unique_ptr<SweptModel> sweepModel(const LoadedModel &model,
                                       const SweepOptions &options,
                                       DiagnosticEngine &diagnostics);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_SWEEP_H
