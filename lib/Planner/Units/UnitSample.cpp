//===- UnitSample.cpp - One unit of each kind, as a problem ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitSample.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace parplan;

namespace {

/// Finds what several units read of one value, over all units: those of one
/// kind may share it with different ones.
class TieFinder {
public:
  TieFinder(const PlanningProblem &problem, const StepUnits &units,
            UnitSample &sample)
      : problem(problem), units(units), sample(sample),
        isTied(problem.values.size(), false),
        readingUnits(problem.values.size()) {}

  void run() {
    listReaders();
    for (auto [number, unit] : llvm::enumerate(units.units))
      for (auto [place, value] : llvm::enumerate(unit.values))
        if (isTied[value])
          users[value].emplace_back(static_cast<int>(number),
                                    getSample(unit, place));
    for (auto &[value, ofValue] : users)
      if (hasOwner(ofValue) && ofValue.size() > 1) {
        for (auto [unit, sampled] : ofValue)
          classes.unionSets(ofValue.front().second, sampled);
        sample.tied.push_back(std::move(ofValue));
      }
    for (auto [number, description] : llvm::enumerate(sample.values))
      if (auto leader = classes.findLeader(static_cast<int>(number));
          leader != classes.member_end())
        description.tiedTo = *leader;
    // A share of the instance with most readers is none too large for others.
    for (const StepUnits::Unit &unit : units.units)
      for (auto [place, value] : llvm::enumerate(unit.values)) {
        UnitSample::Value &description = sample.values[getSample(unit, place)];
        if (description.tiedTo >= 0)
          description.readingUnits =
              std::max(description.readingUnits,
                       static_cast<int>(readingUnits[value].size()));
      }
  }

private:
  using Users = std::vector<std::pair<int, int>>;

  int getSample(const StepUnits::Unit &unit, size_t place) const {
    return sample.kinds[unit.kind].firstValue + static_cast<int>(place);
  }

  void listReaders() {
    auto isVariable = [&](int value) {
      ValueKind kind = problem.values[value].kind;
      return kind == ValueKind::parameter || kind == ValueKind::state;
    };
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int unit = units.unitOfOp[index];
      for (int operand : op.operands) {
        isTied[operand] = isTied[operand] || isVariable(operand) ||
                          (unit >= 0 && op.role == OpRole::gradientSum);
        auto &readers = readingUnits[operand];
        if (unit >= 0 && !llvm::is_contained(readers, unit))
          readers.push_back(unit);
      }
      // As copies of variables in another type.
      if (units.phases[index] == Phase::start)
        for (int result : op.results)
          isTied[result] = true;
    }
  }

  bool hasOwner(const Users &ofValue) const {
    return llvm::any_of(ofValue, [&](const auto &user) {
      return sample.values[user.second].part == StepUnits::Part::shared;
    });
  }

  const PlanningProblem &problem;
  const StepUnits &units;
  UnitSample &sample;
  std::vector<bool> isTied;
  std::vector<llvm::SmallVector<int, 2>> readingUnits;
  /// By value, the units that have it with their samples of it.
  std::map<int, Users> users;
  llvm::EquivalenceClasses<int> classes;
};

} // namespace

/// Units of one kind may have a value from different ones: no bound may count
/// what one of them has in registers.
static void findMostFusedReads(const PlanningProblem &problem,
                               const StepUnits &units, UnitSample &sample) {
  std::vector<int> mostReads(problem.values.size(), 0);
  for (const PlanningOp &op : problem.ops)
    if (op.fusedReads > 0)
      mostReads[op.results.front()] = op.fusedReads;
  for (const StepUnits::Unit &unit : units.units)
    for (auto [place, value] : llvm::enumerate(unit.values)) {
      int sampled =
          sample.kinds[unit.kind].firstValue + static_cast<int>(place);
      int &ofKind = sample.values[sampled].mostFusedReads;
      ofKind = std::max(ofKind, mostReads[value]);
    }
}

static void findEqual(UnitSample &sample) {
  const Decisions &decisions = sample.decisions;
  sample.firstEqual = findFirstEqual(sample.problem, decisions);
  sample.firstEqualOp.assign(sample.problem.ops.size(), -1);
  for (auto [decision, first] :
       llvm::zip_equal(decisions.all, sample.firstEqual))
    for (auto [op, other] :
         llvm::zip_equal(decision.members, decisions.all[first].members))
      sample.firstEqualOp[op] = other;
}

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
      sample.valueOf.push_back(value);
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
      sample.opOf.push_back(op);
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
  TieFinder(problem, units, sample).run();
  findMostFusedReads(problem, units, sample);
  sample.decisions = getDecisions(sample.problem);
  findEqual(sample);
  return sample;
}

UnitSample parplan::complete(UnitSample sample, PlanningProblem problem) {
  sample.problem = std::move(problem);
  findEqual(sample);
  return sample;
}
