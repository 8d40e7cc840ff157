//===- InnerBytes.cpp - What an op holds while it runs --------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/InnerBytes.h"

#include "parplan/Planner/Panels.h"

using namespace parplan;

int64_t parplan::getInnerBytes(const PlanningProblem &problem,
                               const PlanningOp &op,
                               const FactorAssignment &assignment,
                               const Mesh &mesh) {
  int64_t bytes = getPanelBytes(problem, op, assignment, mesh);
  if (op.coupledReductions > 0 && needsDecomposition(op.rule, assignment))
    bytes += getLocalBytes(problem.values[op.operands.front()], mesh,
                           getUseSharding(op.rule, assignment, /*operand=*/0));
  return bytes;
}
