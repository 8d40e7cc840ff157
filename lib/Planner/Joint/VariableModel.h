//===- VariableModel.h - What variables make of a space ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// Ops are connected by activations and by variables: parameters, gradients and
// states. Without the former, what is left falls apart into small trees: what
// storing variables in pieces, gathering them and reducing gradients costs.
// With what ops take at least that bounds meshes whose memory does not hold a
// model otherwise. What passes keep is left out.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VARIABLEMODEL_H
#define PARPLAN_LIB_PLANNER_VARIABLEMODEL_H

#include "parplan/Planner/SearchModel.h"
#include "parplan/Planner/UnitOracles.h"

#include <memory>
#include <vector>

namespace parplan {

/// Bounds of the seconds and of the permanent bytes of a space. It has no
/// plans.
class VariableModel : public SpaceModel {
public:
  /// Not refused.
  explicit VariableModel(std::shared_ptr<UnitOracles> oracles);
  ~VariableModel() override;

  std::vector<SearchUnit> getUnits() override { return units; }
  double getFixedBytes() const override { return oracles->getFixedBytes(); }
  double getLatency(int /*instance*/, int /*state*/) const override {
    return 0;
  }
  JudgedPlan judge(const std::vector<BlockPlan> &plans,
                   const StageChoice &stages, double limitBytes) override;

private:
  class Oracle;

  std::shared_ptr<UnitOracles> oracles;
  std::vector<std::unique_ptr<Oracle>> owned;
  std::vector<SearchUnit> units;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VARIABLEMODEL_H
