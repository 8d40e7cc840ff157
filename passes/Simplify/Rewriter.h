//===- Rewriter.h - What patterns of parplan-raise build with ---*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_REWRITER_H
#define PARPLAN_PASSES_SIMPLIFY_REWRITER_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace parplan::simplify {

/// Creates ops before the op that is looked at. New ops carry the location,
/// `parplan.node` and `parplan.onnx_op` of an origin, which is that op unless
/// the pattern names another. They are looked at themselves afterwards.
class Rewriter {
public:
  explicit Rewriter(mlir::MLIRContext *context) : builder(context) {}

  void begin(mlir::Operation *op) {
    builder.setInsertionPoint(op);
    origin = op;
  }

  /// New ops stand for `op` from now on, until `begin`.
  void setOrigin(mlir::Operation *op) { origin = op; }
  /// The next op that is created is called `name` in reports.
  void setOnnxOp(llvm::StringRef name) { onnxOp = name; }

  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    mlir::OperationState state(origin->getLoc(), Op::getOperationName());
    Op::build(builder, state, std::forward<Arguments>(arguments)...);
    return llvm::cast<Op>(insert(state));
  }

  /// A copy of `op` with other operands; `type` is that of its only result.
  mlir::Operation *cloneWith(mlir::Operation *op, mlir::ValueRange operands,
                             mlir::Type type);

  mlir::Value ones(mlir::RankedTensorType type);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t start,
                    int64_t limit);

  /// `op`, which was just created, is not looked at.
  void skip(mlir::Operation *op) { llvm::erase(created, op); }
  /// Ops created since the last call, in order.
  llvm::SmallVector<mlir::Operation *> takeCreated() {
    onnxOp = {};
    return std::exchange(created, {});
  }

  /// Runs `build` right behind the definition of `value` and remembers its
  /// result under (value, key): for tables that all layers share.
  template <typename Build>
  mlir::Value shared(mlir::Value value, const std::string &key, Build build) {
    auto [entry, isNew] = tables.try_emplace({value.getAsOpaquePointer(), key});
    if (isNew) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      entry->second = build();
      keysOfShared[entry->second].push_back(entry->first);
    }
    return entry->second;
  }
  bool isShared(mlir::Value value) const {
    return keysOfShared.contains(value);
  }
  /// `replacement` is found instead of `value` from now on.
  void replaceShared(mlir::Value value, mlir::Value replacement);

  mlir::OpBuilder builder;

private:
  /// Adds the attributes that tell where the op comes from, and inserts it.
  mlir::Operation *insert(mlir::OperationState &state);

  mlir::Operation *origin = nullptr;
  llvm::StringRef onnxOp;
  llvm::SmallVector<mlir::Operation *> created;
  using TableKey = std::pair<const void *, std::string>;
  std::map<TableKey, mlir::Value> tables;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<TableKey, 1>> keysOfShared;
};

/// Erases ops without uses, from the end.
void eraseUnused(mlir::Block &block);

/// Looks at `op`; returns what replaces its only result, or null. Erases
/// nothing.
using Pattern = mlir::Value (*)(mlir::Operation *op, Rewriter &rewriter);

// Activations.cpp
mlir::Value raiseSilu(mlir::Operation *op, Rewriter &rewriter);
mlir::Value raiseGelu(mlir::Operation *op, Rewriter &rewriter);
// Norms.cpp
mlir::Value raiseNorm(mlir::Operation *op, Rewriter &rewriter);
mlir::Value absorbNormScale(mlir::Operation *op, Rewriter &rewriter);
mlir::Value absorbNormBias(mlir::Operation *op, Rewriter &rewriter);
// RotaryEmbedding.cpp
mlir::Value raiseRotation(mlir::Operation *op, Rewriter &rewriter);
mlir::Value raiseRotationOfHalves(mlir::Operation *op, Rewriter &rewriter);
mlir::Value hoistTransposeOverRope(mlir::Operation *op, Rewriter &rewriter);
// Attention.cpp
mlir::Value raiseAttention(mlir::Operation *op, Rewriter &rewriter);
mlir::Value simplifyAttention(mlir::Operation *op, Rewriter &rewriter);
// Experts.cpp
mlir::Value raiseExperts(mlir::Operation *op, Rewriter &rewriter);
/// A ranking of flattened rows as one of the rows; replaces both results.
bool unflattenChoice(mlir::Operation *op, Rewriter &rewriter);
// Shapes.cpp
mlir::Value joinLayoutOps(mlir::Operation *op, Rewriter &rewriter);
mlir::Value joinSlices(mlir::Operation *op, Rewriter &rewriter);
mlir::Value sinkReshapeBelowElementwise(mlir::Operation *op,
                                        Rewriter &rewriter);
mlir::Value hoistUnflattening(mlir::Operation *op, Rewriter &rewriter);
mlir::Value sinkReshapeBelowRows(mlir::Operation *op, Rewriter &rewriter);
// Products.cpp
mlir::Value absorbTranspose(mlir::Operation *op, Rewriter &rewriter);
mlir::Value unflattenRows(mlir::Operation *op, Rewriter &rewriter);
mlir::Value nameDimensions(mlir::Operation *op, Rewriter &rewriter);
// SlicedProducts.cpp
mlir::Value nestSlices(mlir::Operation *op, Rewriter &rewriter);
mlir::Value splitProduct(mlir::Operation *op, Rewriter &rewriter);
// Views.cpp
mlir::Value foldIntoView(mlir::Operation *op, Rewriter &rewriter);

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_REWRITER_H
