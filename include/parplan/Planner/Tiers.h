//===- Tiers.h - What plans need of other tiers -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_TIERS_H
#define PARPLAN_PLANNER_TIERS_H

#include "parplan/Planner/PlanRequest.h"

namespace parplan {

/// Which tier of a request is too small for a plan.
std::optional<std::string> findSmallTier(const PlanRequest &request,
                                         const PlanEvaluation &evaluation);

} // namespace parplan

#endif // PARPLAN_PLANNER_TIERS_H
