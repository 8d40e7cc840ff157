//===- KnownMeshes.h - What is known of meshes, by mesh ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_KNOWNMESHES_H
#define PARPLAN_LIB_PLANNER_KNOWNMESHES_H

#include "parplan/Planner/UnitOracles.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>
#include <vector>

namespace parplan {

class KnownMeshes {
public:
  explicit KnownMeshes(const PlanCosts &costs) : costs(costs) {}

  std::shared_ptr<MeshKnowledge> get(const Mesh &mesh) {
    auto found = llvm::find_if(
        known, [&](const auto &entry) { return entry.first == mesh; });
    if (found != known.end())
      return found->second;
    known.emplace_back(mesh, makeMeshKnowledge(mesh, costs));
    return known.back().second;
  }

private:
  const PlanCosts &costs;
  std::vector<std::pair<Mesh, std::shared_ptr<MeshKnowledge>>> known;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_KNOWNMESHES_H
