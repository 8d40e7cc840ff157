//===- ExpertParts.h - What experts compute, per choice ---------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
// A *choice* is a token and one of its k experts. A value per choice has t k
// elements in its leading dimensions, numbered t-major; the others are its
// rest.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTPARTS_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTPARTS_H

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"
#include "passes/Simplify/Rewriter.h"

#include <memory>

namespace parplan::simplify {

/// Experts are not deeper than that: a walk must not wander through the model
/// that made the tokens.
inline constexpr unsigned maximumExpertDepth = 48;

/// Rows of experts that a token does not have are zero, or what is computed of
/// zeros: that, and its derivative, must be finite, for sums over tokens
/// multiply it by zero.
bool isFiniteAtZero(mlir::Operation *op);

/// How many leading dimensions of `shape` have `count` elements together;
/// nullopt if no number does.
std::optional<size_t> countLeadingDims(llvm::ArrayRef<int64_t> shape,
                                       int64_t count);

/// `value` in another shape; undoes reshapes instead of adding one.
mlir::Value toShape(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                    Rewriter &rewriter);

/// Who goes where: the experts per token.
struct Routing {
  /// [*t, k].
  mlir::Value chosen;
  /// Whether the experts of a token differ.
  bool areDistinct = false;
  /// The first op that picks weights by it.
  mlir::Operation *gather = nullptr;
  /// Sizes of the tokens as the ranking has them, [*t] of [*t, k].
  llvm::SmallVector<int64_t> tokens;
  int64_t choices, experts = 0;
};

/// A value per choice, and how it is computed.
struct Part {
  enum class Kind {
    /// A token, the same for all of its choices.
    tokens,
    /// One number per choice, computed elsewhere.
    weights,
    /// Picked by the expert of the choice.
    experts,
    /// The same for all choices.
    shared,
    /// An op on other parts.
    op
  };

  Kind kind;
  mlir::Value value;
  /// How many dimensions number the choices, and the sizes of the others.
  size_t lead = 0;
  llvm::SmallVector<int64_t> rest;
  llvm::SmallVector<Part *, 2> operands;
  /// Does it depend on the token, on the expert?
  bool hasTokens = false, hasExperts = false;
  /// Of experts: what is picked, [e, rest..].
  mlir::Value table;
  /// Of tokens: how they are repeated, and how many dimensions of the root
  /// number them.
  std::optional<Layout> layout;
  size_t tokenDims = 0;
};

/// Looks at what values per choice are made of. Creates nothing.
class ExpertMatcher {
public:
  /// `rows` choices, `choices` of them per token.
  ExpertMatcher(int64_t rows, int64_t choices) : rows(rows) {
    routing.choices = choices;
  }

  /// The parts of the answers `value`, whose `lead` first dimensions number
  /// choices: tokens go through products with what experts have. Null if that
  /// cannot be computed per expert.
  Part *matchAnswers(mlir::Value value, size_t lead);

  /// That of all parts with experts.
  const Routing &getRouting() const { return routing; }

private:
  Part *match(mlir::Value value, size_t lead, unsigned depth);
  Part *add(Part::Kind kind, mlir::Value value, size_t lead);
  Part *matchNew(mlir::Value value, size_t lead, unsigned depth);
  Part *matchGather(mlir::Value value, size_t lead);
  Part *matchOp(mlir::Value value, size_t lead, unsigned depth);
  Part *matchTokens(mlir::Value value, size_t lead, bool isRepeated);
  Part *matchElementwiseOperand(mlir::Value operand, mlir::Value result,
                                size_t lead, unsigned depth);
  Part *matchFactor(mlir::Value operand, llvm::StringRef letters,
                    llvm::StringRef leadLetters, llvm::ArrayRef<int64_t> lead,
                    unsigned depth);

  int64_t rows;
  Routing routing;
  /// Whether tokens meet what experts have in a product; whether numbers per
  /// choice are among the parts.
  bool hasProducts = false, hasWeights = false;
  std::vector<std::unique_ptr<Part>> parts;
  llvm::DenseMap<std::pair<mlir::Value, size_t>, Part *> known;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTPARTS_H
