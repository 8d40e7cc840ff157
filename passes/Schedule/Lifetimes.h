//===- Lifetimes.h - Who holds bytes until when -----------------*- C++ -*-===//
//
// Part of parplan.
//
// Of values in the program order of a block, before buffers exist.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_LIFETIMES_H
#define PARPLAN_PASSES_SCHEDULE_LIFETIMES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace parplan {

/// What another stream or another tier takes part in: nothing moves over it.
bool isFixed(mlir::Operation *op);

int64_t getBytes(mlir::Value value);

/// The value whose bytes `value` is.
mlir::Value getRoot(mlir::Value value);

/// Whether a reader of the bytes of `value`, through views too, is `wanted`.
bool isReadBy(mlir::Value value,
              llvm::function_ref<bool(mlir::Operation *)> wanted);

/// Bytes of what `op` reads that no op keeps for which `reads` holds. What lies
/// in the arena for the whole step is never freed.
int64_t getFreedBytes(mlir::Operation *op,
                      llvm::function_ref<bool(mlir::Operation *)> reads);

/// Moves an op before another one of its block. `Operation::moveBefore` makes
/// the order of all ops invalid: where ops are compared and moved in turn, each
/// comparison would take time in proportion to the block.
void moveInBlock(mlir::Operation *op, mlir::Operation *place);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_LIFETIMES_H
