//===- UnitTables.cpp - What the ops of units may do on a mesh ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitTables.h"

#include "lib/Planner/Evaluation/Offload.h"

#include "parplan/Planner/SearchSpace.h"

#include <algorithm>
#include <set>

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

/// Whether an op may run on the device or on the host.
static bool mayMove(const PlanningProblem &problem, const PlanRequest &request,
                    const PlanningOp &op) {
  return request.updatesMayMove && updatesParameter(problem, op);
}

/// Bytes of a rank's part of a value, where an op replaces or reads it. What
/// rests in smaller parts is gathered for the op, which another assignment that
/// takes the parts is spared.
static int64_t getPartBytes(const PlanningProblem &problem,
                            const PlanningOp &op,
                            const FactorAssignment &assignment,
                            const Mesh &mesh, int value) {
  for (auto [position, result] : llvm::enumerate(op.results))
    if (problem.values[result].updates == value)
      return getLocalBytes(
          problem.values[value], mesh,
          getMadeSharding(op.rule, assignment, static_cast<int>(position)));
  auto position = llvm::find(op.operands, value) - op.operands.begin();
  return getLocalBytes(
      problem.values[value], mesh,
      getUseSharding(op.rule, assignment, static_cast<int>(position)));
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
      secondsOfPlaces.emplace_back(secondsOfPlaces[same]);
      continue;
    }
    const PlanningOp &op = problem.ops[index];
    auto repeat = static_cast<double>(getRepeat(problem, op));
    opSeconds.emplace_back();
    secondsOfPlaces.emplace_back();
    for (const FactorAssignment &assignment : choices) {
      double inner = costs.getInnerSeconds(problem, op, assignment, space.mesh);
      double seconds =
          costs.getOpSeconds(problem, op, assignment, space.mesh) + inner;
      if (mayMove(problem, request, op)) {
        double onHost =
            costs.getHostOpSeconds(getHostCost(problem, op, [&](int value) {
              return getPartBytes(problem, op, assignment, space.mesh, value);
            }));
        secondsOfPlaces.back().push_back({seconds, onHost});
        seconds = std::min(seconds, onHost);
      }
      opSeconds.back().push_back(seconds / repeat);
    }
  }
}

/// Per value of a sample: see `UnitLists::movers`.
static std::vector<int> findMovers(const UnitSample &sample,
                                   const std::vector<bool> &mayMove) {
  const PlanningProblem &problem = sample.problem;
  std::vector<int> movers(problem.values.size(), UnitLists::noMover);
  std::vector<bool> isReadByPasses(problem.values.size(), false);
  // By their numbers in the whole problem.
  std::set<int> moved;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    for (int result : op.results)
      if (int variable = problem.values[result].updates;
          variable >= 0 && mayMove[index]) {
        movers[variable] = static_cast<int>(index);
        moved.insert(sample.valueOf[variable]);
      }
    if (sample.phases[index] != Phase::start && op.role != OpRole::optimizer)
      for (int operand : op.operands)
        isReadByPasses[operand] =
            problem.values[operand].kind == ValueKind::parameter;
  }
  for (size_t value = 0; value < movers.size(); ++value)
    if (isReadByPasses[value])
      movers[value] = UnitLists::noMover;
    else if (movers[value] == UnitLists::noMover &&
             moved.count(sample.valueOf[value]) > 0)
      movers[value] = UnitLists::otherMover;
  return movers;
}

UnitTables::UnitTables(const UnitSample &sample, const StepUnits &units,
                       const PlanRequest &request, const PlanSpace &space,
                       const UnitChoices &choicesOfOps, LayoutTable &layouts)
    : UnitLists(layouts), assignments(choicesOfOps.assignments),
      opSeconds(choicesOfOps.opSeconds) {
  const PlanningProblem &problem = sample.problem;
  for (const PlanningOp &op : problem.ops)
    mayMove.push_back(::mayMove(problem, request, op));
  movers = findMovers(sample, mayMove);
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
