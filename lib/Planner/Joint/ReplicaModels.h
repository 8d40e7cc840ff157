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

#include "SourceStep.h"
#include "lib/Planner/Units/KnownMeshes.h"

#include <deque>
#include <memory>
#include <utility>
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
  /// with the samples of a replica in each micro-batch. `request` is that of
  /// one position. Steps stay.
  ///
  /// A replica with fewer samples does a part of what one with more does, and
  /// parts take about as long: if `isOfKnown`, bounds follow from a replica
  /// with more samples whose oracles have been made. Null: there is none, there
  /// is no plan, or both steps are not cut into the same units.
  std::unique_ptr<SpaceModel> make(const SourceStep &step,
                                   const SourceStep &ofReplica,
                                   const PlanRequest &request,
                                   const PlanSpace &space, bool isOfKnown);

  /// Those of the replica, which `make` looks at.
  std::shared_ptr<UnitOracles> getOracles(const SourceStep &step,
                                          const SourceStep &ofReplica,
                                          const PlanRequest &request,
                                          const PlanSpace &space);
  /// The same, and whether `make` will ask them: if `isOfKnown`, one with more
  /// samples that has been begun may do.
  std::pair<std::shared_ptr<UnitOracles>, bool>
  begin(const SourceStep &step, const SourceStep &ofReplica,
        const PlanRequest &request, const PlanSpace &space, bool isOfKnown);

private:
  struct Replica {
    const SourceStep *step;
    PlanSpace space;
    std::shared_ptr<UnitOracles> oracles = nullptr;
    /// The oracles have been asked for, or will be.
    bool isMade = false, isBegun = false;
  };

  Replica &get(const SourceStep &step, const PlanRequest &request,
               PlanSpace space);
  const Replica *findLarger(const Replica &replica,
                            bool Replica::*isKnown) const;

  const PlanCosts &costs;
  KnownMeshes &meshes;
  std::deque<Replica> replicas;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_REPLICAMODELS_H
