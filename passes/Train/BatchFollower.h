//===- BatchFollower.h - Where the batch is in every value ------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_BATCHFOLLOWER_H
#define PARPLAN_PASSES_TRAIN_BATCHFOLLOWER_H

#include "passes/Train/Step.h"

#include "parplan/Sharding/Mesh.h"

namespace parplan::train {

/// Follows a batch of B > 1 samples through a function: it is an axis of size B
/// that splits dimension 0 of the inputs completely, and every op passes it on
/// by its sharding rule. A dimension of n elements that has the axis has n / B
/// of them for every sample.
///
///   reshape [B, s, d] to [B s, d]   the axis stays on the major part of B s
///   reduce over dimension 0         mixes samples: the result is *mixed*
///   broadcast to [B, 1, d]          the same for every sample: it takes the
///                                   axis where a reader wants it
class BatchFollower {
public:
  BatchFollower(mlir::func::FuncOp function, int64_t batch);

  /// Finds the batch in all values. Reports ops through which it cannot be
  /// followed, and those where a mixed value meets one that has the batch.
  mlir::LogicalResult run();

  /// The first op whose mixed result reaches a result of the function, or null.
  mlir::Operation *findMixing();

  /// Gives everything that has the batch the size for `newBatch` samples.
  void resize(int64_t newBatch);

  /// The dimension of the batch in `value`, if it has one.
  std::optional<int64_t> getDim(mlir::Value value) const;

private:
  void walk();
  void follow(mlir::Operation *op);
  /// What becomes of results when operands have the batch on `factor`.
  void followFactor(mlir::Operation *op, const ShardingRule &rule, int factor);
  void mix(mlir::Operation *op);
  /// Makes `value` have the batch in `dim`; false where samples differ.
  bool spread(mlir::Value value, int64_t dim);
  void report(mlir::Operation *op, llvm::StringRef what);

  mlir::RankedTensorType getResized(mlir::Value value, int64_t newBatch) const;

  mlir::func::FuncOp function;
  int64_t batch;
  Mesh mesh;
  /// The dimension of the batch, for values that have it.
  llvm::DenseMap<mlir::Value, int64_t> dims;
  /// Mixed values, and the op that mixes.
  llvm::DenseMap<mlir::Value, mlir::Operation *> mixed;
  llvm::DenseSet<mlir::Operation *> reported;
  bool hasChanged = false;
};

} // namespace parplan::train

#endif // PARPLAN_PASSES_TRAIN_BATCHFOLLOWER_H
