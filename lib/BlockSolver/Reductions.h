//===- Reductions.h - Fewer nodes, values and times, same minimum -*- C++ -*-=//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_REDUCTIONS_H
#define PARPLAN_LIB_BLOCKSOLVER_REDUCTIONS_H

#include "lib/BlockSolver/Network.h"

#include <deque>

namespace parplan::block {

/// Nodes that changed since they were looked at, each once, oldest first.
class Worklist {
public:
  explicit Worklist(size_t nodes) : isQueued(nodes, 0) {}

  void push(int node) {
    if (!isQueued[node]) {
      isQueued[node] = 1;
      queue.push_back(node);
    }
  }
  bool empty() const { return queue.empty(); }
  int pop() {
    int node = queue.front();
    queue.pop_front();
    isQueued[node] = 0;
    return node;
  }

private:
  std::deque<int> queue;
  std::vector<char> isQueued;
};

// Every function returns whether it changed the network, and pushes the nodes
// for which something may be possible now that was not before.

/// Drops the values of a node that are not kept, at least one of them.
void dropValues(Network &network, int node, const std::vector<char> &isKept,
                Worklist &changed);

/// Drops the values of a node that cost `forbidden`. A node without values
/// makes the network infeasible.
bool removeForbidden(Network &network, int node, Worklist &changed);

/// Moves the minima of rows and columns of a table to its nodes, so that values
/// without a partner become forbidden (arc consistency), and removes the edge
/// if nothing is left in its table.
bool normaliseEdge(Network &network, int edge, Worklist &changed);

/// Makes a node follow its neighbour if every value of the neighbour allows
/// only one of it: tables and usages become the neighbour's. Not where tables
/// would grow.
bool mergeTie(Network &network, int edge, Worklist &changed);

/// Drops values for which another one costs no more whatever the neighbours
/// take, and takes no more memory at any time. Overlapping spans are compared
/// one by one, which is correct and weaker.
bool dropDominated(Network &network, int node, Worklist &changed);

/// Replaces a node without memory, of at most two neighbours, by the minimum
/// over its values; and a node of one value by what it adds.
bool eliminate(Network &network, int node, Worklist &changed);

/// Drops values that exceed the limit on their own.
bool dropOversized(Network &network, Worklist &changed);

/// Makes the spans of all nodes disjoint, and drops the times at which the
/// limit cannot be exceeded or is exceeded only if it is at a neighbouring
/// time.
bool reduceTimes(Network &network);

/// Which reductions `reduce` may use; tests take them one by one.
struct ReductionRules {
  bool canMerge = true;
  bool canDominate = true;
  bool canEliminate = true;
  bool canReduceTimes = true;
};

/// All reductions until none is possible.
void reduce(Network &network, const ReductionRules &rules = {});

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_REDUCTIONS_H
