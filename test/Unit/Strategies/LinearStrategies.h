//===- LinearStrategies.h - The table of strategies -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTRATEGIES_H
#define PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTRATEGIES_H

#include "LinearStep.h"
#include "Measure.h"

namespace parplan::test {

/// What the formulas of one linear are written in: the sizes of Y = X W, the
/// sizes of the axes (1 where the mesh lacks one), and elements of whole
/// matrices, padded as their layouts at rest pad them.
struct Numbers {
  int64_t m, k, n;
  int64_t p, t, x, y, z;
  int64_t X, W, Y;
  /// Of a weight that is kept in pieces: W, padded to whole pieces.
  int64_t stored;
};

struct Call {
  CollectiveKind kind;
  /// In the counting of docs/cli.md.
  int64_t size;
};
using Calls = std::vector<Call>;

constexpr CollectiveKind allReduce = CollectiveKind::allReduce;
constexpr CollectiveKind allGather = CollectiveKind::allGather;
constexpr CollectiveKind reduceScatter = CollectiveKind::reduceScatter;

/// Elements of a block of `a` elements over x ranks by `b` over y.
inline int64_t block(int64_t a, int64_t x, int64_t b, int64_t y) {
  return ceilDivide(a, x) * ceilDivide(b, y);
}

/// Elements a rank keeps. Gradients are kept as their values are.
struct AtRest {
  int64_t x, w, y;

  bool operator==(const AtRest &other) const = default;
};

/// A strategy, and what it promises in numbers.
struct LinearStrategy {
  const char *name;
  /// Letters of its axes.
  const char *axes;
  const char *x, *w, *y;
  const char *factors;
  bool gathersAgain = false;
  Calls (*forward)(const Numbers &);
  Calls (*backward)(const Numbers &);
  /// Of both together, per rank, as published.
  Fraction (*ring)(const Numbers &);
  AtRest (*atRest)(const Numbers &);
  Copies (*copies)(const Numbers &);
};

inline void PrintTo(const LinearStrategy &strategy, std::ostream *stream) {
  *stream << strategy.name;
}

std::vector<LinearStrategy> getLinearStrategies();
/// The one of this name, which exists.
LinearStrategy getLinearStrategy(llvm::StringRef name);

/// X [m, k] and W [k, n] under the strategy.
Step makeLinear(const LinearStrategy &strategy, const Mesh &mesh, int64_t m,
                int64_t k, int64_t n, bool withBackward, Random &random);

/// 2D, 2.5D and 3D: operands are gathered before products, results reduced
/// after them.
void addGathering(std::vector<LinearStrategy> &table);
/// 2D and 2.5D in loops over panels.
void addPanels(std::vector<LinearStrategy> &table);

Numbers getNumbers(const Mesh &mesh, const LinearStrategy &strategy, int64_t m,
                   int64_t k, int64_t n);

/// Sums per kind; calls of nothing are left out.
std::map<CollectiveKind, int64_t> sumByKind(const Calls &calls);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTRATEGIES_H
