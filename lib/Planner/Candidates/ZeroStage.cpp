//===- ZeroStage.cpp - Which ZeRO stage a plan has ------------------------===//

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

/// The op that replaces a parameter, if one does.
static std::optional<int> findUpdate(const PlanningProblem &problem,
                                     int parameter) {
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int result : op.results)
      if (problem.values[result].updates == parameter)
        return static_cast<int>(index);
  return std::nullopt;
}

/// Where the gradients that an update reads were added up over micro-batches,
/// as themselves or before they were summed, scaled or cast: in its shape.
static llvm::SmallVector<int> findAccumulates(const PlanningProblem &problem,
                                              int parameter, int update) {
  llvm::SmallVector<int> accumulates, gradients;
  auto follow = [&](const PlanningOp &op) {
    for (int operand : op.operands)
      if (problem.values[operand].shape == problem.values[parameter].shape)
        gradients.push_back(operand);
  };
  follow(problem.ops[update]);
  for (int producer = update; producer-- > 0;) {
    const PlanningOp &op = problem.ops[producer];
    if (llvm::none_of(op.results, [&](int result) {
          return llvm::is_contained(gradients, result);
        }))
      continue;
    if (op.accumulates)
      accumulates.push_back(producer);
    else
      follow(op);
  }
  return accumulates;
}

std::optional<std::string> parplan::findUnspreadParameter(
    const PlanningProblem &problem, int stage,
    llvm::ArrayRef<std::vector<FactorAssignment>> allowed) {
  auto mayStore = [&](int op) {
    return llvm::any_of(allowed[op], [](const FactorAssignment &assignment) {
      return !assignment.storage.empty();
    });
  };
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    int parameter = static_cast<int>(index);
    std::optional<int> update;
    if (stage > 0 && value.kind == ValueKind::parameter && !value.shape.empty())
      update = findUpdate(problem, parameter);
    if (!update)
      continue;
    bool isSpread = mayStore(*update);
    if (stage > 1 && problem.microBatches > 1)
      isSpread &=
          llvm::all_of(findAccumulates(problem, parameter, *update), mayStore);
    if (!isSpread)
      return "zero=" + std::to_string(stage) + ": parameter '" + value.name +
             "' cannot be spread over the replicas";
  }
  return std::nullopt;
}

int parplan::getZeroStage(const PlanningProblem &problem,
                          const PlanningAnswer &answer, int parameter,
                          std::optional<int> forced) {
  if (problem.values[parameter].shape.empty())
    return forced.value_or(0);
  if (answer.rest[parameter].isStored())
    return 3;
  std::optional<int> update = findUpdate(problem, parameter);
  if (!update)
    return forced && *forced < 3 ? *forced : 0;
  if (answer.assignments[*update].storage.empty())
    return 0;
  if (problem.microBatches == 1)
    return forced == 2 ? 2 : 1;
  auto accumulates = findAccumulates(problem, parameter, *update);
  bool areStored = llvm::all_of(accumulates, [&](int op) {
    return !answer.assignments[op].storage.empty();
  });
  return !accumulates.empty() && areStored ? 2 : 1;
}
