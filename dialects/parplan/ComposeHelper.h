//===- ComposeHelper.h - Builds decompositions ------------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_COMPOSEHELPER_H
#define PARPLAN_DIALECTS_PARPLAN_COMPOSEHELPER_H

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// Short forms of what decompositions consist of.
class ComposeHelper {
public:
  ComposeHelper(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  template <typename Op, typename... Arguments>
  mlir::Value create(Arguments &&...arguments) {
    return builder.create<Op>(location, std::forward<Arguments>(arguments)...);
  }

  /// A constant of rank 0 with a float or integer element type.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Keeps the reduced dimensions.
  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims);
  /// Sum times 1/n with the n that `dims` have now.
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  /// f32 for floats of 16 bits, else the type itself.
  mlir::Type widen(mlir::Type element);
  /// The value itself where it has the element type.
  mlir::Value castTo(mlir::Value value, mlir::Type element);
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t start,
                    int64_t limit, int64_t step = 1);

private:
  mlir::OpBuilder &builder;
  mlir::Location location;
};

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_COMPOSEHELPER_H
