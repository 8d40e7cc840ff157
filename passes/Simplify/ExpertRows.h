//===- ExpertRows.h - Rows of experts, for the tokens they have -*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H

#include "passes/Simplify/Rewriter.h"

#include "dialects/parplan/TensorTypes.h"

namespace parplan::simplify {

/// Makes values [e, *t, rest..] of the experts that tokens have.
class RowBuilder {
public:
  /// `experts` are [*t, k], of so many.
  RowBuilder(mlir::Value experts, int64_t expertCount, Rewriter &rewriter)
      : experts(experts), expertCount(expertCount), rewriter(rewriter) {}

  /// [e, *t, d] of [*t, d], times `weights` [*t, k] if there are any.
  mlir::Value dispatch(mlir::Value tokens, mlir::Value weights = {});

  /// What experts have for any token, [e, rest..], so that it broadcasts to
  /// their rows: [e, *t, rest..] as a product with ones, which has rows only
  /// where a token has the expert, as a value of all experts cannot be added to
  /// such rows. [e, 1.., rest..] where tokens have all rows, and of integers,
  /// which have no products: their rows lie by expert (GroupExperts).
  mlir::Value spreadOverRows(mlir::Value value, llvm::ArrayRef<int64_t> rest);

  /// Which rows of the product `spec` of experts count: all where a token may
  /// have every expert, or where rows are not those of tokens alone.
  std::optional<ExpertRows> findRows(llvm::StringRef spec,
                                     llvm::StringRef tokenLetters) const;

  /// [*t, 1].
  mlir::Value buildOnes(mlir::Type element);

  mlir::Value getExperts() const { return experts; }
  llvm::ArrayRef<int64_t> getTokens() const {
    return getShape(experts).drop_back();
  }
  int64_t countExperts() const { return expertCount; }

private:
  /// Whether a token may have every expert.
  bool hasAllRows() const { return getShape(experts).back() >= expertCount; }

  mlir::Value experts;
  int64_t expertCount;
  Rewriter &rewriter;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> dispatched;
  llvm::DenseMap<mlir::Type, mlir::Value> ones;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H
