//===- EveryLayout.cpp - All layouts of a mesh, one by one ----------------===//

#include "EveryLayout.h"

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

EveryLayout::EveryLayout(const PlanningProblem &problem,
                         const PlanRequest &request, const PlanSpace &space)
    : decisions(getDecisions(problem)) {
  assignments = getAllowedAssignments(problem, request, space, refusal);
  if (refusal)
    return;
  rests = getRestCandidates(problem, request, space, assignments);
  count = 1;
  for (const Decision &decision : decisions.all)
    addDigit(assignments[decision.leader].size());
  for (auto [value, choices] : llvm::zip_equal(problem.values, rests)) {
    // What replaces a variable lies as that does.
    addDigit(value.updates >= 0 ? 1 : choices.size());
    updated.push_back(value.updates);
  }
  answer.mesh = space.mesh;
  answer.servers = request.servers;
  answer.assignments.resize(problem.ops.size());
  answer.rest.resize(problem.values.size());
}

void EveryLayout::addDigit(size_t size) {
  sizes.push_back(size);
  digits.push_back(0);
  count *= static_cast<double>(size);
}

const PlanningAnswer &EveryLayout::get() {
  for (size_t op = 0; op < assignments.size(); ++op)
    answer.assignments[op] = assignments[op][digits[decisions.ofOp[op]]];
  for (size_t value = 0; value < rests.size(); ++value)
    answer.rest[value] =
        updated[value] >= 0
            ? answer.rest[updated[value]]
            : rests[value][digits[decisions.all.size() + value]];
  return answer;
}

bool EveryLayout::advance() {
  for (size_t digit = digits.size(); digit-- > 0;) {
    if (++digits[digit] < sizes[digit])
      return true;
    digits[digit] = 0;
  }
  return false;
}
