//===- PlanCosts.h - Seconds, as the planner asks for them ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANCOSTS_H
#define PARPLAN_PLANNER_PLANCOSTS_H

#include "parplan/Planner/PlanningProblem.h"
#include "parplan/Sharding/Reshard.h"

namespace parplan {

/// Prices the parts of a plan. The planner and the evaluator know no more of a
/// machine; tests plan with costs of their own.
class PlanCosts {
public:
  virtual ~PlanCosts() = default;

  virtual double getOpSeconds(const OpCost &cost) const = 0;

  /// A collective of `bytes` (in the counting of docs/cli.md) over `axes`.
  virtual double getCollectiveSeconds(MoveKind kind, const Mesh &mesh,
                                      llvm::ArrayRef<int> axes,
                                      int64_t bytes) const = 0;

  /// A local copy that reads and writes `bytes`.
  virtual double getCopySeconds(int64_t bytes) const = 0;

  /// An op under an assignment, as often as it runs in a step.
  double getOpSeconds(const PlanningProblem &problem, const PlanningOp &op,
                      const FactorAssignment &assignment,
                      const Mesh &mesh) const;

  /// The reductions inside an op whose coupled factors carry axes, likewise.
  double getCoupledSeconds(const PlanningProblem &problem, const PlanningOp &op,
                           const FactorAssignment &assignment,
                           const Mesh &mesh) const;

  /// All moves of a path for elements of `elementBytes`.
  double getPathSeconds(const ReshardPath &path, const Mesh &mesh,
                        llvm::ArrayRef<int64_t> shape,
                        int64_t elementBytes) const;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANCOSTS_H
