//===- StageAssignment.h - Which op is in which stage -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGEASSIGNMENT_H
#define PARPLAN_LIB_PLANNER_STAGEASSIGNMENT_H

#include "lib/Planner/Evaluation/Execution.h"

namespace parplan {

/// What a model is cut between: the ops of the forward pass, in program order.
/// The loss is one unit. Without a unit are
/// * ops that are made again wherever they are read: of inputs, constants and
///   small frozen parameters alone, and cheaper than a message (masks,
///   positions);
/// * ops of parameters alone, which are where these are read;
/// * all others, which follow.
struct StageUnits {
  std::vector<std::vector<int>> units;
  /// Per op, -1: none.
  std::vector<int> ofOp;

  int getCount() const { return static_cast<int>(units.size()); }
};

StageUnits getStageUnits(const PlanningProblem &problem,
                         const PlanningAnswer &answer, const PlanCosts &costs);

/// The stages of all ops, from ascending ones of the units:
/// * gradients are where their forward op is, and sums of them in the first
///   stage that adds;
/// * what is read in several stages and has no unit is in all of them (-1), as
///   is what combines several stages once per step;
/// * updates are in the first stage that reads their parameter.
std::vector<int> spreadStages(const PlanningProblem &problem,
                              const StageUnits &units,
                              llvm::ArrayRef<int> stageOfUnit);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGEASSIGNMENT_H
