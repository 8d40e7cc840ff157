//===- StageAssignment.cpp - Which op is in which stage -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageAssignment.h"

#include "lib/Planner/Evaluation/StepTime.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Stages.h"
#include "parplan/Support/Sizes.h"

#include <algorithm>
#include <map>
#include <set>

using namespace parplan;

/// Frozen parameters of at most so many elements are small: frequencies of
/// positions, factors of a normalisation.
static constexpr int64_t mostSmallElements = 4096;

namespace {

/// What an op depends on.
struct Sources {
  bool hasUnit = false;
  /// Values that differ between micro-batches.
  bool hasBatch = false;
  bool hasLargeParameter = false;
  /// To make it and everything that it needs.
  double seconds = 0;
};

std::vector<bool> findTrained(const PlanningProblem &problem) {
  std::vector<bool> isTrained(problem.values.size(), false);
  for (const PlanningValue &value : problem.values)
    if (value.updates >= 0)
      isTrained[value.updates] = true;
  return isTrained;
}

int64_t getElementCount(const PlanningValue &value) {
  return multiplySizes(value.shape);
}

} // namespace

/// With the seconds of an op, and of a message with a value.
static StageUnits
collectUnits(const PlanningProblem &problem,
             llvm::function_ref<double(int)> getOpSeconds,
             llvm::function_ref<double(int)> getMessageSeconds) {
  StageUnits units;
  units.ofOp.assign(problem.ops.size(), -1);
  std::vector<bool> isTrained = findTrained(problem);
  std::vector<Sources> sources(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    sources[index].hasBatch =
        value.kind == ValueKind::input && value.batchDimension >= 0;
    sources[index].hasLargeParameter =
        value.kind == ValueKind::parameter &&
        (isTrained[index] || getElementCount(value) > mostSmallElements);
  }
  int lossUnit = -1;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    if (!isBeforeBackward(op.role))
      continue;
    Sources own;
    bool updates = false;
    for (int operand : op.operands) {
      const Sources &other = sources[operand];
      own.hasUnit |= other.hasUnit;
      own.hasBatch |= other.hasBatch;
      own.hasLargeParameter |= other.hasLargeParameter;
      own.seconds += other.seconds;
    }
    own.seconds += getOpSeconds(static_cast<int>(index));
    double message = 0;
    for (int result : op.results) {
      updates |= problem.values[result].updates >= 0;
      message += getMessageSeconds(result);
    }
    bool isCloned =
        !own.hasUnit && op.role == OpRole::forward && !updates &&
        !isProduct(op.work.kind) && !op.accumulates &&
        (!own.hasBatch || (!own.hasLargeParameter && own.seconds <= message));
    if (!isCloned) {
      own.hasUnit = true;
      bool isLoss = op.role == OpRole::loss;
      int unit = units.getCount();
      if (isLoss && lossUnit >= 0)
        unit = lossUnit;
      else
        units.units.emplace_back();
      if (isLoss)
        lossUnit = unit;
      units.units[unit].push_back(static_cast<int>(index));
      units.ofOp[index] = unit;
    }
    for (int result : op.results)
      sources[result] = own;
  }
  return units;
}

StageUnits parplan::getStageUnits(const PlanningProblem &problem,
                                  const PlanningAnswer &answer,
                                  const PlanCosts &costs) {
  int axis = findPipelineAxis(answer.mesh);
  auto getOpSeconds = [&](int index) {
    const PlanningOp &op = problem.ops[index];
    const FactorAssignment &assignment = answer.assignments[index];
    return (costs.getOpSeconds(problem, op, assignment, answer.mesh) +
            costs.getInnerSeconds(problem, op, assignment, answer.mesh)) /
           static_cast<double>(getRepeat(problem, op));
  };
  auto getMessageSeconds = [&](int value) {
    int64_t bytes =
        getLocalBytes(problem.values[value], answer.mesh, answer.rest[value]);
    return axis < 0 ? 0.0
                    : costs.getCollectiveSeconds(CollectiveKind::send,
                                                 answer.mesh, {axis}, bytes);
  };
  return collectUnits(problem, getOpSeconds, getMessageSeconds);
}

int64_t parplan::countMostStages(const PlanningProblem &problem) {
  // Nothing is cheaper than a message.
  return collectUnits(
             problem, [](int) { return 1.0; }, [](int) { return 0.0; })
      .getCount();
}

