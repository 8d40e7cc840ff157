//===- StagingRing.h - Through the host, a tile at a time -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_STAGINGRING_H
#define PARPLAN_PASSES_SCHEDULE_STAGINGRING_H

#include "passes/Schedule/Placement.h"

namespace parplan {

/// Host buffers of constant size and number through which values come from and
/// go to NVMe, whatever their own size, one tile after the other.
///
/// A transfer from NVMe to the host that only updates and transfers to the
/// device read makes no copy of its own: it *passes through*, and so does the
/// transfer of a gradient to such an update. Whoever reads the result finds the
/// buffer in its own tier and fetches tiles of it.
class StagingRing {
public:
  /// For the transfers of `function`.
  StagingRing(mlir::func::FuncOp function, Placement &placement);

  bool passesThrough(TransferOp op) const;
  /// Whether an operand of the update passed through.
  bool isStaged(OptimizerUpdateOp op) const;

  /// Appends the tiles of a transfer between NVMe and the device.
  void lowerCopy(TransferOp op);
  /// Appends the tiles of an update: tile t+1 is read before tile t is written
  /// back. Single numbers are on the host by then. Results that only transfers
  /// read are written to where those go, and these are done.
  void lowerUpdate(OptimizerUpdateOp op);

private:
  friend class StagedUpdate;

  bool isStored(mlir::Value tensor) const;
  /// `elements` of a slot. Slots are used in turn.
  mlir::Value takeSlot(int64_t elements, mlir::Type type);
  mlir::Value getTile(mlir::Value buffer, int64_t first, int64_t elements);
  void transfer(mlir::Operation *op, mlir::Value from, mlir::Value to);

  /// Three tiles of an update with two states.
  static constexpr size_t slotCount = 12;
  static constexpr int64_t largestSlot = int64_t(1) << 20;

  Placement &placement;
  int64_t slotBytes = 0;
  llvm::SmallVector<mlir::Value> slots;
  size_t next = 0;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_STAGINGRING_H
