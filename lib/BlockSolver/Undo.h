//===- Undo.h - From answers of a reduced problem to the whole --*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_UNDO_H
#define PARPLAN_LIB_BLOCKSOLVER_UNDO_H

#include "parplan/BlockSolver/Problem.h"

#include <vector>

namespace parplan::block {

/// What became of nodes that a reduction removed, latest last. Values are named
/// by their numbers in the problem, so that nothing here goes out of date.
class Undo {
public:
  /// A neighbour of an eliminated node.
  struct Neighbour {
    int node;
    std::vector<int> ids;
    /// Values of the eliminated node fastest.
    std::vector<double> table;
  };

  /// `node` follows `leader`: value ids[i] goes with leaderIds[i].
  void addMerge(int node, int leader, std::vector<int> ids,
                std::vector<int> leaderIds);
  /// `node` takes what is best beside its neighbours.
  void addElimination(int node, std::vector<int> ids, std::vector<double> costs,
                      std::vector<Neighbour> neighbours);

  /// Fills in the nodes that are gone; `choices` has those that are left.
  void expand(Choices &choices) const;

private:
  struct Step {
    int node;
    std::vector<int> ids;
    std::vector<double> costs;
    std::vector<Neighbour> neighbours; // a merge: the leader, without table
    bool isMerge;
  };
  std::vector<Step> steps;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_UNDO_H
