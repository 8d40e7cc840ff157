//===- Problem.h - Choices under a limit that changes over time -*- C++ -*-===//
//
// Part of parplan. No MLIR and no files in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BLOCKSOLVER_PROBLEM_H
#define PARPLAN_BLOCKSOLVER_PROBLEM_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace parplan::block {

/// The cost of what must not be chosen.
constexpr double forbidden = std::numeric_limits<double>::infinity();

/// The largest usages of all nodes add up to less, and so do the magnitudes of
/// the largest costs of all nodes and edges: whole numbers below it are exact
/// in 64 bits, also as doubles.
constexpr int64_t largestSum = int64_t{1} << 53;

/// Something of which one value is chosen.
struct Node {
  /// Per value. Finite or `forbidden`; may be negative.
  std::vector<double> costs;
  /// Per value, not negative: what it takes at each time of [begin, end).
  std::vector<int64_t> usages;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Costs of pairs of values; several edges may join the same two nodes.
struct Edge {
  int first = 0;
  int second = 0;
  /// Values of `first` times values of `second`, those of `second` fastest.
  std::vector<double> costs;
};

/// Minimise the sum of the costs of nodes and edges, such that at no time the
/// usages of the nodes that are live then exceed the limit.
struct Problem {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  int64_t usageLimit = 0;
  /// All finite costs are multiples of this; 0: unknown. Lets a bound that is
  /// nearer to a plan than this prove it optimal, where sums are exact.
  double costStep = 0;
};

/// What is wrong with a problem, if anything: everything below relies on it.
std::optional<std::string> findFault(const Problem &problem);

/// Value numbers, one per node.
using Choices = std::vector<int>;

/// What choices cost, recomputed from the problem alone.
struct Evaluation {
  /// `forbidden` if any part is.
  double cost = 0;
  /// The highest usage at any time.
  int64_t peak = 0;
};

Evaluation evaluate(const Problem &problem, const Choices &choices);

} // namespace parplan::block

#endif // PARPLAN_BLOCKSOLVER_PROBLEM_H
