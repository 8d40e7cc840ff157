//===- OpCost.h - What an operation costs, as plain data --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COSTMODEL_OPCOST_H
#define PARPLAN_COSTMODEL_OPCOST_H

#include "parplan/Sharding/ShardingRule.h"

#include <cstdint>

namespace parplan {

/// Which limit of a device an operation runs into.
enum class WorkKind {
  /// Matrix products and convolutions: tensor cores, else memory.
  matrix,
  /// Products of the rows that experts have: the matrices of a batch one by
  /// one,
  /// each with kernels that move its rows.
  expertMatrix,
  /// Scaled dot product attention: two products and what is between them; rows
  /// are queries, columns keys, contracted is the width of a head, and
  /// transcendentals count the scores.
  attention,
  /// The gradients of its three operands: four products more than forward has.
  attentionGradient,
  /// Fused loops over elements: memory, else vector units.
  elementwise,
  /// Loops with a reduction along a dimension: as elementwise.
  reduction,
  /// Moves bytes only.
  copy,
  /// Exists in the graph but launches nothing (parameters, reshapes).
  none,
};

/// True for matrix products.
inline bool isMatrix(WorkKind kind) {
  return kind == WorkKind::matrix || kind == WorkKind::expertMatrix;
}

/// True for what products are the most of.
inline bool isProduct(WorkKind kind) {
  return isMatrix(kind) || kind == WorkKind::attention ||
         kind == WorkKind::attentionGradient;
}

/// What is worked on of `size` rows on average, of which `share` count, rounded
/// up.
int64_t getMeanSize(int64_t size, double share);

/// `coefficient` times the product of the local sizes of `factors`.
struct WorkTerm {
  double coefficient = 0;
  llvm::SmallVector<int, 6> factors;
};

/// The work of an op as a function of the local factor sizes: sums of terms.
struct OpWork {
  WorkKind kind = WorkKind::elementwise;
  llvm::SmallVector<WorkTerm, 1> flops;
  llvm::SmallVector<WorkTerm, 1> transcendentals;
  /// Factors that form m, n, k and the batch of a product; empty for other
  /// kinds.
  llvm::SmallVector<int, 2> rows, columns, contracted, batch;
  /// Of the rows, and of what is summed over, the mean share that is worked on:
  /// less than 1 in products of experts. `flops` count no more than that.
  double rowShare = 1, contractedShare = 1;
};

/// The work of one device.
struct OpCost {
  WorkKind kind = WorkKind::elementwise;
  double flops = 0;
  double transcendentals = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  /// Shape of a product; all zero for other kinds.
  int64_t rows = 0, columns = 0, contracted = 0, batch = 0;
  /// Whether the rows of all matrices of 16-bit elements begin at multiples of
  /// 16 bytes, as tensor cores are fed.
  bool isAligned = true;
  /// Part of a kernel that another one launches.
  bool isInReader = false;
};

/// The work of a device that holds `localFactorSizes` of the factors of `rule`.
/// Bytes count every operand once and every result once, at its local size.
OpCost evaluateWork(const OpWork &work, const ShardingRule &rule,
                    llvm::ArrayRef<int64_t> localFactorSizes,
                    llvm::ArrayRef<int64_t> operandElementBytes,
                    llvm::ArrayRef<int64_t> resultElementBytes);

} // namespace parplan

#endif // PARPLAN_COSTMODEL_OPCOST_H
