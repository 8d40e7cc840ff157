//===- KernelChains.h - What element-wise kernels take in -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What passes/Schedule/FuseElementwise makes of a program, as far as a planning
// problem shows it: not that a kernel has at most so many operands and ops, nor
// that divisions cost as much as transcendental functions; and reshapes end
// chains here.
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

/// Per op how often its result may be read where the kernels that read it
/// compute it. Once: it is element-wise, and so is its one reader, which does
/// not compute it several times. `anyReads`: it only says which elements to
/// take, and element-wise ops alone read it. 0: it is written.
std::vector<int> findChainedReads(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_KERNELCHAINS_H
