//===- Matching.h - What patterns look for ----------------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_MATCHING_H
#define PARPLAN_PASSES_SIMPLIFY_MATCHING_H

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"

#include <optional>

namespace parplan::simplify {

inline mlir::Type getElementType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// The one number of a constant that is the same everywhere, also behind
/// reshapes and broadcasts.
std::optional<double> getSplat(mlir::Value value);

/// Equal up to what a few roundings to `element` explain: 1/n and 1/(n-1)
/// differ.
bool isNear(double value, double expected, mlir::Type element);
bool isSplatOf(mlir::Value value, double expected);

/// A value as `factor` times `base`.
struct Scaled {
  mlir::Value base;
  double factor = 1;
};
Scaled matchScaled(mlir::Value value);

/// A value as a number times some tensors of its shape. Products with other
/// uses are not taken apart, except the outermost.
struct Product {
  double factor = 1;
  llvm::SmallVector<mlir::Value, 4> factors;
};
Product matchProduct(mlir::Value value);

/// The other operand of a commutative op one of whose operands is `known`;
/// null if neither is.
mlir::Value getOther(mlir::Operation *op, mlir::Value known);

/// `value` as `base + number`.
mlir::Value matchShifted(mlir::Value value, double number);

/// True for ops of one result that work element by element with broadcasting.
bool isElementwise(mlir::Operation *op);

/// Sum over the last dims from `dim` on, times 1/n, dims kept.
struct Mean {
  mlir::Value input;
  int64_t dim;
};
std::optional<Mean> matchMean(mlir::Value value);

/// The base of x^2, or null.
mlir::Value matchSquare(mlir::Value value);

/// A reshape that merges leading dimensions and keeps the `kept` last ones:
/// [b, s, d] to [b s, d].
struct Flattening {
  mlir::Value input;
  size_t kept;

  llvm::ArrayRef<int64_t> getPrefix() const {
    return getShape(input).drop_back(kept);
  }
  int64_t getRows() const;
};
std::optional<Flattening> matchFlattening(mlir::Value value);

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_MATCHING_H
