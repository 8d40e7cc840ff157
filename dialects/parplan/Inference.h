//===- Inference.h - Helpers of type inference ------------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_INFERENCE_H
#define PARPLAN_DIALECTS_PARPLAN_INFERENCE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace parplan {

using Shape = llvm::SmallVector<int64_t>;
using OptionalLocation = std::optional<mlir::Location>;

/// The parser infers result types before any verifier runs: inference calls
/// this first. Reports operands that are not statically shaped tensors.
mlir::LogicalResult requireTensors(OptionalLocation location,
                                   mlir::ValueRange operands);

/// Reports a `dim` outside [0, rank).
mlir::LogicalResult requireDim(OptionalLocation location, int64_t dim,
                               int64_t rank);

/// Reports `dims` that are not ascending or not in [0, rank), and companions of
/// another length.
mlir::LogicalResult requireDims(OptionalLocation location,
                                llvm::ArrayRef<int64_t> dims, int64_t rank);

/// The value has passed `requireTensors`.
mlir::RankedTensorType getTensorType(mlir::Value value);
llvm::ArrayRef<int64_t> getShape(mlir::Value value);

/// The numpy broadcast of two shapes; reports sizes that do not fit.
mlir::FailureOr<Shape> broadcastShapes(OptionalLocation location,
                                       llvm::ArrayRef<int64_t> left,
                                       llvm::ArrayRef<int64_t> right);

/// True when `shape` broadcasts to `target` without changing it.
bool broadcastsTo(llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> target);

/// "2x3x4", for messages.
std::string printShape(llvm::ArrayRef<int64_t> shape);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_INFERENCE_H
