//===- InnerBytes.h - What an op holds while it runs ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_INNERBYTES_H
#define PARPLAN_PLANNER_INNERBYTES_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// What a rank holds besides operands and results while an op runs: the slots
/// of a loop over panels; of an op whose coupled factors carry axes, and which
/// is decomposed for that, what it makes of its first operand before it
/// reduces.
int64_t getInnerBytes(const PlanningProblem &problem, const PlanningOp &op,
                      const FactorAssignment &assignment, const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_PLANNER_INNERBYTES_H
