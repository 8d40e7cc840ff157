//===- Execution.cpp - What runs where, and how often ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/VisitSums.h"
#include "parplan/Support/Check.h"

#include <map>
#include <set>

using namespace parplan;

std::vector<Phase> parplan::getPhases(const PlanningProblem &problem) {
  std::vector<Phase> phases;
  // A forward pass of one micro-batch does not say what is of it: all is.
  bool isOnePass = !isTraining(problem) && problem.microBatches == 1;
  std::vector<int> producers(problem.values.size(), -1);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    bool isOfPass = op.perMicroBatch || op.accumulates || isOnePass;
    phases.push_back(!isOfPass                      ? Phase::end
                     : isBeforeBackward(op.role)    ? Phase::forward
                     : op.role == OpRole::optimizer ? Phase::end
                                                    : Phase::weightGradient);
    for (int result : op.results)
      producers[result] = static_cast<int>(index);
  }
  // What gradients of inputs need is with them, and what passes need of the
  // step is made before.
  std::vector<bool> isNeeded(problem.ops.size(), false);
  for (size_t index = problem.ops.size(); index-- > 0;) {
    const PlanningOp &op = problem.ops[index];
    Phase &phase = phases[index];
    if (phase == Phase::weightGradient &&
        (isNeeded[index] || op.role == OpRole::inputGradient))
      phase = Phase::inputGradient;
    if (phase == Phase::end && isNeeded[index])
      phase = Phase::start;
    for (int operand : op.operands) {
      int producer = producers[operand];
      if (producer < 0)
        continue;
      bool isOfPass = phases[producer] != Phase::end;
      if (isOfPass ? phase == Phase::inputGradient : phase != Phase::end)
        isNeeded[producer] = true;
    }
  }
  return phases;
}

namespace {

class Expansion {
public:
  Expansion(const PlanningProblem &problem, const PlanningAnswer &answer)
      : problem(problem), answer(answer), phases(getPhases(problem)),
        producers(problem.values.size(), -1), stages(problem.ops.size()) {
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
    spreadStages();
    spreadUpdates();
  }

  Execution run() {
    for (size_t op = 0; op < problem.ops.size(); ++op)
      for (int stage : stages[op]) {
        bool isBackward = isOfBackward(static_cast<int>(op));
        if (isBackward)
          for (int operand : problem.ops[op].operands)
            remake(operand, stage);
        addRun(static_cast<int>(op), stage, phases[op], /*isRemade=*/false);
      }
    return std::move(execution);
  }

private:
  /// Cloned ops are in the stages of their readers.
  void spreadStages() {
    for (size_t index = problem.ops.size(); index-- > 0;) {
      int stage = answer.getStage(index);
      if (stage >= 0)
        stages[index].insert(stage);
      else if (stages[index].empty())
        stages[index].insert(0);
      for (int operand : problem.ops[index].operands)
        if (int producer = producers[operand];
            producer >= 0 && answer.getStage(producer) < 0)
          stages[producer].insert(stages[index].begin(), stages[index].end());
    }
  }

  /// Every stage that reads a parameter updates its copy.
  void spreadUpdates() {
    if (!answer.pipeline)
      return;
    std::vector<std::set<int>> readers(problem.values.size());
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (isBeforeBackward(op.role))
        for (int operand : op.operands)
          if (problem.values[operand].kind == ValueKind::parameter)
            readers[operand].insert(stages[index].begin(), stages[index].end());
    bool isChanged = false;
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results) {
        int variable = problem.values[result].updates;
        if (variable < 0 || op.role != OpRole::optimizer)
          continue;
        size_t before = stages[index].size();
        stages[index].insert(readers[variable].begin(),
                             readers[variable].end());
        isChanged |= stages[index].size() > before;
      }
    if (isChanged)
      spreadStages();
  }

  bool isOfBackward(int op) const {
    return phases[op] == Phase::inputGradient ||
           phases[op] == Phase::weightGradient;
  }

