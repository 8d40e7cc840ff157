//===- Network.h - A problem that is being reduced --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_NETWORK_H
#define PARPLAN_LIB_BLOCKSOLVER_NETWORK_H

#include "lib/BlockSolver/Undo.h"
#include "parplan/BlockSolver/Problem.h"

#include <unordered_map>
#include <vector>

namespace parplan::block {

/// Whether sums of costs are exact, and by how much they may be wrong if not.
///
/// Multiples of a power of two add up exactly while sums stay below 2^53 times
/// it, and all sums do if the largest costs of all nodes and edges together do.
/// So it is for whole numbers, since problems have no more than that.
class CostPrecision {
public:
  CostPrecision() = default;
  explicit CostPrecision(const Problem &problem);

  /// That the cost of an answer went through so many additions.
  void addRoundings(int64_t count) { roundings += count; }

  /// By how much the cost of an answer may be wrong.
  double getError() const;

private:
  /// Divides all costs.
  double unit = 0;
  /// Sum of the magnitudes of the largest costs of all nodes and edges.
  double sum = 0;
  int64_t roundings = 0;
};

/// A problem whose nodes, values, edges and times become fewer, while its
/// minimum stays the same. Times are numbered from 0 to `base.size()`.
///
/// Invariants: no two edges join the same nodes, none joins a node with itself;
/// usages of spans are not negative; what an answer of the network stands for
/// is what `undo` makes of the values' `ids`.
struct Network {
  /// Times [begin, end) at which the values of a node take memory.
  struct Span {
    int begin = 0;
    int end = 0;
  };

  struct Node {
    bool isAlive = true;
    /// The values by their numbers in the problem.
    std::vector<int> ids;
    std::vector<double> costs;
    /// May overlap unless `isDisjoint`; then they are in order.
    std::vector<Span> spans;
    /// Spans times values, values fastest.
    std::vector<int64_t> usages;
    bool isDisjoint = true;
    /// Edges, dead ones among them.
    std::vector<int> edges;

    int size() const { return static_cast<int>(ids.size()); }
  };

  struct Edge {
    bool isAlive = true;
    /// Not changed since `normaliseEdge`.
    bool isNormal = false;
    int first = 0;
    int second = 0;
    std::vector<double> table; // values of second fastest

    int getOther(int node) const { return node == first ? second : first; }
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  double constant = 0;
  /// What every answer takes at a time, as the difference to the time before.
  std::vector<int64_t> baseChanges;
  /// Names of times that stay when times are dropped.
  std::vector<int> timeIds;
  /// By id: the time that took over from one that went, or -1.
  std::vector<int> timeHeirs;
  int64_t limit = 0;
  /// No answer fits.
  bool isInfeasible = false;
  CostPrecision precision;
  Undo undo;

  explicit Network(const Problem &problem);

  int getTimeCount() const { return static_cast<int>(timeIds.size()); }
  /// What every answer takes, by time.
  std::vector<int64_t> getBase() const;
  /// Living edges of a node; forgets the dead ones.
  const std::vector<int> &getEdges(int node);
  /// The edge of two nodes, or -1.
  int findEdge(int first, int second) const;
  /// Entry of a table seen from one of its nodes.
  double getCost(const Edge &edge, int node, int value, int otherValue) const {
    return node == edge.first
               ? edge.table[value * nodes[edge.second].ids.size() + otherValue]
               : edge.table[otherValue * nodes[edge.second].ids.size() + value];
  }
  /// Adds a table, values of `second` fastest, to the edge of two nodes, which
  /// is made if there is none. Returns it.
  int addTable(int first, int second, std::vector<double> table);
  void removeEdge(int edge);
  /// Keeps the values whose flag is set; tables and usages follow.
  void keepValues(int node, const std::vector<char> &isKept);
  /// Moves what all values of the spans take to the base, and drops spans that
  /// take nothing then.
  void subtractLeastUsages(int node);

private:
  static uint64_t getKey(int first, int second) {
    return (static_cast<uint64_t>(std::min(first, second)) << 32) |
           static_cast<uint32_t>(std::max(first, second));
  }
  std::unordered_map<uint64_t, int> edgeOfPair;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_NETWORK_H
