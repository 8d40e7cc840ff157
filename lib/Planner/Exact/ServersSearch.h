//===- ServersSearch.h - The search of plans with servers -------*- C++ -*-===//
//
// Part of parplan. Private to the planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SERVERSSEARCH_H
#define PARPLAN_LIB_PLANNER_SERVERSSEARCH_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanResult.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

/// For a request with servers what `search` finds for the problem of the
/// workers, as a plan of the whole step with bounds of its time. Bytes of the
/// result are those of a worker.
PlanResult searchWorkers(
    const PlanningProblem &step, const PlanRequest &request,
    const PlanCosts &costs,
    llvm::function_ref<PlanResult(const PlanningProblem &, const PlanRequest &)>
        search);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SERVERSSEARCH_H
