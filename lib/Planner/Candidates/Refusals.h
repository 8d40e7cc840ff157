//===- Refusals.h - Why a request cannot be met -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_REFUSALS_H
#define PARPLAN_LIB_PLANNER_REFUSALS_H

#include "parplan/Planner/PlanRequest.h"

namespace parplan {

/// `dp0=2 tp0=2`, or `one device`.
std::string describeMesh(const Mesh &mesh);

/// What no mesh of one position can do, with the nearest that is possible: more
/// ranks of experts than there are experts, context axes without a sequence,
/// sizes that do not multiply to the devices.
std::optional<std::string> findImpossibleSizes(const PlanningProblem &problem,
                                               const PlanRequest &request);

/// What this mesh cannot do.
std::optional<std::string>
findImpossibleOnMesh(const PlanningProblem &problem, const PlanRequest &request,
                     const Mesh &mesh,
                     llvm::ArrayRef<std::vector<FactorAssignment>> allowed);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_REFUSALS_H
