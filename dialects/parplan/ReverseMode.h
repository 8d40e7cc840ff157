//===- ReverseMode.h - Gradients of a list of ops ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_REVERSEMODE_H
#define PARPLAN_DIALECTS_PARPLAN_REVERSEMODE_H

#include "dialects/parplan/ParplanOps.h"

#include <functional>

namespace parplan {

/// What `differentiate` asks and tells its caller; every member may be empty.
struct ReverseMode {
  /// Does a value from outside of the list come from parameters alone? Without
  /// it, the results of ops without operands do, and nothing else. Values of
  /// the list follow from their operands.
  std::function<bool(mlir::Value)> isWeight;
  /// Sees the ops that are the backward of `forward`, in order.
  std::function<void(mlir::Operation *forward,
                     llvm::ArrayRef<mlir::Operation *> made)>
      onBackward;
  /// Sees the sum of the gradients of a value with several uses.
  std::function<void(mlir::Value value, mlir::Operation *sum)> onSum;
};

/// What `differentiate` finds.
struct Gradients {
  /// Gradients of wanted values; a value that is absent has the gradient zero.
  llvm::DenseMap<mlir::Value, mlir::Value> of;
  /// Ops on the way from a wanted value to a seed that cannot be
  /// differentiated. Where there are some, `of` is incomplete.
  llvm::SmallVector<mlir::Operation *> missing;
};

/// Reverse mode over `ops`, which stand in program order: builds the gradients
/// of `wanted` for the given gradients of some values (`seeds`). Ops that no
/// wanted value reaches, and operands that depend on none, cost nothing. The
/// gradients of a value that is used several times are added up by one
/// `parplan.sum`. Every op built has a `parplan.role`.
Gradients
differentiate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
              llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> seeds,
              llvm::ArrayRef<mlir::Value> wanted, const ReverseMode &mode = {});

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_REVERSEMODE_H
