//===- Decisions.h - Ops that are decided together --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_DECISIONS_H
#define PARPLAN_PLANNER_DECISIONS_H

#include "parplan/Planner/Candidates.h"

#include <vector>

namespace parplan {

/// An op of its own, or all ops of a group.
struct Decision {
  int leader = 0;
  /// Every op of the group, the leader too, in program order.
  llvm::SmallVector<int, 4> members;
};

struct Decisions {
  std::vector<Decision> all;
  /// Per op the number of its decision.
  std::vector<int> ofOp;
};

/// The decisions of a problem that obeys `verifyProblem`, in order of their
/// first op.
Decisions getDecisions(const PlanningProblem &problem);

/// Per decision the first one that is equal to it: what the ops of one may do
/// on any mesh, those of the other may, in their order. They may differ in
/// names and nodes.
std::vector<int> findFirstEqual(const PlanningProblem &problem,
                                const Decisions &decisions);

/// The assignments of all members that follow from one of the leader (S13), in
/// their order.
///
/// * What the leader reads or makes, the others read in the same layout, but
///   complete.
/// * A value from elsewhere of the shape of a leader's result is its gradient,
///   and lies as the result does. `pending` are axes over which it is read
///   pending by members that can.
/// * What members make, members read as it is made. It stays pending as long as
///   they are linear in it and it does not grow.
/// * A factor that is still without axes takes those of the leader's factor of
///   the same name and size.
/// * Where the leader loops over panels, members that can loop over the factor
///   of the same name and size do: all their factors take those axes.
std::vector<FactorAssignment>
inferMembers(const PlanningProblem &problem, const Decision &decision,
             const FactorAssignment &leader, llvm::ArrayRef<int> pending,
             const MeshAxes &axes, const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_PLANNER_DECISIONS_H
