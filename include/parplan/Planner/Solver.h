//===- Solver.h - The exact solver ------------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SOLVER_H
#define PARPLAN_PLANNER_SOLVER_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanResult.h"

namespace parplan {

/// The best plan over every mesh of data by tensor axes that the request
/// allows, and every layout per op and value of Candidates.h. Per mesh a cost
/// network is minimised exactly; where its best plan exceeds the memory limit,
/// a plan that fits is found by pricing memory, and the faster ones are visited
/// in ascending order of time until one fits or none is left.
PlanResult solve(const PlanningProblem &problem, const PlanRequest &request,
                 const PlanCosts &costs);

/// `solve`, and where memory decided over a training step: what is fastest with
/// more of it, with copies gathered again for the backward pass until it fits,
/// if that is better (S15). Within the time budget of the request.
PlanResult solveGatheringAgain(const PlanningProblem &problem,
                               const PlanRequest &request,
                               const PlanCosts &costs);

/// Where no other plan fits: the fastest that was found of those that cut the
/// model into stages, make activations again for the backward pass and have
/// values on other tiers, as far as the request leaves that open. They are not
/// compared with all others, so that `exact` is false; the lower bound is that
/// of all of them.
PlanResult findLastResort(const PlanningProblem &problem,
                          const PlanRequest &request, const PlanCosts &costs);

/// `updatesOnHost`, of joint searches alone: updates may run on the host.
/// Where nothing else fits, `lastResorts` cut the model into stages, make
/// values again and have them on other tiers, as far as a request leaves that
/// open.
enum class SearchEffort { usual, updatesOnHost, lastResorts };

/// `solveGatheringAgain` or `findLastResort`.
PlanResult searchPlan(const PlanningProblem &problem,
                      const PlanRequest &request, const PlanCosts &costs,
                      SearchEffort effort);

/// Seconds that every plan takes that `searchPlan` could find: its ops alone. 0
/// where the time budget does not suffice to find that.
double getLeastSeconds(const PlanningProblem &problem,
                       const PlanRequest &request, const PlanCosts &costs,
                       SearchEffort effort);

/// The same as `solve` by trying every combination: the oracle of the tests.
/// Only for a few ops.
PlanResult solveByExhaustion(const PlanningProblem &problem,
                             const PlanRequest &request,
                             const PlanCosts &costs);

} // namespace parplan

#endif // PARPLAN_PLANNER_SOLVER_H
