//===- FactorFollower.h - Batch, sequence and experts -----------*- C++ -*-===//
//
// Part of parplan. Needs no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PLAN_FACTORFOLLOWER_H
#define PARPLAN_PASSES_PLAN_FACTORFOLLOWER_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// Follows the batch and the sequence from the inputs that have them, and the
/// experts from the ops that number them, through the rules of all ops.
///
/// In: `batchDimension` and `sequenceDimension` of inputs; `expertFactor`,
/// `keyFactor` and `headFactor` of the ops that bring them in. Out: those and
/// `batchFactor`, `sequenceFactor` of every op and value.
///
/// A factor carries what an operand carries in the dimension whose major factor
/// it is: behind another factor a dimension cannot be split alone (S10). A
/// value that attention makes per key has its sequence there. A member of a
/// group whose operands carry nothing (the gradient of a mean, spread over what
/// its leader reads) has what the tensor of its leader that has the shape of
/// its result carries. Experts are also followed back, to the weights that ops
/// with experts read.
void followFactors(PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_PASSES_PLAN_FACTORFOLLOWER_H
