//===- ProgramWriter.h - Writes the program of one position -----*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_PROGRAMWRITER_H
#define PARPLAN_PASSES_PIPELINE_PROGRAMWRITER_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace parplan {

/// Builds a function beside `step` from copies of its ops, in any order in
/// which operands come first. Values of micro-batches have an index.
class ProgramWriter {
public:
  /// The new function has the arguments and attributes of `step`. Where its
  /// micro-batches are counted, arguments with `parplan.batch` get a leading
  /// dimension for them.
  ProgramWriter(mlir::func::FuncOp step, int64_t count);

  mlir::func::FuncOp getFunction() const { return function; }

  /// True if `value` of the step is there: for all micro-batches, or for
  /// `index`. What arguments hold always is.
  bool has(mlir::Value value, int64_t index) const;
  mlir::Value lookup(mlir::Value value, int64_t index);

  /// Copies an op of a micro-batch, or adds to a sum what that contributes.
  void write(mlir::Operation *op, int64_t index);
  /// Adds what a value is of micro-batch `before` to what it is of `index`,
  /// which is from then on the sum of both.
  void addUp(mlir::Value value, int64_t before, int64_t index);
  /// Copies an op that runs once per step; in `front` of all that others wrote.
  mlir::Operation *writeOnce(mlir::Operation *op, bool front = false);
  /// Says that `value` is `made`: for all micro-batches without an index.
  void define(mlir::Value value, mlir::Value made,
              std::optional<int64_t> index);

  /// From now on copies of micro-batches have `parplan.micro_batch`, or not.
  void setNumbering(bool isOn) { isNumbering = isOn; }

  mlir::OpBuilder &getBuilder() { return builder; }

  /// Returns the `results` of the step, and drops the rest. Those with
  /// `parplan.batch_dim` get a leading dimension of micro-batches, which must
  /// all be there.
  void finish(mlir::ArrayRef<unsigned> results);
  /// Drops arguments that nothing reads.
  void eraseUnusedArguments();

private:
  mlir::Value readBatch(mlir::Value argument, int64_t index);
  /// The parts of all micro-batches, one behind the other.
  mlir::Value collect(mlir::Value value);
  void addArguments();
  mlir::Operation *clone(mlir::Operation *op, int64_t index,
                         mlir::IRMapping &into);

  mlir::func::FuncOp step, function;
  int64_t count;
  bool isNumbering = false;
  mlir::OpBuilder builder;
  /// The last of the ops in front.
  mlir::Operation *lastInFront = nullptr;
  mlir::IRMapping once;
  std::vector<mlir::IRMapping> microBatches;
};

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_PROGRAMWRITER_H
