//===- ExpertGroups.cpp - Experts of a problem, and their groups ----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

int64_t parplan::getExpertCount(const PlanningProblem &problem) {
  int64_t count = 1;
  for (const PlanningOp &op : problem.ops) {
    count = std::max(count, op.experts);
    if (op.expertFactor >= 0)
      count = std::max(count, op.rule.factors[op.expertFactor].size);
  }
  return count;
}

int64_t parplan::getExpertRanks(const Mesh &mesh) {
  return mesh.getWidth(getAxes(mesh, AxisRole::expert));
}

int64_t parplan::getExpertGroups(const PlanningProblem &problem,
                                 const PlanRequest &request,
                                 int64_t expertRanks) {
  if (request.expertSize)
    return *request.expertSize;
  auto savesRows = [&](int64_t groups) {
    return llvm::any_of(problem.ops, [&](const PlanningOp &op) {
      return op.experts % groups == 0 &&
             op.expertsPerToken < op.experts / groups;
    });
  };
  if (savesRows(expertRanks))
    return expertRanks;
  // Each expert is a group.
  return savesRows(1) ? getExpertCount(problem) : 1;
}
