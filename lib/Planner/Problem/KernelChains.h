//===- KernelChains.h - Ops inside of the kernels that read them -*- C++
//-*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What passes/Schedule/FuseElementwise makes of a program, as far as a planning
// problem shows it.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_KERNELCHAINS_H
#define PARPLAN_LIB_PLANNER_KERNELCHAINS_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// Replaces a parameter or a state.
bool replacesVariable(const PlanningProblem &problem, const PlanningOp &op);

/// Part of a kernel over elements.
bool isElementwise(const PlanningProblem &problem, const PlanningOp &op);

/// Only says which elements to take, each of them several times.
bool isSpread(const PlanningProblem &problem, const PlanningOp &op);

/// Whether the kernel of `into` may compute `op`, whose one reader it is.
bool isComputedInside(const PlanningProblem &problem, const PlanningOp &op,
                      const PlanningOp &into);

/// Per op whether the kernels that read it compute it: an element-wise op whose
/// one reader is element-wise, too, and does not compute it several times, or a
/// spread that element-wise ops alone read.
std::vector<bool> findChained(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_KERNELCHAINS_H
