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

Numbers getNumbers(const Mesh &mesh, const LinearStrategy &strategy, int64_t m,
                   int64_t k, int64_t n);

/// Sums per kind; calls of nothing are left out.
std::map<CollectiveKind, int64_t> sumByKind(const Calls &calls);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTRATEGIES_H
