//===- Masks.h - What excludes keys from an attention -----------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_MASKS_H
#define PARPLAN_PASSES_SIMPLIFY_MASKS_H

#include "passes/Simplify/Rewriter.h"

namespace parplan::simplify {

/// Collects the masks of one attention over scores [b, h, s, t] and sorts them:
/// masks that exclude nothing vanish, diagonals become `causal`, additions of 0
/// and -infinity become conditions.
class Masks {
public:
  Masks(int64_t queries, int64_t keys, bool hasSink)
      : queries(queries), keys(keys), hasSink(hasSink) {}

  /// Keys are visible where `condition` is true (false, if `isNegated`).
  void addCondition(mlir::Value condition, bool isNegated = false);

  /// A term of the scores, which may be scaled after it.
  void addTerm(mlir::Value term, bool isScaled = false);

  /// select(condition, scores, number); `isNegated` with exchanged branches.
  /// False if the number would not hide the score that it replaces.
  bool addReplacement(mlir::Value condition, double number, bool isNegated);

  /// When all masks are known: finite numbers count as excluding where another
  /// key of the row is visible beside all conditions, or a sink is. Elsewhere
  /// they average. Terms that only the input knows may hide that key as well:
  /// queries for which they do, those of padding, are undefined. False if
  /// attention cannot express that. Comes before `build`.
  bool resolve();

  /// Key j is visible only where j <= i + offset.
  void addDiagonal(int64_t offset);

  bool isCausal() const { return diagonal.has_value(); }
  int64_t getOffset() const { return *diagonal; }
  /// True when a term is left that is no condition: scores must not be scaled
  /// after it.
  bool hasTerms() const { return !terms.empty(); }

  /// The mask operand of attention for what is not causal, or null.
  mlir::Value build(mlir::Type scores, Rewriter &rewriter) const;

private:
  struct Condition {
    mlir::Value value;
    bool isNegated;
  };
  /// What `function` excludes of [.., s, t], as far as it is simple.
  bool addAffine(AffineMaskOp mask, bool isNegated);
  /// Whether the first key is visible to every query, and whether that at the
  /// query's own position is.
  struct KeysLeft {
    bool first = false, own = false;
    bool areAny() const { return first || own; }
  };
  KeysLeft findKeysLeft(mlir::Value condition, bool isNegated) const;
  /// Whether a key is visible to every query, beside a sink.
  bool leavesEveryQueryAKey() const;

  int64_t queries, keys;
  bool hasSink;
  std::optional<int64_t> diagonal;
  llvm::SmallVector<Condition, 2> conditions;
  llvm::SmallVector<mlir::Value, 1> terms;
  /// Conditions that choose between 0 and a finite number.
  struct Replacement {
    Condition condition;
    double number;
  };
  llvm::SmallVector<Replacement, 1> replacements;
  /// Finite numbers that leave every row a key, or stand beside a sink, until
  /// it is known what other masks do to it.
  struct Finite {
    Condition condition;
    KeysLeft left;
    double number;
    /// What the number is added by; null: it replaces scores.
    mlir::Value term;
    bool isScaled;
  };
  llvm::SmallVector<Finite, 1> finites;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_MASKS_H
