//===- Frontier.h - What is left of all configurations ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_FRONTIER_H
#define PARPLAN_LIB_PLANNER_FRONTIER_H

#include "ConfigurationBounds.h"

#include "parplan/Planner/SpaceSearch.h"

#include <limits>
#include <set>
#include <utility>
#include <vector>

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
  };
  /// By bound, then in the order of the source.
  using NodeSet = std::set<std::pair<double, size_t>>;

  /// Opens it where it is possible.
  void add(Node node);

  const Node &operator[](size_t number) const { return nodes[number]; }
  const NodeSet &getOpen() const { return open; }
  /// Of what is open; infinity: nothing is.
  double getLeastOpen() const;
  void take(size_t number);
  /// Of what is below the cutoff the best one and, where its state is all that
  /// it needs, others that may be raised or planned at the same time: all that
  /// the same few states have among the best, or, below infinity, one of each.
  /// A state has plans or bounds to look for. How many does not depend on
  /// threads.
  std::vector<size_t> takeBest(double cutoff);
  /// Of one that is taken: to the next level, with what that says at least.
  /// Several may be raised at the same time.
  void raise(size_t number, double bound);
  void giveBack(size_t number);
  /// Of one that is taken: whatever it has takes at least so long. `isCutOff`:
  /// nobody looked for its plan.
  void close(double bound, size_t number, bool isCutOff);

  /// What everything takes at least beside a plan of `planSeconds`, and whose
  /// bound it is; null: that of the plan.
  struct LeastBound {
    double seconds;
    const Configuration *of;
  };
  LeastBound getLeastBound(double planSeconds) const;
  /// Whose plan nobody looked for.
  int64_t getPrunedCount() const {
    return cutOff + static_cast<int64_t>(open.size());
  }

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
