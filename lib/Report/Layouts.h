//===- Layouts.h - Axes and shardings in documents --------------*- C++ -*-===//
//
// Part of parplan. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_REPORT_LAYOUTS_H
#define PARPLAN_REPORT_LAYOUTS_H

#include "parplan/CostModel/MemoryTier.h"
#include "parplan/Planner/PlanningProblem.h"
#include "parplan/Support/Json.h"

namespace parplan {

/// `["dp0", "tp0"]`.
Json nameAxes(llvm::ArrayRef<int> axes, const Mesh &mesh);

/// Adds `sharding` (the axes of every dimension), and where it has them
/// `partial` with `reduction`, and `stored`.
void addSharding(Json &object, const Sharding &sharding, const Mesh &mesh);

/// "hbm", "cpu" or "nvme": what documents call a tier.
std::string nameTier(MemoryTier tier);

/// Shape and sharding.
Json describeValue(const PlanningValue &value, const Sharding &sharding,
                   const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_REPORT_LAYOUTS_H
