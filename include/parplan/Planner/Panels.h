//===- Panels.h - What a loop over panels moves -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PANELS_H
#define PARPLAN_PLANNER_PANELS_H

#include "parplan/CostModel/Collective.h"
#include "parplan/Planner/PlanningProblem.h"

#include <vector>

namespace parplan {

/// The sizes of the panels of an assignment with a loop (S21), in order: the
/// factor is cut at every boundary between blocks of a tensor that moves. Ten
/// columns over two ranks of one tensor and three of another are panels of
/// 4, 1, 3, 2. A ring has one panel per rank.
llvm::SmallVector<int64_t, 8> getPanelSizes(const PlanningOp &op,
                                            const FactorAssignment &assignment,
                                            const Mesh &mesh);

/// S22: what lies in zig-zag order over n ranks is a ring over n ranks, whose
/// axes are those of its queries. Other ops may do anything.
bool keepsOrder(const PlanningOp &op, const FactorAssignment &assignment,
                const Mesh &mesh);

/// Equal calls of one tensor in one run of an op.
struct PanelCall {
  CollectiveKind kind = CollectiveKind::broadcast;
  AxisList axes;
  /// In the counting of docs/cli.md.
  int64_t bytes = 0;
  int64_t count = 0;
};

/// What one run of an op with a loop communicates on every rank; empty without
/// a loop. Panels of operands are broadcast by their owners and those of
/// results reduced to them. In a ring, blocks of operands are sent on until
/// every rank had them, and those of results until they are home.
std::vector<PanelCall> getPanelCalls(const PlanningProblem &problem,
                                     const PlanningOp &op,
                                     const FactorAssignment &assignment,
                                     const Mesh &mesh);

/// What a rank holds besides operands and results while the loop runs: the
/// slots (in a ring two blocks) of every tensor that moves.
int64_t getPanelBytes(const PlanningProblem &problem, const PlanningOp &op,
                      const FactorAssignment &assignment, const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_PLANNER_PANELS_H
