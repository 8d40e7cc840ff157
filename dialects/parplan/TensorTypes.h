//===- TensorTypes.h - Types and shapes of tensors --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_TENSORTYPES_H
#define PARPLAN_DIALECTS_PARPLAN_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace parplan {

/// The value is a tensor of known rank.
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The same.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return getTensorType(value).getShape();
}

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_TENSORTYPES_H