namespace {

class StageSpreading {
public:
  StageSpreading(const PlanningProblem &problem, const StageUnits &units,
                 llvm::ArrayRef<int> stageOfUnit)
      : problem(problem), units(units), phases(getPhases(problem)),
        producers(problem.values.size(), -1),
        stages(problem.ops.size(), unknown) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
      if (op.group >= 0 && op.isLeader)
        leaders[op.group] = static_cast<int>(index);
      if (units.ofOp[index] >= 0)
        stages[index] = stageOfUnit[units.ofOp[index]];
    }
  }

  std::vector<int> run() {
    placeFollowers();
    placeParameters();
    placeBackward();
    placeEnd();
    cloneWhereRead();
    return std::move(stages);
  }

private:
  static constexpr int unknown = -2;

  /// Ops of the forward pass without a unit are where they are read.
  void placeFollowers() {
    std::vector<std::set<int>> readers(problem.ops.size());
    for (size_t index = problem.ops.size(); index-- > 0;) {
      const PlanningOp &op = problem.ops[index];
      if (!isBeforeBackward(op.role))
        continue;
      std::set<int> own = {stages[index]};
      if (stages[index] == unknown) {
        own = readers[index];
        stages[index] = own.size() == 1 ? *own.begin() : own.empty() ? 0 : -1;
      }
      for (int operand : op.operands)
        if (producers[operand] >= 0)
          readers[producers[operand]].insert(own.begin(), own.end());
      for (int operand : op.operands)
        if (problem.values[operand].kind == ValueKind::parameter &&
            !own.empty())
          addReader(operand, *own.begin());
    }
  }

  void addReader(int parameter, int stage) {
    auto [it, isNew] = firstReaders.try_emplace(parameter, stage);
    it->second = std::min(it->second, stage);
  }

  void placeParameters() {
    // States are with the parameter that their op replaces.
    for (const PlanningOp &op : problem.ops)
      for (int result : op.results) {
        auto known = firstReaders.find(problem.values[result].updates);
        if (known == firstReaders.end())
          continue;
        for (int other : op.results)
          if (problem.values[other].updates >= 0)
            firstReaders.try_emplace(problem.values[other].updates,
                                     known->second);
        break;
      }
  }

  std::vector<int> getOperandStages(const PlanningOp &op) const {
    std::vector<int> found;
    for (int operand : op.operands)
      if (int producer = producers[operand];
          producer >= 0 && stages[producer] >= 0)
        found.push_back(stages[producer]);
    return found;
  }

  bool isOfBackward(int op) const {
    return phases[op] == Phase::inputGradient ||
           phases[op] == Phase::weightGradient;
  }

  void placeBackward() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (stages[index] != unknown || phases[index] == Phase::end)
        continue;
      int leader = op.group >= 0 ? leaders.at(op.group) : -1;
      if (leader >= 0 && leader != static_cast<int>(index) &&
          stages[leader] >= 0) {
        stages[index] = stages[leader];
        continue;
      }
      // Gradients come from the end of the model.
      std::optional<int> first;
      for (int operand : op.operands) {
        int producer = producers[operand];
        if (producer >= 0 && stages[producer] >= 0 && isOfBackward(producer))
          first = std::min(first.value_or(stages[producer]), stages[producer]);
      }
      if (!first)
        for (int stage : getOperandStages(op))
          first = std::max(first.value_or(stage), stage);
      stages[index] = first.value_or(-1);
    }
  }

  void placeEnd() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (stages[index] != unknown)
        continue;
      std::set<int> found;
      for (int result : op.results) {
        auto known = firstReaders.find(problem.values[result].updates);
        if (known != firstReaders.end()) {
          found = {known->second};
          break;
        }
      }
      if (found.empty()) {
        for (int stage : getOperandStages(op))
          found.insert(stage);
        for (int operand : op.operands)
          if (auto known = firstReaders.find(operand);
              known != firstReaders.end())
            found.insert(known->second);
      }
      stages[index] = found.size() == 1 ? *found.begin() : -1;
    }
  }

  /// What may be cloned and is read in another stage is cloned, and so is what
  /// it reads.
  void cloneWhereRead() {
    for (size_t index = problem.ops.size(); index-- > 0;) {
      const PlanningOp &op = problem.ops[index];
      for (int operand : op.operands) {
        int producer = producers[operand];
        if (producer >= 0 && isBeforeBackward(problem.ops[producer].role) &&
            units.ofOp[producer] < 0 && stages[producer] != stages[index])
          stages[producer] = -1;
      }
    }
  }

  const PlanningProblem &problem;
  const StageUnits &units;
  std::vector<Phase> phases;
  std::vector<int> producers;
  std::vector<int> stages;
  std::map<int64_t, int> leaders;
  /// Of variables, the first stage that reads them, or their parameter.
  std::map<int, int> firstReaders;
};

} // namespace

std::vector<int> parplan::spreadStages(const PlanningProblem &problem,
                                       const StageUnits &units,
                                       llvm::ArrayRef<int> stageOfUnit) {
  return StageSpreading(problem, units, stageOfUnit).run();
}
