//===- Families.h - Values of the op families -------------------*- C++ -*-===//
//
// Part of parplan. Private to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_INTERPRETER_FAMILIES_H
#define PARPLAN_LIB_INTERPRETER_FAMILIES_H

#include "parplan/Interpreter/Interpreter.h"

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// One op to evaluate. The evaluators below return nullopt for ops that are not
/// of their family.
struct Evaluation {
  mlir::Operation *op;
  llvm::ArrayRef<const Tensor *> operands;

  const Tensor &operand(unsigned index) const { return *operands[index]; }
  /// Zeros of the type of result `index`.
  Tensor makeResult(unsigned index = 0) const;
};

using Values = std::vector<Tensor>;
using MaybeValues = std::optional<mlir::FailureOr<Values>>;

MaybeValues evaluateCast(const Evaluation &evaluation);
MaybeValues evaluateElementwise(const Evaluation &evaluation);
MaybeValues evaluateShape(const Evaluation &evaluation);
MaybeValues evaluateIndexing(const Evaluation &evaluation);
MaybeValues evaluateReduction(const Evaluation &evaluation);
MaybeValues evaluateNorm(const Evaluation &evaluation);
MaybeValues evaluateProduct(const Evaluation &evaluation);
MaybeValues evaluateWindow(const Evaluation &evaluation);
MaybeValues evaluateAttention(const Evaluation &evaluation);
MaybeValues evaluateTraining(const Evaluation &evaluation);
MaybeValues evaluateBucket(const Evaluation &evaluation);
MaybeValues evaluateExperts(const Evaluation &evaluation);

/// What all ranks hold of a bucket of `members` with whole `values`.
Values shardBucket(llvm::ArrayRef<Tensor> values,
                   llvm::ArrayRef<MemberAttr> members,
                   mlir::RankedTensorType globalType, const Sharding &sharding,
                   const Mesh &mesh);

/// Inverse of `shardBucket`, appending to `values`; an error where replicas
/// differ (S5), or padding or what lies between members is not zero (S4).
std::optional<std::string> unshardBucket(llvm::ArrayRef<Tensor> pieces,
                                         llvm::ArrayRef<MemberAttr> members,
                                         mlir::RankedTensorType globalType,
                                         const Sharding &sharding,
                                         const Mesh &mesh, Values &values);

/// The product of blocks as `spec` describes it.
Tensor multiply(const MatmulSpec &spec, const Tensor &lhs, const Tensor &rhs,
                mlir::RankedTensorType type);

/// The product of the rows that count, of `type`; a null `first` is 0.
Tensor multiplyRows(const ExpertRows &rows, const MatmulSpec &spec,
                    const Tensor &lhs, const Tensor &rhs, const Tensor &experts,
                    const Tensor *first, mlir::RankedTensorType type);

/// What all ranks hold of a product in panels. `operands` are theirs.
Values evaluatePanels(PanelMatmulOp op, const Mesh &mesh,
                      llvm::ArrayRef<const Values *> operands);

/// What all ranks hold of the results of an attention in a ring or of its
/// gradient, by result. `operands` are theirs.
std::vector<Values> evaluateRing(mlir::Operation *op, const Mesh &mesh,
                                 llvm::ArrayRef<const Values *> operands);

/// What all ranks hold after a local move or a collective.
mlir::FailureOr<Values> evaluateMove(mlir::Operation *op, const Mesh &mesh,
                                     llvm::ArrayRef<Tensor> blocks);

} // namespace parplan

#endif // PARPLAN_LIB_INTERPRETER_FAMILIES_H
