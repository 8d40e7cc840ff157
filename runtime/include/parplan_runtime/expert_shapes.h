//===- expert_shapes.h - Sizes of a mixture of experts --------------------===//
//
// Every token has `choices` experts, numbered over all ranks; a rank has
// `experts` of them, from one that kernels are given. Choices of other experts
// count for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_EXPERT_SHAPES_H
#define PARPLAN_RUNTIME_EXPERT_SHAPES_H

#include "parplan_runtime/shapes.h"

namespace parplan {
namespace runtime {

/// Values [experts, tokens, width].
struct ExpertShape {
  int64_t experts, tokens, width, choices;
};

/// A product for each expert, of the rows of tokens that have it. Tokens are
/// the m rows of `matrices`, or the k that it sums over.
struct ExpertProductShape {
  int64_t experts, choices;
  bool sumsTokens;
  int64_t strides[3];   // From expert to expert: of lhs, rhs, out.
  MatmulShape matrices; // Of one expert; no batch.

  constexpr int64_t tokens() const {
    return sumsTokens ? matrices.k : matrices.m;
  }
  /// Tokens whose rows lie side by side at a time.
  constexpr int64_t tokensAtOnce() const {
    return tokens() < 4096 ? tokens() : 4096;
  }
};

/// The workspace of a product: how many tokens every expert has (int64), their
/// numbers [experts, tokens] (int32), and two arrays of rows side by side:
/// those of lhs, [tokensAtOnce, k], and out, [tokensAtOnce, n]; where tokens
/// are summed over of lhs, [tokensAtOnce, m], and rhs, [tokensAtOnce, n].
struct ExpertProductWorkspace {
  int64_t numbersOffset, firstOffset, secondOffset, bytes;

  constexpr ExpertProductWorkspace(const ExpertProductShape &shape,
                                   int64_t elementBytes)
      : numbersOffset(align(shape.experts * 8)),
        firstOffset(numbersOffset + align(shape.experts * shape.tokens() * 4)),
        secondOffset(
            firstOffset +
            align(shape.tokensAtOnce() * elementBytes *
                  (shape.sumsTokens ? shape.matrices.m : shape.matrices.k))),
        bytes(secondOffset +
              align(shape.tokensAtOnce() * elementBytes * shape.matrices.n)) {}

private:
  static constexpr int64_t align(int64_t size) {
    return detail::roundUp(size, 256);
  }
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_EXPERT_SHAPES_H
