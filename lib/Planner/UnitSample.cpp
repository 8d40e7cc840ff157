//===- UnitSample.cpp - One unit of each kind, as a problem ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitSample.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace parplan;

/// Per value of the problem its samples, by kind.
using SamplesOf =
    llvm::DenseMap<int, llvm::SmallVector<std::pair<int, int>, 2>>;

/// True for what lies in one layout that several units should agree about.
static bool isTied(const PlanningProblem &problem, const StepUnits &units,
                   int value, llvm::ArrayRef<int> readers) {
  ValueKind kind = problem.values[value].kind;
  if (kind == ValueKind::parameter || kind == ValueKind::state)
    return true;
  return llvm::any_of(readers, [&](int reader) {
    return units.unitOfOp[reader] >= 0 &&
           problem.ops[reader].role == OpRole::gradientSum;
  });
}

static void tieSamples(const PlanningProblem &problem, const StepUnits &units,
                       const SamplesOf &samplesOf, UnitSample &sample) {
  llvm::DenseMap<int, std::vector<int>> readersOf;
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int operand : op.operands)
      if (auto samples = samplesOf.find(operand);
          samples != samplesOf.end() && samples->second.size() > 1)
        readersOf[operand].push_back(static_cast<int>(index));
  for (const auto &[value, readers] : readersOf) {
    const auto &samples = samplesOf.find(value)->second;
    auto owner = llvm::find_if(samples, [&](const auto &entry) {
      return sample.values[entry.second].part == StepUnits::Part::shared;
    });
    if (owner == samples.end() || !isTied(problem, units, value, readers))
      continue;
    llvm::DenseSet<int> readingUnits;
    for (int reader : readers)
      readingUnits.insert(units.unitOfOp[reader]);
    for (auto [kind, number] : samples) {
      sample.values[number].tiedTo = owner->second;
      sample.values[number].readingUnits =
          static_cast<int>(readingUnits.size());
    }
  }
}

UnitSample parplan::makeUnitSample(const PlanningProblem &problem,
                                   const StepUnits &units) {
  UnitSample sample;
  sample.problem.microBatches = problem.microBatches;
  sample.problem.fixedBytes = problem.fixedBytes;
  SamplesOf samplesOf;
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
  tieSamples(problem, units, samplesOf, sample);
  sample.decisions = getDecisions(sample.problem);
  return sample;
}
