//===- StepSegments.h - When an op of a step runs ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_STEPSEGMENTS_H
#define PARPLAN_PASSES_PIPELINE_STEPSEGMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan {

/// The segments of a training step: all micro-batches of a segment run before
/// the next segment, which reads sums over them.
class StepSegments {
public:
  /// Before the first micro-batch.
  static constexpr int start = -1;

  /// Fails, with a diagnostic, where an op of the step reads a value of one
  /// micro-batch, or an accumulate a value of the step.
  static mlir::FailureOr<StepSegments> create(mlir::func::FuncOp function);

  int getCount() const { return count; }
  /// The segment in which a per-micro-batch op runs, in which an accumulate
  /// adds, or at whose end another op runs.
  int getSegment(mlir::Operation *op) const { return segments.lookup(op); }

private:
  void findCount(mlir::Block &body);
  void findLatest(mlir::Block &body);
  void findSegments(mlir::Block &body);
  /// The last segment in which `op` serves all its readers, by their `limits`.
  int getLatest(mlir::Operation *op,
                const llvm::DenseMap<mlir::Operation *, int> &limits) const;

  int count = 1;
  llvm::DenseMap<mlir::Operation *, int> latest, segments;
};

/// True for ops that run once per micro-batch. What has no operands is made
/// once.
bool runsPerMicroBatch(mlir::Operation *op);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_STEPSEGMENTS_H
