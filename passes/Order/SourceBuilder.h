//===- SourceBuilder.h - Sources in another order ---------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_ORDER_SOURCEBUILDER_H
#define PARPLAN_PASSES_ORDER_SOURCEBUILDER_H

#include "dialects/parplan/ParplanOps.h"

#include <map>

namespace parplan::order {

/// Makes sources in the order of their readers.
class SourceBuilder {
public:
  explicit SourceBuilder(int64_t ranks) : ranks(ranks) {}

  /// `source` with the dimensions `dims` in zig-zag order.
  mlir::Value get(mlir::Value source, llvm::ArrayRef<int64_t> dims);

private:
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *op,
                    llvm::ArrayRef<int64_t> dims);
  mlir::Value buildPositions(mlir::OpBuilder &builder, mlir::Operation *origin,
                             llvm::ArrayRef<int64_t> shape, int64_t dim,
                             mlir::Type element);
  mlir::Value buildLine(mlir::OpBuilder &builder, AffineMaskOp mask, size_t dim,
                        bool isOrdered, int64_t factor, int64_t start);
  mlir::Value buildIndices(mlir::OpBuilder &builder, IotaOp iota,
                           llvm::ArrayRef<int64_t> dims);
  mlir::Value buildMask(mlir::OpBuilder &builder, AffineMaskOp mask,
                        llvm::ArrayRef<int64_t> dims);
  mlir::Value buildConstant(mlir::OpBuilder &builder, ConstantOp constant,
                            llvm::ArrayRef<int64_t> dims);

  int64_t ranks;
  std::map<std::pair<void *, std::vector<int64_t>>, mlir::Value> made;
};

} // namespace parplan::order

#endif // PARPLAN_PASSES_ORDER_SOURCEBUILDER_H
