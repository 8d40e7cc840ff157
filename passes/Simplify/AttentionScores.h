//===- AttentionScores.h - Softmaxes of scores ------------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_ATTENTIONSCORES_H
#define PARPLAN_PASSES_SIMPLIFY_ATTENTIONSCORES_H

#include "passes/Simplify/Masks.h"

namespace parplan::simplify {

/// The weights of an attention: a softmax of scores, with or without the guard
/// that turns rows of NaN (all keys excluded) to zeros.
struct Weights {
  SoftmaxOp softmax;
  bool isGuarded = false;
  /// What the softmax is of, but for sinks.
  mlir::Value scores = {};
  /// [1, h, 1, 1], the scores of one more key per head whose weight is not
  /// read; null for none.
  mlir::Value sink = {};
};

/// What lies between the product of queries and keys and the softmax.
struct Scores {
  MatmulOp product;
  double scale = 1;
  Masks masks;
};

/// The weights that `value` is; nullopt if it is none of an attention.
std::optional<Weights> matchWeights(mlir::Value value);

/// Walks from the scores of weights back to the product, and adds what is on
/// the way to `scores`; nullopt where attention cannot express it.
std::optional<Scores> matchScores(mlir::Value value, Scores scores);

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_ATTENTIONSCORES_H
