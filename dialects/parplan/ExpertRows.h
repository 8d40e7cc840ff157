//===- ExpertRows.h - Products of the rows that experts have ----*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H
#define PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// The rows of a product, whole or in panels, that count; none where all do.
template <typename Product> std::optional<ExpertRows> readRows(Product op) {
  if (!op.getExperts() || !op.getTokens() || !op.getExpertCount())
    return std::nullopt;
  return ExpertRows{op.getExperts(), op.getFirstExpert(), *op.getTokens(),
                    static_cast<int64_t>(*op.getExpertCount())};
}

/// What `rows` are as attributes of an op; null for none.
std::pair<mlir::StringAttr, mlir::IntegerAttr>
getRowAttributes(mlir::OpBuilder &builder,
                 const std::optional<ExpertRows> &rows);

/// Whether products of `rows` can run in panels of `letter`: tokens stay where
/// their choices are, and the letter is alone in its role, because such
/// products repeat nothing but experts.
bool canBePanels(llvm::StringRef letter, const MatmulSpec &spec,
                 const ExpertRows &rows);

/// Reports `rows`, those of `op` if it has any, that do not fit a product of
/// the letters `spec` with the left operand `lhs`.
llvm::LogicalResult verifyRows(mlir::Operation *op, const MatmulSpec &spec,
                               mlir::Value lhs,
                               const std::optional<ExpertRows> &rows);

/// Reports the rows of a product, or what it has of them without the rest.
template <typename Product>
llvm::LogicalResult verifyRows(Product op, const MatmulSpec &spec) {
  bool isWhole = readRows(op).has_value();
  if (!isWhole && (op.getExperts() || op.getFirstExpert() || op.getTokens() ||
                   op.getExpertCount()))
    return op.emitOpError("has some of experts, tokens and the number of all "
                          "experts, and not the others");
  return verifyRows(op, spec, op.getLhs(), readRows(op));
}

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H
