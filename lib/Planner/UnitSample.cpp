//===- UnitSample.cpp - One unit of each kind, as a problem ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitSample.h"

#include "llvm/ADT/DenseMap.h"

using namespace parplan;

UnitSample parplan::makeUnitSample(const PlanningProblem &problem,
                                   const StepUnits &units) {
  UnitSample sample;
  sample.problem.microBatches = problem.microBatches;
  sample.problem.fixedBytes = problem.fixedBytes;
  // Per value of the problem its samples, by kind.
  llvm::DenseMap<int, llvm::SmallVector<std::pair<int, int>, 2>> samplesOf;
  for (auto [number, kind] : llvm::enumerate(units.kinds)) {
    const StepUnits::Unit &unit = units.units[kind.representative];
    UnitSample::Range range;
    range.firstOp = static_cast<int>(sample.problem.ops.size());
    range.firstValue = static_cast<int>(sample.problem.values.size());
    llvm::DenseMap<int, int> numbers;
    for (auto [place, value] : llvm::enumerate(unit.values)) {
      numbers[value] = static_cast<int>(sample.problem.values.size());
      samplesOf[value].emplace_back(number, numbers[value]);
      sample.problem.values.push_back(problem.values[value]);
      UnitSample::Value &description = sample.values.emplace_back();
      description.part = kind.parts[place];
      description.slot = kind.slots[place];
    }
    for (int value : unit.values) {
      PlanningValue &description = sample.problem.values[numbers[value]];
      auto updated = numbers.find(description.updates);
      description.updates = updated == numbers.end() ? -1 : updated->second;
    }
    for (int op : unit.ops) {
      PlanningOp copy = problem.ops[op];
      int index = static_cast<int>(sample.problem.ops.size());
      for (int &operand : copy.operands)
        operand = numbers[operand];
      for (int &result : copy.results) {
        result = numbers[result];
        sample.values[result].maker = index;
      }
      sample.problem.ops.push_back(std::move(copy));
      sample.phases.push_back(units.phases[op]);
      sample.isBeforeMeeting.push_back(units.isBeforeMeeting[op]);
    }
    range.endOp = static_cast<int>(sample.problem.ops.size());
    range.endValue = static_cast<int>(sample.problem.values.size());
    sample.kinds.push_back(range);
  }
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    int unit = units.unitOfOp[index];
    for (int operand : op.operands) {
      auto samples = samplesOf.find(operand);
      if (samples == samplesOf.end())
        continue;
      for (auto [kind, number] : samples->second) {
        UnitSample::Value &value = sample.values[number];
        if (units.kinds[kind].representative == unit)
          continue;
        value.isCombined |= unit < 0 || op.role == OpRole::gradientSum;
        (units.phases[index] <= Phase::forward
             ? value.isReadForwardElsewhere
             : value.isReadBackwardElsewhere) = true;
      }
    }
  }
  sample.decisions = getDecisions(sample.problem);
  return sample;
}
