//===- Passes.h - The order of causal sequences -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_ORDER_PASSES_H
#define PARPLAN_PASSES_ORDER_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Order/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Order/Passes.h.inc"

/// Whether another order could even out anything.
bool hasCausalAttention(mlir::func::FuncOp function);

/// Appends the order phase: in, a simplified module in the model's order; out,
/// its causal sequences in zig-zag order over `ranks`, or the same module after
/// a warning that says what does not allow it.
void buildOrderPipeline(mlir::OpPassManager &manager, int64_t ranks);

} // namespace parplan

#endif // PARPLAN_PASSES_ORDER_PASSES_H
