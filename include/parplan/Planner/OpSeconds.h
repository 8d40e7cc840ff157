//===- OpSeconds.h - What each operator of a plan takes ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_OPSECONDS_H
#define PARPLAN_PLANNER_OPSECONDS_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <vector>

namespace parplan {

/// Seconds of a step, by what they are for, as in `PlanEvaluation`.
struct OpSeconds {
  double compute = 0, tensorCommunication = 0, dataCommunication = 0,
         optimizer = 0;

  double getTotal() const {
    return compute + tensorCommunication + dataCommunication + optimizer;
  }
};

/// What each op of a legal plan takes in a step, with the changes of layout in
/// front of it and behind it, as often as it runs: for every micro-batch, in
/// every stage that has it, and again where it is recomputed. Of updates on the
/// host these changes alone count; those of servers count as the part that a
/// server does.
///
/// Of a plan without a pipeline, transfers and servers the sum over all ops is
/// the time of the step. In a pipeline it is the work of all positions.
std::vector<OpSeconds> getOpSeconds(const PlanningProblem &problem,
                                    const PlanningAnswer &answer,
                                    const PlanCosts &costs);

} // namespace parplan

#endif // PARPLAN_PLANNER_OPSECONDS_H
