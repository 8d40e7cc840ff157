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

MaybeValues evaluateElementwise(const Evaluation &evaluation);
MaybeValues evaluateShape(const Evaluation &evaluation);
MaybeValues evaluateIndexing(const Evaluation &evaluation);
MaybeValues evaluateReduction(const Evaluation &evaluation);
MaybeValues evaluateNorm(const Evaluation &evaluation);
MaybeValues evaluateProduct(const Evaluation &evaluation);
MaybeValues evaluateWindow(const Evaluation &evaluation);
MaybeValues evaluateAttention(const Evaluation &evaluation);

/// What all ranks hold after a local move or a collective.
mlir::FailureOr<Values> evaluateMove(mlir::Operation *op, const Mesh &mesh,
                                     llvm::ArrayRef<Tensor> blocks);

} // namespace parplan

#endif // PARPLAN_LIB_INTERPRETER_FAMILIES_H