  /// Makes a value again for the backward pass of a stage, and what it needs.
  void remake(int value, int stage) {
    int producer = producers[value];
    if (producer < 0 || !answer.isRecomputed(producer) ||
        !stages[producer].contains(stage) || remade.contains({value, stage}))
      return;
    for (int operand : problem.ops[producer].operands)
      remake(operand, stage);
    addRun(producer, stage, Phase::inputGradient, /*isRemade=*/true);
  }

  void addRun(int op, int stage, Phase phase, bool isRemade) {
    int run = static_cast<int>(execution.runs.size());
    execution.runs.push_back({op, stage, phase, isRemade});
    const PlanningOp &description = problem.ops[op];
    bool isBackward = isRemade || isOfBackward(op);
    for (auto [position, operand] : llvm::enumerate(description.operands)) {
      int instance = getInstance(operand, stage, isBackward);
      Execution::Instance &read = execution.instances[instance];
      if (read.firstUse < 0)
        read.firstUse = run;
      read.lastUse = run;
      addCopy(instance, run, static_cast<int>(position), isRemade);
    }
    for (int result : description.results) {
      if (isRemade)
        remade.insert({result, stage});
      known[{result, stage, isRemade}] =
          static_cast<int>(execution.instances.size());
      Execution::Instance made;
      made.value = result;
      made.stage = stage;
      made.producer = run;
      execution.instances.push_back(made);
    }
  }

  int getInstance(int value, int stage, bool isBackward) {
    bool isRemade = isBackward && remade.contains({value, stage});
    auto [it, isNew] = known.try_emplace(
        {value, stage, isRemade}, static_cast<int>(execution.instances.size()));
    if (isNew) {
      Execution::Instance instance;
      instance.value = value;
      instance.stage = stage;
      if (int producer = producers[value]; producer >= 0)
        instance.sender = *stages[producer].begin();
      execution.instances.push_back(instance);
    }
    return it->second;
  }

  void addCopy(int instance, int run, int position, bool isRemade) {
    const Execution::Run &reading = execution.runs[run];
    const PlanningOp &op = problem.ops[reading.op];
    int value = execution.instances[instance].value;
    const Sharding &rest = answer.rest[value];
    Sharding use =
        getUseSharding(op.rule, answer.assignments[reading.op], position);
    if (use == rest) {
      execution.instances[instance].isReadAtRest = true;
      return;
    }
    CopyReader reader = getCopyReader(op);
    if (isRemade)
      reader.role = OpRole::inputGradient;
    for (int number : copiesOf[instance]) {
      Execution::Copy &copy = execution.copies[number];
      if (copy.layout == use && sharesCopies(copy.reader, reader, rest,
                                             answer.isGatheredAgain(value))) {
        copy.lastUse = run;
        return;
      }
    }
    copiesOf[instance].push_back(static_cast<int>(execution.copies.size()));
    execution.copies.push_back(
        {instance, use, run, run, reader, getRepeat(problem, op)});
  }

  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  std::vector<Phase> phases;
  std::vector<int> producers;
  std::vector<std::set<int>> stages;
  std::set<std::pair<int, int>> remade;
  std::map<std::tuple<int, int, bool>, int> known;
  std::map<int, llvm::SmallVector<int, 2>> copiesOf;
  Execution execution;
};

/// The seconds of a path: communication over data axes, over others, or
/// computation for local moves.
WorkSeconds getPathSeconds(const ReshardPath &path, const Mesh &mesh,
                           const PlanningValue &value, const PlanCosts &costs) {
  WorkSeconds seconds;
  for (const Move &move : path.moves) {
    ReshardPath single;
    single.moves.push_back(move);
    bool onData = llvm::any_of(move.axes, [&](int axis) {
      return mesh.getAxis(axis).role == AxisRole::data;
    });
    (move.isLocal() ? seconds.compute
     : onData       ? seconds.data
                    : seconds.tensor) +=
        costs.getPathSeconds(single, mesh, value.shape, value.elementBytes);
  }
  return seconds;
}

} // namespace

