//===- ZeroStage.cpp - Which ZeRO stage a plan has ------------------------===//

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

/// Per value the op that replaces it; -1: none does.
static std::vector<int> findUpdates(const PlanningProblem &problem) {
  std::vector<int> updates(problem.values.size(), -1);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int result : op.results)
      if (int updated = problem.values[result].updates; updated >= 0)
        updates[updated] = static_cast<int>(index);
  return updates;
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
  std::vector<int> updates = findUpdates(problem);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    int parameter = static_cast<int>(index), update = updates[index];
    if (stage == 0 || value.kind != ValueKind::parameter ||
        value.shape.empty() || update < 0)
      continue;
    bool isSpread = mayStore(update);
    if (stage > 1 && problem.microBatches > 1)
      isSpread &=
          llvm::all_of(findAccumulates(problem, parameter, update), mayStore);
    if (!isSpread)
      return "zero=" + std::to_string(stage) + ": parameter '" + value.name +
             "' cannot be spread over the ranks that split the batch";
  }
  return std::nullopt;
}

/// Of a parameter that the op `update` replaces; -1: none does.
static int getZeroStage(const PlanningProblem &problem,
                        const PlanningAnswer &answer, int parameter, int update,
                        std::optional<int> forced) {
  if (problem.values[parameter].shape.empty())
    return forced.value_or(0);
  if (answer.rest[parameter].isStored())
    return 3;
  if (update < 0)
    return forced && *forced < 3 ? *forced : 0;
  if (answer.assignments[update].storage.empty())
    return 0;
  if (problem.microBatches == 1)
    return forced == 2 ? 2 : 1;
  auto accumulates = findAccumulates(problem, parameter, update);
  bool areStored = llvm::all_of(accumulates, [&](int op) {
    return !answer.assignments[op].storage.empty();
  });
  return !accumulates.empty() && areStored ? 2 : 1;
}

std::map<int, int> parplan::getZeroStages(const PlanningProblem &problem,
                                          const PlanningAnswer &answer,
                                          std::optional<int> forced) {
  std::vector<int> updates = findUpdates(problem);
  std::map<int, int> stages;
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    int parameter = static_cast<int>(index);
    if (value.kind == ValueKind::parameter)
      stages[parameter] =
          getZeroStage(problem, answer, parameter, updates[index], forced);
  }
  return stages;
}
