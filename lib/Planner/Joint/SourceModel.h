//===- SourceModel.h - One mesh of a model, for a search --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SOURCEMODEL_H
#define PARPLAN_LIB_PLANNER_SOURCEMODEL_H

#include "SourceStep.h"
#include "lib/Planner/Units/KnownMeshes.h"

#include "parplan/Planner/UnitOracles.h"

#include <memory>

namespace parplan {

/// Oracles on one mesh, and plans on it as the evaluator sees them.
class SourceModel : public SpaceModel {
public:
  SourceModel(SourceStep &step, int64_t positions, const PlanSpace &space,
              const PlanRequest &request, const PlanCosts &costs,
              KnownMeshes &meshes);

  const std::shared_ptr<UnitOracles> &getOracles() const { return oracles; }

  std::vector<SearchUnit> getUnits() override { return oracles->getUnits(); }
  void forget() override { oracles->forget(); }
  double getFixedBytes() const override { return oracles->getFixedBytes(); }
  std::vector<BlockPlan> agree(std::vector<BlockPlan> plans,
                               llvm::ArrayRef<Weights> weights) override {
    return oracles->agree(std::move(plans), weights);
  }
  double getLatency(int instance, int state) const override;
  JudgedPlan judge(const std::vector<BlockPlan> &plans,
                   const StageChoice &stages, double limitBytes) override;

private:
  void addStages(PlanningAnswer &answer, const StageChoice &choice) const;
  void shiftAxes(PlanningAnswer &answer) const;

  SourceStep &step;
  Mesh mesh;
  int64_t positions;
  PlanRequest request;
  const PlanCosts &costs;
  /// Whoever prepares them in the background has them, too.
  std::shared_ptr<UnitOracles> oracles;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SOURCEMODEL_H
