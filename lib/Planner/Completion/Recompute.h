//===- Recompute.h - What is made again for the backward pass ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_RECOMPUTE_H
#define PARPLAN_LIB_PLANNER_RECOMPUTE_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// Per op whether it is recomputed.
///
/// * Selective: attention and what is no product, where everything it reads is
///   kept for the backward pass anyway, or recomputed.
/// * Full: all of a block that no op outside of it reads. A model without
///   equal blocks is cut into about as many parts as each part has ops, where
///   the fewest bytes cross.
std::vector<bool> getRecomputed(const PlanningProblem &problem,
                                const PlanningAnswer &answer,
                                RecomputeKind kind);

/// Makes a plan of a training step fit by recomputing as little as possible:
/// single values of the selective choice, those that cost the fewest seconds
/// per byte first, then whole blocks. False, leaving the plan as it is, where
/// all of it does not suffice.
bool recomputeUntilFits(const PlanningProblem &problem, const PlanCosts &costs,
                        PlanningAnswer &answer, int64_t limitBytes);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_RECOMPUTE_H
