//===- LaunchBuilder.h - What lowerings of launches share -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_LAUNCHBUILDER_H
#define PARPLAN_PASSES_SCHEDULE_LAUNCHBUILDER_H

#include "parplan/Support/Sizes.h"

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/Origins.h"
#include "passes/Schedule/Placement.h"

namespace parplan {

/// A tensor seen as [outer][length][inner].
struct Rows {
  int64_t outer, length, inner;
};

/// Rows along the dimensions [first, end).
inline Rows getRows(llvm::ArrayRef<int64_t> shape, size_t first, size_t end) {
  return {multiplySizes(shape.take_front(first)),
          multiplySizes(shape.slice(first, end - first)),
          multiplySizes(shape.drop_front(end))};
}

/// Appends the statements of one op.
class LaunchBuilder {
public:
  LaunchBuilder(mlir::Operation *op, Placement &placement)
      : op(op), placement(placement), builder(placement.getStatements()),
        location(op->getLoc()) {}

protected:
  mlir::Value get(mlir::Value tensor) const {
    return tensor ? placement.lookup(tensor) : mlir::Value();
  }

  exec::CostAttr getCost() {
    auto rules = mlir::cast<ShardingRuleOpInterface>(op);
    llvm::SmallVector<int64_t> sizes;
    for (const auto &factor : rules.getShardingRule().factors)
      sizes.push_back(factor.size);
    return exec::CostAttr::get(
        builder.getContext(),
        mlir::cast<CostOpInterface>(op).getLocalCost(sizes));
  }

  llvm::LogicalResult done(mlir::Operation *statement) {
    mlir::Operation *origins[] = {op};
    setOrigins(statement, origins);
    return mlir::success();
  }

  /// Kernels that compute exist for these types.
  llvm::LogicalResult requireFloat(mlir::Value value) {
    mlir::Type type = getTensorType(value).getElementType();
    return type.isF32() || type.isF64() ? mlir::success() : rejectType(type);
  }
  /// Others widen 16-bit elements where they read them.
  llvm::LogicalResult requireAnyFloat(mlir::Value value) {
    mlir::Type type = getTensorType(value).getElementType();
    return type.isF32() || type.isF64() || exec::isNarrow(type)
               ? mlir::success()
               : rejectType(type);
  }
  llvm::LogicalResult rejectType(mlir::Type type) {
    return op->emitOpError("has no kernel for elements of type ") << type;
  }

  mlir::IntegerAttr integer(int64_t value) {
    return builder.getI64IntegerAttr(value);
  }
  mlir::UnitAttr flag(bool value) {
    return value ? builder.getUnitAttr() : mlir::UnitAttr();
  }

  template <typename Range> mlir::DenseI64ArrayAttr list(const Range &values) {
    return builder.getDenseI64ArrayAttr(
        llvm::SmallVector<int64_t>(values.begin(), values.end()));
  }
  mlir::DenseI64ArrayAttr list(std::initializer_list<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  }

  /// Every second entry, from `first`.
  mlir::DenseI64ArrayAttr everySecond(llvm::ArrayRef<int64_t> values,
                                      size_t first) {
    llvm::SmallVector<int64_t> result;
    for (size_t index = first; index < values.size(); index += 2)
      result.push_back(values[index]);
    return list(result);
  }

  static int64_t getElementBytes(mlir::Value buffer) {
    return exec::getStorageBytes(exec::getBufferType(buffer).getElementType());
  }

  mlir::Operation *op;
  Placement &placement;
  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// Appends the statements of ops of a mixture of experts.
llvm::LogicalResult lowerExperts(mlir::Operation *op, Placement &placement);

/// Appends the statements of ops that only training steps have.
llvm::LogicalResult lowerTraining(mlir::Operation *op, Placement &placement);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_LAUNCHBUILDER_H
