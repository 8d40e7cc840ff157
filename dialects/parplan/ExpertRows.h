//===- ExpertRows.h - Products of the rows that experts have ----*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H
#define PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// Factors of rules: the rows and the experts of one group. They stay together.
inline constexpr llvm::StringLiteral rowsOfGroups = "group_rows",
                                     expertsOfGroups = "group_experts";

/// The rows of a product, whole or in panels, that count; none where all do.
template <typename Product> std::optional<ExpertRows> readRows(Product op) {
  if (!op.getExperts() || !op.getTokens() || !op.getExpertCount())
    return std::nullopt;
  return ExpertRows{op.getExperts(), op.getFirstExpert(), *op.getTokens(),
                    static_cast<int64_t>(*op.getExpertCount()),
                    ExpertGroups::read(op.getGroups())};
}

/// What `rows` are as attributes of an op: tokens, experts in all, groups; null
/// for none.
std::tuple<mlir::StringAttr, mlir::IntegerAttr, mlir::DenseI64ArrayAttr>
getRowAttributes(mlir::OpBuilder &builder,
                 const std::optional<ExpertRows> &rows);

/// Whether products of `rows` can run in panels of `letter`: tokens stay where
/// their choices are, and the letter is alone in its role, because such
/// products repeat nothing but experts.
bool canBePanels(llvm::StringRef letter, const MatmulSpec &spec,
                 const ExpertRows &rows);

/// Reports groups [experts, rows] that are no such pair, or leave a token with
/// `choices` experts without a row for one, or that `rowCount` rows do not
/// fill.
llvm::LogicalResult verifyGroups(std::optional<mlir::Location> location,
                                 std::optional<llvm::ArrayRef<int64_t>> groups,
                                 int64_t choices, int64_t rowCount);

/// Reports `rows`, those of `op` if it has any, that do not fit a product of
/// the letters `spec` with the left operand `lhs`.
llvm::LogicalResult verifyRows(mlir::Operation *op, const MatmulSpec &spec,
                               mlir::Value lhs,
                               const std::optional<ExpertRows> &rows);

/// Reports the rows of a product, or what it has of them without the rest.
template <typename Product>
llvm::LogicalResult verifyRows(Product op, const MatmulSpec &spec) {
  // As a pair; the rest is said of the rows.
  if (failed(verifyGroups(op.getLoc(), op.getGroups(), /*choices=*/1,
                          /*rowCount=*/0)))
    return mlir::failure();
  bool isWhole = readRows(op).has_value();
  if (!isWhole && (op.getExperts() || op.getFirstExpert() || op.getTokens() ||
                   op.getExpertCount() || op.getGroups()))
    return op.emitOpError("has some of experts, tokens and the number of all "
                          "experts, and not the others");
  return verifyRows(op, spec, op.getLhs(), readRows(op));
}

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_EXPERTROWS_H
