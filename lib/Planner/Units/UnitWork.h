//===- UnitWork.h - What passes over a unit need ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITWORK_H
#define PARPLAN_LIB_PLANNER_UNITWORK_H

#include "UnitNetwork.h"
#include "UnitRemaking.h"

#include "lib/Planner/Evaluation/PlanTables.h"

namespace parplan {

/// What lives during a pass over a unit of some kind alone, which costs of
/// units do not count: gathered operands, results on their way to rest, room
/// inside of ops. Of all units of a position only that of one pass is there.
class UnitWork {
public:
  /// All of them stay.
  UnitWork(const UnitSample &sample, int kind, const UnitTables &tables,
           const PlanSpace &space);

  /// By the evaluator, of one micro-batch over that unit: the peak of its
  /// passes without gradients of parameters, beyond what is saved.
  double getBytes(const BlockPlan &plan, const UnitVariables &variables,
                  const UnitRemaking &remaking);

private:
  PlanningAnswer getAnswer(const BlockPlan &plan,
                           const UnitVariables &variables,
                           const UnitRemaking &remaking) const;

  const UnitSample &sample;
  const UnitSample::Range range;
  const UnitTables &tables;
  const PlanSpace &space;
  /// The ops and values of the kind.
  PlanningProblem problem;
  PlanTables numbers;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITWORK_H
