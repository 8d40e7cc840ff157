//===- Frontend.h - From a model file to a planning problem -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FRONTEND_H
#define PARPLAN_DRIVER_FRONTEND_H

#include "lib/Import/Import.h"
#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Diagnostics.h"
#include "passes/Plan/GraphProblem.h"
#include "passes/Train/Passes.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>
#include <vector>

namespace parplan {

class IRDumper;

/// Creates a context with the dialects of parplan. Its threads verify functions
/// and run what passes do to them side by side.
/// Without threads it is for one caller among several.
std::unique_ptr<mlir::MLIRContext> makeContext(bool hasThreads = true);

/// What the frontend makes of a model.
struct FrontendOptions {
  ImportOptions import;
  /// A training step instead of a forward pass.
  std::optional<TrainingOptions> training;
  /// Into how many parts a step or forward pass is cut, 0 for the least number;
  /// the size of one follows from the batch.
  int64_t microBatches = 0;
  /// Of a forward pass; a training step has its own.
  ComputePrecision precision = ComputePrecision::fp32;
  /// Causal sequences in zig-zag order over so many ranks, where the model
  /// allows it.
  int64_t zigzag = 1;
  /// In how many groups experts lie (`getExpertGroups`).
  int64_t expertGroups = 1;
  /// Each of them has a step of its own, for as many samples.
  int64_t workers = 1;
  /// Whose software the prices of the problem are of; none: a kernel for every
  /// op.
  std::optional<ClusterDescription> cluster = std::nullopt;
};

/// Without a common step of workers and servers every worker has one of its
/// own, and counts the labels of its loss.
void setWorkers(FrontendOptions &options,
                const std::optional<ServerChoice> &servers);

/// A model after the phases load to simplify.
struct SimplifiedModel {
  ImportedModel model;
  /// Samples of one step.
  int64_t globalBatch = 1;
  int64_t microBatches = 1;
  int64_t microBatchSize = 1;
  /// What @main takes and returns with the whole batch, where a module was made
  /// for that.
  mlir::FunctionType whole;
  /// Why a loop over experts stays as it is.
  std::optional<std::string> loopObstacle;

  mlir::func::FuncOp getMain() const;
  SimplifiedModel clone() const;
};

/// A model after all phases before the plan, and its planning problem.
struct Frontend : SimplifiedModel {
  GraphProblem graph;
  /// Why the sequence is not in the zig-zag order that was asked for.
  std::optional<std::string> orderObstacle;
  /// Of a training step: which initializers are trained, and why.
  std::vector<TrainedParameter> parameters;

  bool isTraining() const;
  /// Its passes are to be written out, for each of its micro-batches.
  bool hasPasses() const;
};

/// Runs load, normalise, import and simplify. Reports and returns nothing on a
/// bad model.
std::optional<SimplifiedModel> simplifyModel(mlir::MLIRContext &context,
                                             const FrontendOptions &options,
                                             IRDumper &dumper,
                                             DiagnosticEngine &engine);

/// Runs order and train as the options say. Reports and returns nothing on a
/// model that cannot be trained as asked.
std::optional<Frontend> finishFrontend(SimplifiedModel model,
                                       const FrontendOptions &options,
                                       IRDumper &dumper,
                                       DiagnosticEngine &engine);

/// The numbers of micro-batches into which a step of the model can be cut,
/// ascending: each at least twice the one before, from the least. The last has
/// one sample in each. Models without a batch have one number: 1.
std::vector<int64_t> getMicroBatchCounts(const SimplifiedModel &model);

} // namespace parplan

#endif // PARPLAN_DRIVER_FRONTEND_H
