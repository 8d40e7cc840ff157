//===- Inference.h - Helpers of type inference ------------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_INFERENCE_H
#define PARPLAN_DIALECTS_PARPLAN_INFERENCE_H

#include "dialects/parplan/TensorTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"

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

/// The numpy broadcast of two shapes; reports sizes that do not fit.
mlir::FailureOr<Shape> broadcastShapes(OptionalLocation location,
                                       llvm::ArrayRef<int64_t> left,
                                       llvm::ArrayRef<int64_t> right);

/// True when `shape` broadcasts to `target` without changing it.
bool broadcastsTo(llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> target);

/// Appends a type that was inferred.
mlir::LogicalResult appendType(mlir::FailureOr<mlir::RankedTensorType> type,
                               llvm::SmallVectorImpl<mlir::Type> &types);

//===----------------------------------------------------------------------===//
// Types of ops that have an adjoint, which checks itself by them
//===----------------------------------------------------------------------===//

mlir::FailureOr<mlir::RankedTensorType>
inferGather(OptionalLocation location, mlir::RankedTensorType data,
            llvm::ArrayRef<int64_t> indices, int64_t dim);
mlir::FailureOr<mlir::RankedTensorType>
inferGatherElements(OptionalLocation location, mlir::RankedTensorType data,
                    llvm::ArrayRef<int64_t> indices, int64_t gathered);
mlir::FailureOr<mlir::RankedTensorType>
inferGatherND(OptionalLocation location, mlir::RankedTensorType data,
              llvm::ArrayRef<int64_t> indices, int64_t batchDims);

/// The factor of dimension `dim` of ids that are looked up in a table.
std::string getIdFactorName(size_t rank, size_t dim);

/// A window that slides over the spatial dimensions. `pads` lists low and high
/// per dimension.
struct Window {
  llvm::ArrayRef<int64_t> sizes, strides, pads, dilations;
};

mlir::FailureOr<mlir::RankedTensorType>
inferConvolution(OptionalLocation location, mlir::RankedTensorType input,
                 mlir::RankedTensorType weight, const Window &window,
                 int64_t groups);
mlir::FailureOr<mlir::RankedTensorType> inferPool(OptionalLocation location,
                                                  mlir::RankedTensorType input,
                                                  const Window &window);

/// "2x3x4", for messages.
std::string printShape(llvm::ArrayRef<int64_t> shape);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_INFERENCE_H