Execution parplan::getExecution(const PlanningProblem &problem,
                                const PlanningAnswer &answer) {
  return Expansion(problem, answer).run();
}

std::vector<RunSeconds> parplan::getRunSeconds(const PlanningProblem &problem,
                                               const PlanningAnswer &answer,
                                               const Execution &execution,
                                               const PlanCosts &costs) {
  std::vector<RunSeconds> seconds(execution.runs.size());
  ReshardCache reshards(answer.mesh);
  // What is moved once per visit takes its share of every pass.
  std::vector<int64_t> visits = getVisitCounts(problem, answer);
  auto getShare = [&](int value) {
    return visits[value] == 0 ? 1.0
                              : static_cast<double>(visits[value]) /
                                    static_cast<double>(problem.microBatches);
  };
  for (auto [number, run] : llvm::enumerate(execution.runs)) {
    const PlanningOp &op = problem.ops[run.op];
    const FactorAssignment &assignment = answer.assignments[run.op];
    auto repeat = static_cast<double>(getRepeat(problem, op));
    WorkSeconds &each = seconds[number].each;
    (op.role == OpRole::optimizer ? each.optimizer : each.compute) +=
        costs.getOpSeconds(problem, op, assignment, answer.mesh) / repeat;
    each.tensor +=
        costs.getInnerSeconds(problem, op, assignment, answer.mesh) / repeat;
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const PlanningValue &value = problem.values[result];
      Sharding made =
          getMadeSharding(op.rule, assignment, static_cast<int>(position));
      (op.accumulates ? seconds[number].once : each)
          .add(getPathSeconds(
                   reshards.get(value.shape, made, answer.rest[result]),
                   answer.mesh, value, costs),
               getShare(result));
    }
  }
  // Constants are made in any layout, and inputs and parameters are loaded in
  // the layout at rest, for nothing.
  for (const Execution::Copy &copy : execution.copies) {
    int index = execution.instances[copy.instance].value;
    const PlanningValue &value = problem.values[index];
    if (value.kind != ValueKind::constant)
      seconds[copy.firstUse].each.add(
          getPathSeconds(
              reshards.get(value.shape, answer.rest[index], copy.layout),
              answer.mesh, value, costs),
          getShare(index));
  }
  return seconds;
}

std::vector<int> parplan::findSummedOps(const PlanningProblem &problem,
                                        llvm::ArrayRef<int> producers,
                                        int accumulate) {
  std::vector<int> found, open = {accumulate};
  while (!open.empty()) {
    int number = open.back();
    open.pop_back();
    const PlanningOp &op = problem.ops[number];
    // Sums, and casts of them.
    bool isCast = op.operands.size() == 1 &&
                  op.role == OpRole::weightGradient &&
                  problem.values[op.operands[0]].shape ==
                      problem.values[op.results[0]].shape;
    bool isPassedOn =
        number == accumulate || op.role == OpRole::gradientSum || isCast;
    bool isMade = llvm::all_of(op.operands, [&](int operand) {
      return producers[operand] >= 0 &&
             problem.ops[producers[operand]].perMicroBatch &&
             !problem.ops[producers[operand]].accumulates;
    });
    if (!isPassedOn || !isMade) {
      found.push_back(number);
      continue;
    }
    for (int operand : op.operands)
      if (!llvm::is_contained(open, producers[operand]))
        open.push_back(producers[operand]);
  }
  return found;
}

bool parplan::isTiedGradient(const Execution &execution,
                             const Execution::Instance &instance) {
  return instance.sender >= 0 && instance.sender != instance.stage &&
         instance.firstUse >= 0 &&
         execution.runs[instance.firstUse].phase == Phase::weightGradient;
}
