//===- StepUnits.h - A step as a row of units -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_STEPUNITS_H
#define PARPLAN_PLANNER_STEPUNITS_H

#include "parplan/Planner/BlockOracle.h"
#include "parplan/Planner/Folding.h"
#include "parplan/Planner/Solver.h"

#include <memory>

namespace parplan {

/// The units of a problem on one mesh (of one position of a pipeline) and for
/// one number of micro-batches, in the order of the forward pass: the boundary
/// behind one is that before the next. Equal units share an oracle.
///
///   before | block | block | ... | between | block | ... | behind
class StepUnits {
public:
  struct Unit {
    /// The number of its oracle.
    int oracle = 0;
    /// The block of the folding, or -1.
    int block = -1;
    /// Forward ops, in program order.
    std::vector<int> ops;
  };

  /// `costs` outlives the units; all else is copied or kept by value.
  StepUnits(const PlanningProblem &problem, const Folding &folding,
            const PlanRequest &request, const PlanSpace &space,
            const PlanCosts &costs);
  ~StepUnits();

  const std::vector<Unit> &getUnits() const;
  int getOracleCount() const;
  BlockOracle &getOracle(int number);

  /// Why there are no units: the request cannot be met on the mesh. Nothing
  /// else may be asked then.
  std::optional<std::string> getRefusal() const;

  /// The whole plan on one position, from a plan per unit whose boundaries fit.
  /// What belongs to no unit (what combines several of them once per step) is
  /// chosen for the fewest seconds. Stages, schedule and tiers are the
  /// caller's.
  PlanningAnswer getAnswer(llvm::ArrayRef<const BlockPlan *> plans) const;

  /// Per op of the problem its unit; -1: of none.
  const std::vector<int> &getUnitOfOp() const;

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_STEPUNITS_H
