//===- UpdateLanes.h - One variable's way through an update -----*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_MEMORY_UPDATELANES_H
#define PARPLAN_PASSES_MEMORY_UPDATELANES_H

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

#include "llvm/ADT/MapVector.h"

namespace parplan {

/// The dimension of moves and slices of a flattened block.
inline constexpr int64_t storageDim = -1;

/// What happens to one variable, its states and its gradient, element by
/// element of the flattened block: reductions, sums, the update, gathers. Equal
/// lanes of several variables can be one lane of their bucket.
struct UpdateLane {
  OptimizerUpdateOp update;
  /// The variable and its states.
  llvm::SmallVector<ParameterOp, 3> sources;
  /// What comes from outside: gradients of the rank.
  llvm::SmallVector<mlir::Value, 2> leaves;
  /// In an order that is the same for equal lanes; operands first.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Per source the index of the function's result that replaces it.
  llvm::SmallVector<unsigned, 3> results;
  /// Scalars of `ops` that a `sum` adds up over all variables.
  llvm::SmallVector<mlir::Value, 1> norms;
  /// Equal for lanes that do the same.
  std::string signature;

  mlir::RankedTensorType getBlockType(const ShardingAccess &access) const;
};

/// The lanes of a function that can be bucketed, in the order in which their
/// gradients are complete.
std::vector<UpdateLane> findUpdateLanes(mlir::func::FuncOp function,
                                        const ShardingAccess &access);

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_UPDATELANES_H
