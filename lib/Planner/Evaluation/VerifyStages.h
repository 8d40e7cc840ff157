//===- VerifyStages.h - Legality of stages and tiers ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VERIFYSTAGES_H
#define PARPLAN_LIB_PLANNER_VERIFYSTAGES_H

#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// Adds what of P1 to P8 (docs/spec.md) a plan violates.
void verifyStages(const PlanningProblem &problem, const PlanningAnswer &answer,
                  std::vector<std::string> &problems);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VERIFYSTAGES_H
