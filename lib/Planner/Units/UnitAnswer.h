//===- UnitAnswer.h - From plans of units to a plan -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITANSWER_H
#define PARPLAN_LIB_PLANNER_UNITANSWER_H

#include "UnitOracle.h"

namespace parplan {

/// Joins plans of units to one of all ops. `plans` in the order of the units.
class UnitAnswer {
public:
  UnitAnswer(const PlanningProblem &problem, const StepUnits &units,
             const UnitSample &sample, const UnitTables &tables,
             const PlanSpace &space, const PlanCosts &costs);

  void add(int unit, const BlockPlan &plan, const UnitOracle &oracle,
           const UnitRemaking &remaking);
  /// Completes what no unit decides.
  PlanningAnswer finish();

private:
  void addOp(int op, llvm::ArrayRef<FactorAssignment> assignments);

  const PlanningProblem &problem;
  const StepUnits &units;
  const UnitSample &sample;
  const UnitTables &tables;
  const PlanSpace &space;
  const PlanCosts &costs;
  ReshardCache reshards;
  PlanningAnswer answer;
  std::vector<bool> isPlaced;
  /// Sums of what another unit answers for, and what they are in the sample.
  std::vector<std::pair<int, int>> sums;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITANSWER_H
