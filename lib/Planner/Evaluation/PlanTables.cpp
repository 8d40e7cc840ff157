//===- PlanTables.cpp - Parts of plans on one mesh, by number -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanTables.h"

#include "NumberedPlan.h"
#include "PlanKernels.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/InnerBytes.h"
#include "parplan/Planner/Panels.h"

#include <algorithm>

using namespace parplan;

ProblemFacts::ProblemFacts(const PlanningProblem &problem)
    : contents(getContents(problem, {})), phases(getPhases(problem)),
      producers(problem.values.size(), -1),
      newValues(problem.values.size(), -1), segments(getSegments(problem)),
      isTraining(parplan::isTraining(problem)) {
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int result : op.results)
      producers[result] = static_cast<int>(index);
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.updates >= 0)
      newValues[value.updates] = static_cast<int>(index);
}

PlanTables::PlanTables(const PlanningProblem &problem,
                       std::shared_ptr<const ProblemFacts> facts,
                       const Mesh &mesh, const PlanCosts *costs)
    : problem(problem), facts(std::move(facts)), mesh(mesh), costs(costs),
      reshards(mesh) {}

int PlanTables::getNumber(const Sharding &layout) {
  auto [known, isNew] =
      numbers.try_emplace(layout, static_cast<int>(layouts.size()));
  if (isNew)
    layouts.push_back(layout);
  return known->second;
}

static llvm::hash_code hashAxes(llvm::ArrayRef<int> axes) {
  return llvm::hash_combine_range(axes.begin(), axes.end());
}

int PlanTables::getForm(int op, const FactorAssignment &assignment) {
  int content = facts->contents.ofOp[op];
  size_t hash = llvm::hash_combine(
      content, hashAxes(assignment.pending), assignment.pendingOperand,
      hashAxes(assignment.storage), assignment.panels.factor);
  for (const AxisList &axes : assignment.axes)
    hash = llvm::hash_combine(hash, hashAxes(axes));
  llvm::SmallVector<int, 1> &known = formsOfHash[hash];
  for (int form : known)
    if (contentsOfForms[form] == content &&
        forms[form].assignment == assignment)
      return form;
  known.push_back(static_cast<int>(forms.size()));
  forms.push_back(makeForm(op, assignment));
  contentsOfForms.push_back(content);
  secondsOfForms.push_back({-1, -1});
  return known.back();
}

PlanTables::Form PlanTables::makeForm(int index,
                                      const FactorAssignment &assignment) {
  const PlanningOp &op = problem.ops[index];
  Form form;
  form.assignment = assignment;
  if (auto violation = verifyAssignment(op.rule, assignment, mesh)) {
    form.faults.push_back(*violation);
    return form;
  }
  if (!keepsOrder(op, assignment, mesh))
    form.faults.push_back("lies in zig-zag order over " +
                          std::to_string(op.zigzag) +
                          " ranks, but is no ring over them (S22)");
  for (auto [factor, axes] : llvm::enumerate(assignment.axes))
    for (int axis : axes)
      if (mesh.getAxis(axis).role == AxisRole::data &&
          static_cast<int>(factor) != op.batchFactor)
        form.faults.push_back(
            "data axis '" + mesh.getAxis(axis).name + "' is on factor '" +
            op.rule.factors[factor].name + "', which is not the batch");
  for (size_t operand = 0; operand < op.operands.size(); ++operand)
    form.uses.push_back(getNumber(
        getUseSharding(op.rule, assignment, static_cast<int>(operand))));
  for (size_t result = 0; result < op.results.size(); ++result)
    form.made.push_back(getNumber(
        getMadeSharding(op.rule, assignment, static_cast<int>(result))));
  form.innerBytes = getInnerBytes(problem, op, assignment, mesh);
  return form;
}

