//===- InnerCalls.cpp - What an op itself communicates --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Report/InnerCalls.h"

using namespace parplan;

/// Each reduction has an element per row of the first result.
static std::optional<PanelCall>
getCoupledCall(const PlanningProblem &problem, const PlanningOp &op,
               const FactorAssignment &assignment, const Mesh &mesh) {
  auto isCoupled = [&](int factor) {
    return op.rule.factors[factor].kind == FactorKind::coupled;
  };
  AxisList axes = getCoupledAxes(op.rule, assignment);
  if (axes.empty() || op.coupledReductions == 0)
    return std::nullopt;
  const PlanningValue &result = problem.values[op.results.front()];
  auto shape = result.shape;
  for (auto [dimension, factors] : llvm::enumerate(op.rule.results.front()))
    if (llvm::any_of(factors, isCoupled))
      shape[dimension] = 1;
  int64_t elements = getMadeSharding(op.rule, assignment, /*result=*/0)
                         .getLocalElementCount(mesh, shape);
  return PanelCall{CollectiveKind::allReduce, std::move(axes),
                   elements * result.elementBytes, op.coupledReductions};
}

std::vector<PanelCall>
parplan::getInnerCalls(const PlanningProblem &problem, const PlanningOp &op,
                       const FactorAssignment &assignment, const Mesh &mesh) {
  std::vector<PanelCall> calls = getPanelCalls(problem, op, assignment, mesh);
  if (auto call = getCoupledCall(problem, op, assignment, mesh))
    calls.push_back(std::move(*call));
  return calls;
}
