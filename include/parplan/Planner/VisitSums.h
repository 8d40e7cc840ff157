//===- VisitSums.h - Gradients that are reduced once per visit --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A sum of gradients that lies in pieces (ZeRO-2) takes what every micro-batch
// contributes after a reduction of its own. In an interleaved schedule a
// position makes the gradients of a chunk for several micro-batches in a row, a
// visit (parplan/Pipeline/Visits.h): they can be added up whole, and reduced
// once at its end.
//
//                       reductions of n bytes      besides the pieces
//   per micro-batch     m                          those of two buckets
//   per visit           visits, m / g for groups   those of the whole chunk
//                       of g micro-batches
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_VISITSUMS_H
#define PARPLAN_PLANNER_VISITSUMS_H

#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// The accumulates of a plan for which that is possible and saves something.
std::vector<int> findVisitSums(const PlanningProblem &problem,
                               const PlanningAnswer &answer);

/// Per value how often in a step it is moved to where its sum lies, where that
/// is once per visit; else 0.
std::vector<int64_t> getVisitCounts(const PlanningProblem &problem,
                                    const PlanningAnswer &answer);

} // namespace parplan

#endif // PARPLAN_PLANNER_VISITSUMS_H
