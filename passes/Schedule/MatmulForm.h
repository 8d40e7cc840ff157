//===- MatmulForm.h - Einsum products as strided, batched products -*- C++
//-*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_MATMULFORM_H
#define PARPLAN_PASSES_SCHEDULE_MATMULFORM_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// Sizes and strides of exec.matmul. Every operand has stride 1 along its rows
/// or its columns.
struct MatmulForm {
  int64_t m = 1, n = 1, k = 1;
  /// Row and column strides.
  int64_t lhs[2] = {1, 1}, rhs[2] = {1, 1}, result[2] = {1, 1};
  llvm::SmallVector<int64_t, 4> batch, lhsBatch, rhsBatch, resultBatch;
};

/// At most so many batch dimensions.
inline constexpr size_t maximumMatmulBatch = 4;

/// The dimensions of an array in memory.
struct StridedShape {
  llvm::SmallVector<int64_t> sizes, strides;

  /// Row-major without gaps.
  static StridedShape getDense(llvm::ArrayRef<int64_t> sizes);
  /// Elements from the first one to behind the last one.
  int64_t getReach() const;
};

/// The form of a product of operands that `spec` describes. None when rows,
/// columns or the summed dimensions do not lie in one stride, or an operand has
/// no unit stride: then operands have to be transposed first.
std::optional<MatmulForm> getMatmulForm(const MatmulSpec &spec,
                                        const StridedShape &lhs,
                                        const StridedShape &rhs,
                                        const StridedShape &result);
/// The same of dense operands.
std::optional<MatmulForm> getMatmulForm(const MatmulSpec &spec,
                                        llvm::ArrayRef<int64_t> lhsShape,
                                        llvm::ArrayRef<int64_t> rhsShape,
                                        llvm::ArrayRef<int64_t> resultShape);
std::optional<MatmulForm> getMatmulForm(MatmulOp op);

/// Whether a form takes the tokens of `rows` as one run in their order, and
/// repeats nothing but `experts`, as products of such rows need it.
bool isFormOfRows(const MatmulForm &form, const MatmulSpec &spec,
                  const ExpertRows &rows, int64_t experts);

/// The letters of a product by role; every list is in the order of `lhs`, the
/// columns in that of `rhs`.
struct MatmulLetters {
  std::string batch, rows, columns, summed;
};
MatmulLetters classifyLetters(const MatmulSpec &spec);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_MATMULFORM_H
