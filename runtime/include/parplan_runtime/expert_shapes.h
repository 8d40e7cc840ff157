//===- expert_shapes.h - Sizes of a mixture of experts --------------------===//
//
// Every token has `choices` experts, numbered over all ranks; a rank has
// `experts` of them, from one that kernels are given. Choices of other experts
// count for nothing.
//
// A token has a row for each of its experts (ExpertGroups); rows behind those
// are zero.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_EXPERT_SHAPES_H
#define PARPLAN_RUNTIME_EXPERT_SHAPES_H

#include "parplan_runtime/shapes.h"

namespace parplan {
namespace runtime {

/// Whether the experts of a token before `choice` are others.
template <typename Index>
PARPLAN_DEVICE bool isNewExpert(const Index *chosen, int64_t choice) {
  for (int64_t j = 0; j < choice; ++j)
    if (chosen[j] == chosen[choice])
      return false;
  return true;
}

/// How rows lie: experts in groups of `experts`, one behind the other, and of a
/// token `rows` in each, for those of its choices that are there, in their
/// order, each expert once. Experts count from the first of the rank.
struct ExpertGroups {
  int64_t experts = 1, rows = 1;

  /// The row of a token for an expert of the rank; -1: it does not have it.
  template <typename Index>
  PARPLAN_DEVICE int64_t findRow(const Index *chosen, int64_t choices,
                                 int64_t first, int64_t expert) const {
    const int64_t group = expert / experts;
    int64_t row = group * rows;
    for (int64_t j = 0; j < choices; ++j) {
      const int64_t other = static_cast<int64_t>(chosen[j]) - first;
      if (other == expert)
        return row;
      row += isIn(group, other) && isNewExpert(chosen, j);
    }
    return -1;
  }

  /// The expert that a row of a token is for; -1: none.
  template <typename Index>
  PARPLAN_DEVICE int64_t findExpert(const Index *chosen, int64_t choices,
                                    int64_t first, int64_t row) const {
    const int64_t group = row / rows;
    int64_t before = row % rows;
    for (int64_t j = 0; j < choices; ++j) {
      const int64_t expert = static_cast<int64_t>(chosen[j]) - first;
      if (isIn(group, expert) && isNewExpert(chosen, j) && before-- == 0)
        return expert;
    }
    return -1;
  }

private:
  PARPLAN_DEVICE bool isIn(int64_t group, int64_t expert) const {
    return expert >= group * experts && expert < (group + 1) * experts;
  }
};

/// Values [rows, tokens, width].
struct ExpertShape {
  int64_t rows, tokens, width, choices;
  ExpertGroups groups = {};

  PARPLAN_DEVICE constexpr int64_t experts() const {
    return rows / groups.rows * groups.experts;
  }
  /// The row of a token with the choices `chosen` for one of them; -1: it is no
  /// expert of the rank.
  template <typename Index>
  PARPLAN_DEVICE int64_t findRow(const Index *chosen, int64_t first,
                                 Index choice) const {
    const int64_t expert = static_cast<int64_t>(choice) - first;
    return expert < 0 || expert >= experts()
               ? -1
               : groups.findRow(chosen, choices, first, expert);
  }
};

/// A product for each expert, of the rows of tokens that have it. Tokens are
/// the m rows of `matrices`, or the k that it sums over.
struct ExpertProductShape {
  int64_t experts, choices;
  bool sumsTokens;
  int64_t strides[3];   // From expert, or row, to the next: of lhs, rhs, out.
  MatmulShape matrices; // Of one expert; no batch.
  ExpertGroups groups = {};

  /// Of a token.
  PARPLAN_DEVICE constexpr int64_t rows() const {
    return experts / groups.experts * groups.rows;
  }

  constexpr int64_t tokens() const {
    return sumsTokens ? matrices.k : matrices.m;
  }
  /// Whether an expert has one vector in place of a matrix, as of a bias: rows
  /// are multiples of it, or add up to it. Nothing is copied for a library, and
  /// nobody waits for counts.
  constexpr bool isOfVectors() const {
    return (sumsTokens ? matrices.m : matrices.k) == 1;
  }
  /// Tokens whose rows lie side by side at a time.
  constexpr int64_t tokensAtOnce() const {
    return tokens() < 4096 ? tokens() : 4096;
  }
};

/// The workspace of a product: how many tokens every expert has (int64), their
/// numbers of their rows, row · tokens + token, [experts, tokens] (int32), and
/// two arrays of rows side by side: those of lhs, [tokensAtOnce, k], and out,
/// [tokensAtOnce, n]; where tokens are summed over of lhs, [tokensAtOnce, m],
/// and rhs, [tokensAtOnce, n]. Vectors need none.
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
        bytes(shape.isOfVectors()
                  ? 0
                  : secondOffset + align(shape.tokensAtOnce() * elementBytes *
                                         shape.matrices.n)) {}

private:
  static constexpr int64_t align(int64_t size) {
    return detail::roundUp(size, 256);
  }
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_EXPERT_SHAPES_H
