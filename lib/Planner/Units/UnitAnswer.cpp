//===- UnitAnswer.cpp - From plans of units to a plan ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitAnswer.h"

#include "lib/Planner/Evaluation/Offload.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <limits>

using namespace parplan;

using Part = StepUnits::Part;

UnitAnswer::UnitAnswer(const PlanningProblem &problem, const StepUnits &units,
                       const UnitSample &sample, const UnitTables &tables,
                       const PlanSpace &space, const PlanCosts &costs)
    : problem(problem), units(units), sample(sample), tables(tables),
      space(space), costs(costs), reshards(space.mesh),
      isPlaced(problem.values.size(), false) {
  answer.mesh = space.mesh;
  answer.assignments.resize(problem.ops.size());
  answer.rest.resize(problem.values.size());
  answer.recomputed.assign(problem.ops.size(), false);
  answer.gathersAgain.assign(problem.values.size(), false);
}

void UnitAnswer::add(int unitNumber, const BlockPlan &plan,
                     const UnitOracle &oracle, const UnitRemaking &remaking) {
  const StepUnits::Unit &unit = units.units[unitNumber];
  const UnitSample::Range &range = sample.kinds[unit.kind];
  const UnitVariables &variables = oracle.getVariables();
  for (auto [number, op] : llvm::enumerate(unit.ops)) {
    int sampled = range.firstOp + static_cast<int>(number);
    int choice =
        plan.choices[variables.ofDecision[sample.decisions.ofOp[sampled]]];
    answer.assignments[op] = tables.assignments[sampled][choice];
    answer.recomputed[op] = remaking.recomputed[sampled];
    int place = variables.ofPlace[sampled];
    if (place >= 0 && plan.choices[place] == hostPlace) {
      answer.tiers.resize(problem.values.size(), MemoryTier::device);
      moveUpdate(problem, problem.ops[op], MemoryTier::host, answer.tiers);
    }
    if (problem.ops[op].role == OpRole::gradientSum &&
        sample.decisions.all[sample.decisions.ofOp[sampled]].members.size() ==
            1 &&
        llvm::any_of(sample.problem.ops[sampled].operands, [&](int operand) {
          return sample.values[operand].part == Part::foreign;
        }))
      sums.emplace_back(op, sampled);
  }
  for (auto [number, value] : llvm::enumerate(unit.values)) {
    int sampled = range.firstValue + static_cast<int>(number);
    Part part = sample.values[sampled].part;
    if (part == Part::foreign)
      continue;
    int variable = variables.ofValue[sampled];
    int choice = variable < 0 ? 0 : plan.choices[variable];
    answer.rest[value] = tables.layouts.get(tables.rests[sampled][choice]);
    isPlaced[value] = true;
    if (gathersAgain(sample, sampled, remaking))
      answer.gathersAgain[value] = true;
  }
}

/// The assignment and layouts for the fewest seconds, given all that was chosen
/// before.
void UnitAnswer::addOp(int index,
                       llvm::ArrayRef<FactorAssignment> assignments) {
  const PlanningOp &op = problem.ops[index];
  auto getSeconds = [&](int value, const Sharding &from, const Sharding &to) {
    const PlanningValue &description = problem.values[value];
    if (!mayReshard(description, space.mesh, from, to))
      return std::numeric_limits<double>::infinity();
    const ReshardPath &path = reshards.get(description.shape, from, to);
    return path.found ? costs.getPathSeconds(path, space.mesh, description)
                      : std::numeric_limits<double>::infinity();
  };
  // Seconds of ops are those of all their runs.
  auto reads = static_cast<double>(getRepeat(problem, op)),
       makes = static_cast<double>(getResultRepeat(problem, op));
  double least = std::numeric_limits<double>::infinity();
  for (const FactorAssignment &assignment : assignments) {
    double seconds = costs.getOpSeconds(problem, op, assignment, space.mesh) +
                     costs.getInnerSeconds(problem, op, assignment, space.mesh);
    std::vector<Sharding> rests;
    for (auto [position, operand] : llvm::enumerate(op.operands))
      if (isPlaced[operand])
        seconds +=
            reads * getSeconds(operand, answer.rest[operand],
                               getUseSharding(op.rule, assignment,
                                              static_cast<int>(position)));
    for (auto [position, result] : llvm::enumerate(op.results)) {
      Sharding made =
          getMadeSharding(op.rule, assignment, static_cast<int>(position));
      int updated = problem.values[result].updates;
      Sharding rest = made;
      if (isPlaced[result]) {
        rest = answer.rest[result];
      } else if (updated >= 0 && isPlaced[updated]) {
        rest = answer.rest[updated];
      } else {
        rest.partial.clear();
        rest.reduction = ReductionKind::sum;
        if (problem.values[result].isOutput)
          rest.storage.clear();
      }
      seconds += makes * getSeconds(result, made, rest);
      rests.push_back(std::move(rest));
    }
    if (!(seconds < least))
      continue;
    least = seconds;
    answer.assignments[index] = assignment;
    for (auto [result, rest] : llvm::zip_equal(op.results, rests))
      answer.rest[result] = std::move(rest);
  }
  for (auto [position, operand] : llvm::enumerate(op.operands))
    if (!isPlaced[operand]) {
      answer.rest[operand] =
          problem.values[operand].kind == ValueKind::constant
              ? Sharding::getReplicated(problem.values[operand].shape.size())
          : problem.values[operand].kind == ValueKind::input
              ? getLoadedSharding(problem.values[operand],
                                  getMeshAxes(problem, space), space.mesh)
              : getUseSharding(op.rule, answer.assignments[index],
                               static_cast<int>(position));
      isPlaced[operand] = true;
    }
  for (int result : op.results)
    isPlaced[result] = true;
}

PlanningAnswer UnitAnswer::finish() {
  MeshAxes axes = getMeshAxes(problem, space);
  for (size_t op = 0; op < problem.ops.size(); ++op)
    if (units.unitOfOp[op] < 0)
      addOp(static_cast<int>(op),
            getAssignments(problem.ops[op], space.mesh, axes));
  // Their units need not have agreed how the other term lies.
  for (auto [op, sampled] : sums)
    addOp(op, tables.assignments[sampled]);
  // What nothing reads or makes.
  for (auto [value, description] : llvm::enumerate(problem.values))
    if (!isPlaced[value])
      answer.rest[value] =
          description.kind == ValueKind::input
              ? getLoadedSharding(description, axes, space.mesh)
              : Sharding::getReplicated(description.shape.size());
  auto isNone = [](const std::vector<bool> &list) {
    return llvm::none_of(list, [](bool one) { return one; });
  };
  if (isNone(answer.recomputed))
    answer.recomputed.clear();
  if (isNone(answer.gathersAgain))
    answer.gathersAgain.clear();
  answer.inPieces = findUpdatedPieces(problem, answer);
  return std::move(answer);
}
