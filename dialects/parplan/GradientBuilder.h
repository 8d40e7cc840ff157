//===- GradientBuilder.h - Builds the backward of one op --------*- C++ -*-===//
//
// Part of parplan. Private to the dialect: passes call `differentiate`.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_GRADIENTBUILDER_H
#define PARPLAN_DIALECTS_PARPLAN_GRADIENTBUILDER_H

#include "dialects/parplan/ComposeHelper.h"

namespace parplan {

/// What is asked of one operand.
enum class GradientNeed {
  none,
  /// The operand depends on an input of the model.
  input,
  /// The operand comes from parameters alone.
  weight,
};

/// One gradient per operand, null where there is none or none is needed.
using OperandGradients = llvm::SmallVector<mlir::Value>;

/// Builds ops before the insertion point of `parent` and tags each with
/// `parplan.role`: "weight_gradient" if it serves gradients of weights only,
/// else "input_gradient". Which operands an op serves is said before it is
/// built: `serve`.
class GradientBuilder : public ComposeHelper {
public:
  GradientBuilder(mlir::OpBuilder &parent, mlir::Operation *forward,
                  llvm::ArrayRef<GradientNeed> needs);
  GradientBuilder(const GradientBuilder &) = delete;

  /// Is the gradient of this operand, or of any operand, wanted? False for a
  /// negative index: an optional operand that is absent.
  bool isNeeded(int operand) const;
  bool isAnyNeeded(llvm::ArrayRef<int> operands) const;

  /// From now on ops serve the gradients of these operands.
  void serve(llvm::ArrayRef<int> operands);

  /// Nulls, one per operand of the forward op.
  OperandGradients makeNone() const;

  /// Sums `gradient`, which has the shape of a broadcast of `operand`, over the
  /// dimensions in which `operand` was stretched.
  mlir::Value sumTo(mlir::Value operand, mlir::Value gradient);
  /// `value` stretched to the shape of `target`.
  mlir::Value broadcastTo(mlir::Value target, mlir::Value value);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// `value` times a constant.
  mlir::Value scale(mlir::Value value, double factor);
  mlir::Value addScalar(mlir::Value value, double term);
  /// A constant with the element type of `like`.
  mlir::Value scalarLike(mlir::Value like, double value);

  /// The default of composites: reverse mode over `decompose()`.
  OperandGradients
  differentiateParts(llvm::ArrayRef<mlir::Value> resultGradients);

  /// All ops built so far, in order.
  llvm::ArrayRef<mlir::Operation *> getMade() const { return listener.made; }

private:
  struct RoleListener : mlir::OpBuilder::Listener {
    void notifyOperationInserted(mlir::Operation *op,
                                 mlir::OpBuilder::InsertPoint from) override;
    mlir::OpBuilder::Listener *parent = nullptr;
    mlir::StringAttr role;
    llvm::SmallVector<mlir::Operation *> made;
  };

  mlir::Operation *forward;
  llvm::SmallVector<GradientNeed> needs;
  RoleListener listener;
  mlir::OpBuilder builder;
};

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_GRADIENTBUILDER_H
