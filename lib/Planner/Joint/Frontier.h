//===- Frontier.h - What is left of all configurations ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_FRONTIER_H
#define PARPLAN_LIB_PLANNER_FRONTIER_H

#include "ConfigurationBounds.h"

#include "parplan/Planner/SpaceSearch.h"

#include <set>

namespace parplan {

/// All configurations of a search, with what is known of their steps. Each is
/// open, taken by who raises its bound, or closed: planned, impossible, or too
/// long. What is closed bounds what it could have been.
class Frontier {
public:
  struct Node {
    Configuration configuration;
    BoundLevel level = BoundLevel::none;
    double bound = 0;

    void raise(double next) {
      bound = std::max(bound, next);
      level = getNext(level);
    }
  };
  /// By bound, then in the order of the source.
  using NodeSet = std::set<std::pair<double, size_t>>;

  /// Opens it where it is possible.
  void add(Node node);

  Node &operator[](size_t number) { return nodes[number]; }
  const NodeSet &getOpen() const { return open; }
  /// Of what is open; infinity: nothing is.
  double getLeastOpen() const;
  /// Of what is closed; infinity: nothing is, or nothing is possible.
  double getLeastClosed() const { return closed.first; }

  void take(size_t number) { open.erase({nodes[number].bound, number}); }
  void giveBack(size_t number) { open.insert({nodes[number].bound, number}); }
  /// Of one that is taken: whatever it has takes at least so long. `isCutOff`:
  /// nobody looked for its plan.
  void close(double bound, size_t number, bool isCutOff);

  /// Fills in what the result says of bounds, beside a plan of `bestSeconds`.
  void certify(double bestSeconds,
               llvm::function_ref<std::string(const Configuration &)> describe,
               SpaceSearchResult &result) const;

private:
  std::vector<Node> nodes;
  NodeSet open;
  /// The least bound of what is closed, and whose it is.
  std::pair<double, size_t> closed = {std::numeric_limits<double>::infinity(),
                                      0};
  int64_t cutOff = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_FRONTIER_H
