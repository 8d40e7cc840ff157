//===- UnitTables.cpp - What the ops of units may do on a mesh ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitTables.h"

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

using Part = StepUnits::Part;

/// The op before this one that may do the same and costs the same, or -1. What
/// is forced is forced by name, which equal ops differ in.
static int findSame(const UnitSample &sample, const PlanRequest &request,
                    size_t op) {
  int first = sample.firstEqualOp[op];
  bool isEarlier = first < static_cast<int>(op);
  return request.forcedAlgorithms.empty() && isEarlier ? first : -1;
}

UnitChoices::UnitChoices(const UnitSample &sample, const PlanRequest &request,
                         const PlanSpace &space, const PlanCosts &costs)
    : assignments(getAllowedAssignments(sample.problem, sample.decisions,
                                        sample.firstEqual, request, space,
                                        refusal)) {
  if (refusal)
    return;
  const PlanningProblem &problem = sample.problem;
  for (auto [index, choices] : llvm::enumerate(assignments)) {
    if (int same = findSame(sample, request, index); same >= 0) {
      opSeconds.emplace_back(opSeconds[same]);
      continue;
    }
    const PlanningOp &op = problem.ops[index];
    auto repeat = static_cast<double>(getRepeat(problem, op));
    opSeconds.emplace_back();
    for (const FactorAssignment &assignment : choices)
      opSeconds.back().push_back(
          (costs.getOpSeconds(problem, op, assignment, space.mesh) +
           costs.getInnerSeconds(problem, op, assignment, space.mesh)) /
          repeat);
  }
}

UnitTables::UnitTables(const UnitSample &sample, const StepUnits &units,
                       const PlanRequest &request, const PlanSpace &space,
                       const UnitChoices &choicesOfOps, LayoutTable &layouts)
    : UnitLists(layouts), assignments(choicesOfOps.assignments),
      opSeconds(choicesOfOps.opSeconds) {
  const PlanningProblem &problem = sample.problem;
  for (const auto &[index, choices] : llvm::enumerate(assignments)) {
    choiceCounts.push_back(static_cast<int>(choices.size()));
    if (int same = findSame(sample, request, index); same >= 0) {
      uses.emplace_back(uses[same]);
      makings.emplace_back(makings[same]);
      continue;
    }
    const PlanningOp &op = problem.ops[index];
    auto list = [&, &choices = choices](size_t count, auto getLayout) {
      std::vector<std::vector<int>> lists(count);
      for (size_t position = 0; position < count; ++position)
        for (const FactorAssignment &assignment : choices)
          lists[position].push_back(layouts.intern(
              getLayout(op.rule, assignment, static_cast<int>(position))));
      return lists;
    };
    uses.push_back(list(op.operands.size(), getUseSharding));
    makings.push_back(list(op.results.size(), getMadeSharding));
  }
  auto candidates = getRestCandidates(problem, request, space, assignments);
  for (int count : units.slotCounts)
    slotRests.emplace_back(count);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    forms.push_back(layouts.getForm(value));
    rests.emplace_back();
    auto add = [&](int rest) {
      if (!llvm::is_contained(rests.back(), rest))
        rests.back().push_back(rest);
    };
    for (const Sharding &rest : candidates[index])
      add(layouts.intern(rest));
    // What combines units may read it as it is made.
    const UnitSample::Value &inUnit = sample.values[index];
    if (!inUnit.isCombined || inUnit.maker < 0 || value.isOutput)
      continue;
    const auto &results = problem.ops[inUnit.maker].results;
    auto position =
        llvm::find(results, static_cast<int>(index)) - results.begin();
    for (int made : makings[inUnit.maker][position])
      add(made);
  }
  // What any unit may want of a boundary, all may have.
  auto visitSlots = [&](auto visit) {
    for (auto [number, range] : llvm::enumerate(sample.kinds))
      for (int value = range.firstValue; value < range.endValue; ++value) {
        const UnitSample::Value &description = sample.values[value];
        if (description.slot < 0)
          continue;
        int boundary = description.part == Part::before
                           ? units.kinds[number].before
                           : units.kinds[number].behind;
        visit(value, slotRests[boundary][description.slot]);
      }
  };
  visitSlots([&](int value, std::vector<int> &list) {
    for (int rest : rests[value])
      if (!llvm::is_contained(list, rest))
        list.push_back(rest);
  });
  visitSlots(
      [&](int value, const std::vector<int> &list) { rests[value] = list; });
  // Likewise of what several units read.
  for (auto [value, description] : llvm::enumerate(sample.values))
    if (description.tiedTo >= 0)
      for (int rest : rests[value])
        if (auto &list = rests[description.tiedTo];
            !llvm::is_contained(list, rest))
          list.push_back(rest);
  for (auto [value, description] : llvm::enumerate(sample.values))
    if (description.tiedTo >= 0)
      rests[value] = rests[description.tiedTo];
  // What replaces a variable lies as it does.
  for (auto [value, description] : llvm::enumerate(problem.values))
    if (description.updates >= 0)
      rests[value] = rests[description.updates];
}
