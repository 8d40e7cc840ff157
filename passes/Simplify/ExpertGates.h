//===- ExpertGates.h - What the answer of an expert is worth ----*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
// A loop over experts adds terms: the answer of expert e to all tokens, times
// one number per token, its *gate*, which is zero where the token does not have
// the expert.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTGATES_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTGATES_H

#include "passes/Simplify/Rewriter.h"

#include <optional>

namespace parplan::simplify {

/// The gate of one expert, up to its number: experts of one loop have equal
/// ones. Either the sum over the choices of a token, of the weights of those
/// choices that are the expert,
///
///   gate[t] = scales[t] sum over j of (choices[t, j] == expert) weights[t, j]
///
/// or its column of a matrix, `weights` alone: gate[t] = weights[t, expert].
struct Gate {
  /// Null for a column of a matrix.
  mlir::Value choices;
  llvm::SmallVector<mlir::Value, 2> weights;
  /// The dimension of the weights that numbers choices, or experts, and that of
  /// the choices; -1: it is the last one, or there is one choice only.
  int64_t dim = -1, choiceDim = -1;
  /// One number per token each.
  llvm::SmallVector<mlir::Value, 2> scales;

  bool operator==(const Gate &other) const = default;
};

/// One term of a sum over experts.
struct ExpertTerm {
  /// What the expert answers, to `tokens` tokens in its leading dimensions.
  mlir::Value answer;
  int64_t tokens = 0;
  /// All tokens come that often, one behind the other, once for each choice,
  /// and the term is the sum over these.
  int64_t repeats = 1;
  int64_t expert = 0;
  Gate gate;
};

/// Takes a term apart; nullopt if it has no gate.
std::optional<ExpertTerm> matchExpertTerm(mlir::Value term);

/// What decides where tokens go: experts [*t, k], which may repeat, and weights
/// [*t, k].
struct ExpertRouting {
  mlir::Value experts, weights;
  llvm::SmallVector<int64_t> tokens;
};

/// The routing of experts whose gates are the sums of `gates`, with weights of
/// type `element`.
ExpertRouting buildRouting(llvm::ArrayRef<Gate> gates, int64_t tokens,
                           mlir::Type element, Rewriter &rewriter);

/// Whether no dimension of several elements stands behind `dim`.
bool isLast(llvm::ArrayRef<int64_t> shape, int64_t dim);

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTGATES_H
