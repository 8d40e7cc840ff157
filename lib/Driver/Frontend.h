//===- Frontend.h - From a model file to a planning problem -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FRONTEND_H
#define PARPLAN_DRIVER_FRONTEND_H

#include "lib/Import/Import.h"
#include "parplan/Support/Diagnostics.h"
#include "passes/Plan/GraphProblem.h"
#include "passes/Train/Passes.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>
#include <vector>

namespace parplan {

class IRDumper;

/// Creates a context with the dialects of parplan, without threads: the phases
/// run one after the other on one function.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// What the frontend makes of a model.
struct FrontendOptions {
  ImportOptions import;
  /// A training step instead of a forward pass. Its `microBatches` count, 0 for
  /// the least number; the size of one follows from the batch of the step.
  std::optional<TrainingOptions> training;
  /// Causal sequences in zig-zag order over so many ranks, where the model
  /// allows it.
  int64_t zigzag = 1;
};

/// A model after the phases load to simplify, or to train, and its planning
/// problem.
struct Frontend {
  ImportedModel model;
  GraphProblem graph;
  /// Samples of one step.
  int64_t globalBatch = 1;
  int64_t microBatches = 1;
  /// Why the sequence is not in the zig-zag order that was asked for.
  std::optional<std::string> orderObstacle;
  /// Of a training step: which initializers are trained, and why.
  std::vector<TrainedParameter> parameters;

  mlir::func::FuncOp getMain() const;
  bool isTraining() const;
};

/// Runs load, normalise, import, simplify and train. Reports and returns
/// nothing on a bad model, and on a model that cannot be trained as asked.
std::optional<Frontend> runFrontend(mlir::MLIRContext &context,
                                    const FrontendOptions &options,
                                    IRDumper &dumper, DiagnosticEngine &engine);

/// The numbers of micro-batches into which a step of the frontend's model can
/// be cut, ascending: each at least twice the one before, from the least. The
/// last has one sample in each.
std::vector<int64_t> getMicroBatchCounts(const Frontend &frontend);

} // namespace parplan

#endif // PARPLAN_DRIVER_FRONTEND_H
