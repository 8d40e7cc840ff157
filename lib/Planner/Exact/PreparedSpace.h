//===- PreparedSpace.h - The fastest layouts of one mesh --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PREPAREDSPACE_H
#define PARPLAN_LIB_PLANNER_PREPAREDSPACE_H

#include "MeshProblem.h"
#include "PricedMemory.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace parplan {

/// What the exact search knows of a space before it looks at memory. Problem,
/// request, space and costs stay.
struct PreparedSpace {
  /// Why there is no plan; nothing else is known then.
  std::optional<std::string> refusal;
  /// Seconds of the ops themselves that every plan on the mesh takes: changes
  /// of layout left out.
  double computeBound = 0;
  /// What updates take at most, where the host may do them.
  double mostOptimizerSeconds = 0;
  /// Null: not looked at.
  std::unique_ptr<MeshProblem> problem;
  /// More than 0: parameters alone need so much, which is more than there is.
  int64_t excessiveBytes = 0;
  /// Nothing: not looked at, somebody stopped the search, or the problem is too
  /// rich or has excessive bytes.
  std::optional<Minimum> fastest;
};

/// Nothing is looked at whose ops alone take `mostSeconds`, unless these are
/// infinite: why a space has no plan is to be said then.
PreparedSpace prepareSpace(const PlanningProblem &problem,
                           const PlanRequest &request, const PlanSpace &space,
                           const PlanCosts &costs, double mostSeconds);

/// Seconds that every plan of a request takes at least: its ops alone. 0 where
/// that takes longer to find than until `deadline`.
double getLeastSeconds(const PlanningProblem &problem,
                       const PlanRequest &request, const PlanCosts &costs,
                       std::chrono::steady_clock::time_point deadline);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PREPAREDSPACE_H
