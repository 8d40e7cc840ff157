//===- VerifyServers.h - Legality of plans with servers ---------*- C++ -*-===//
//
// Part of parplan. Private to the planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VERIFYSERVERS_H
#define PARPLAN_LIB_PLANNER_VERIFYSERVERS_H

#include "parplan/Planner/PlanningAnswer.h"

#include <string>
#include <vector>

namespace parplan {

/// P17, of answers without servers, too. Appends what is violated.
void verifyServersMesh(const PlanningAnswer &answer,
                       std::vector<std::string> &problems);

/// P18, of an answer with servers whose shardings and assignments are legal.
void verifyServed(const PlanningProblem &problem, const PlanningAnswer &answer,
                  std::vector<std::string> &problems);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VERIFYSERVERS_H
