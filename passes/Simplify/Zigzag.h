//===- Zigzag.h - The order of a causal sequence ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_ZIGZAG_H
#define PARPLAN_PASSES_SIMPLIFY_ZIGZAG_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace parplan {

/// What does not allow another order of the sequence. `op` may be null.
struct OrderObstacle {
  mlir::Operation *op;
  std::string reason;
};

/// Whether zig-zag order could even out anything.
bool hasCausalAttention(mlir::func::FuncOp function);

/// Brings the sequences of causal attentions into zig-zag order over `ranks`,
/// two or more, before the function is trained. Where that is not possible,
/// nothing is changed.
std::optional<OrderObstacle> bringIntoZigzagOrder(mlir::func::FuncOp function,
                                                  int64_t ranks);

} // namespace parplan

#endif // PARPLAN_PASSES_SIMPLIFY_ZIGZAG_H