PlanTables::OpSeconds PlanTables::getSeconds(int op, int form) {
  OpSeconds &seconds = secondsOfForms[form];
  if (seconds.own < 0) {
    const FactorAssignment &assignment = forms[form].assignment;
    const PlanningOp &description = problem.ops[op];
    seconds = {costs->getOpSeconds(problem, description, assignment, mesh),
               costs->getInnerSeconds(problem, description, assignment, mesh)};
  }
  return seconds;
}

const PlanTables::Change &PlanTables::getChange(int value, int from, int to) {
  constexpr int layoutBits = 20;
  uint64_t key = static_cast<uint64_t>(facts->contents.ofValue[value]);
  key = key << layoutBits | static_cast<uint64_t>(from);
  key = key << layoutBits | static_cast<uint64_t>(to);
  auto [known, isNew] =
      changeNumbers.try_emplace(key, static_cast<int>(changes.size()));
  if (!isNew)
    return changes[known->second];
  const PlanningValue &description = problem.values[value];
  Change change;
  change.path =
      &reshards.get(description.shape, getLayout(from), getLayout(to));
  change.isFound = change.path->found;
  change.isAllowed =
      mayReshard(description, mesh, getLayout(from), getLayout(to));
  const auto &moves = change.path->moves;
  for (size_t number = 0; number + 1 < moves.size(); ++number)
    change.transientBytes =
        std::max(change.transientBytes,
                 getLocalBytes(description, mesh, moves[number].result));
  if (costs)
    for (const Move &move : moves) {
      ReshardPath single;
      single.moves.push_back(move);
      bool onData = llvm::any_of(move.axes, [&](int axis) {
        return mesh.getAxis(axis).role == AxisRole::data;
      });
      (move.isLocal() ? change.seconds.compute
       : onData       ? change.seconds.data
                      : change.seconds.tensor) +=
          costs->getPathSeconds(single, mesh, description);
    }
  changes.push_back(change);
  return changes.back();
}

int64_t PlanTables::getBytes(int value, int layout) {
  auto content = static_cast<size_t>(facts->contents.ofValue[value]);
  if (content >= bytes.size())
    bytes.resize(content + 1);
  std::vector<int64_t> &known = bytes[content];
  if (static_cast<size_t>(layout) >= known.size())
    known.resize(layouts.size(), -1);
  if (known[layout] < 0)
    known[layout] =
        getLocalBytes(problem.values[value], mesh, getLayout(layout));
  return known[layout];
}

NumberedPlan::NumberedPlan(PlanTables &tables, const PlanningAnswer &answer)
    : tables(tables), problem(tables.getProblem()), facts(tables.getFacts()),
      answer(answer) {
  forms.reserve(problem.ops.size());
  for (size_t op = 0; op < problem.ops.size(); ++op)
    forms.push_back(
        tables.getForm(static_cast<int>(op), answer.assignments[op]));
  rest.reserve(problem.values.size());
  for (const Sharding &layout : answer.rest)
    rest.push_back(tables.getNumber(layout));
}

std::vector<llvm::SmallVector<NumberedCopy, 1>>
parplan::getCopies(const NumberedPlan &plan, const PlanKernels *kernels) {
  std::vector<llvm::SmallVector<NumberedCopy, 1>> copies(
      plan.problem.values.size());
  for (auto [index, op] : llvm::enumerate(plan.problem.ops)) {
    CopyReader reader = getCopyReader(op);
    int at = static_cast<int>(index), end = kernels ? kernels->getEnd(at) : at;
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      int use = plan.getUse(at, position);
      if (use == plan.rest[operand])
        continue;
      auto &known = copies[operand];
      auto same = llvm::find_if(known, [&](const NumberedCopy &copy) {
        return copy.layout == use &&
               sharesCopies(copy.reader, reader, plan.answer.rest[operand],
                            plan.answer.isGatheredAgain(operand));
      });
      if (same == known.end())
        known.push_back({use, at, end, reader, getRepeat(plan.problem, op)});
      else
        same->lastUse = std::max(same->lastUse, end);
    }
  }
  return copies;
}
