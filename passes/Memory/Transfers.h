//===- Transfers.h - What moves between tiers of memory ---------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_MEMORY_TRANSFERS_H
#define PARPLAN_PASSES_MEMORY_TRANSFERS_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan {

/// Where a variable rests or an update runs: `parplan.tier`, or the device.
llvm::StringRef getTier(mlir::Operation *op);
bool isOnDevice(mlir::Operation *op);

/// A value that is brought to the device for the ops from `firstReader` on.
struct Upload {
  mlir::Value value;
  /// What the uses and the path read so far.
  mlir::Value original;
  mlir::Operation *firstReader = nullptr;
  llvm::SmallVector<mlir::OpOperand *> uses;
  /// Reshapes, casts and members of buckets between the value and its readers:
  /// made on the device, once for every upload.
  llvm::SmallVector<mlir::Operation *, 2> path;
};

/// A copy of `value` in `tier`, for `reader`.
TransferOp createTransfer(mlir::OpBuilder &builder, mlir::Value value,
                          llvm::StringRef tier, mlir::Operation *reader);

/// Copies the path behind the transfer, and lets the uses read that. Uploads
/// are issued one ahead: each where the one before it is read first.
void insertUploads(std::vector<Upload> uploads);

/// Brings parameters and states to where they are read, and their gradients and
/// new values to where they rest. Sets `parplan.tier` of variables that rest
/// where their update runs.
void insertVariableTransfers(mlir::func::FuncOp function);

/// Lets results with `parplan.tier` wait for the backward pass on the host.
void insertActivationTransfers(mlir::func::FuncOp function);

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_TRANSFERS_H
