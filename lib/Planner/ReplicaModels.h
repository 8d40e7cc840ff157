//===- ReplicaModels.h - What one of several replicas costs -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// Data axes split samples, wherever there are any, and store what has none. So
// of what has samples a plan costs what its replica does on the tensor axes
// alone; parameters, their gradients and updates cost something beside that.
// All meshes with the same tensor axes share the costs of a replica by its
// samples in a micro-batch: there are few of them, and they are small.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_REPLICAMODELS_H
#define PARPLAN_LIB_PLANNER_REPLICAMODELS_H

#include "KnownMeshes.h"
#include "SourceStep.h"

#include <memory>
#include <vector>

namespace parplan {

/// The oracles of replicas, each made once.
class ReplicaModels {
public:
  ReplicaModels(const PlanCosts &costs, KnownMeshes &meshes)
      : costs(costs), meshes(meshes) {}

  /// True if nothing but data axes and tensor axes is on a mesh.
  static bool isPossible(const Mesh &mesh);

  /// The bounds of `space` for a step that has samples. `ofReplica` is a step
  /// with the samples of a replica in each micro-batch, or of several: then one
  /// share of them counts. `request` is that of one position. Null: there is no
  /// plan, or `isOfKnown` and its oracles are not made. Steps stay.
  std::unique_ptr<SpaceModel> make(const SourceStep &step,
                                   const SourceStep &ofReplica,
                                   const PlanRequest &request,
                                   const PlanSpace &space, bool isOfKnown);

private:
  struct Replica {
    const SourceStep *step;
    PlanSpace space;
    /// Null: there is no plan.
    std::shared_ptr<UnitOracles> oracles;
  };

  std::shared_ptr<UnitOracles> getOracles(const SourceStep &step,
                                          const PlanRequest &request,
                                          PlanSpace space, bool isOfKnown);

  const PlanCosts &costs;
  KnownMeshes &meshes;
  std::vector<Replica> replicas;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_REPLICAMODELS_H
