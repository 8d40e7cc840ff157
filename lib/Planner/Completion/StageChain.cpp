//===- StageChain.cpp - A model as a chain of units -----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include "lib/Planner/Evaluation/Offload.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>

using namespace parplan;

namespace {

class ChainBuilder {
public:
  ChainBuilder(const PlanningProblem &problem, const PlanningAnswer &answer,
               const PlanCosts &costs, const StageUnits &units)
      : problem(problem), answer(answer), costs(costs), units(units),
        producers(problem.values.size(), -1) {
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
  }

  /// Every unit as a stage of its own gives the parts of the chain.
  StageChain run() {
    std::vector<int> identity;
    for (int unit = 0; unit < units.getCount(); ++unit)
      identity.push_back(unit);
    std::vector<int> unitOf = spreadStages(problem, units, identity);
    PlanningAnswer whole = answer;
    whole.pipeline.reset();
    whole.stages.clear();
    OwnTables tables(problem, whole, &costs);
    Execution execution = getExecution(tables.get());
    std::vector<RunSeconds> seconds = getRunSeconds(tables.get(), execution);
    Meetings meetings = findMeetings(problem, unitOf);
    chain.meetings = std::move(meetings.places);
    chain.units.resize(units.getCount());
    for (auto [run, spent] : llvm::zip_equal(execution.runs, seconds)) {
      if (unitOf[run.op] < 0)
        continue;
      StageChain::Unit &unit = chain.units[unitOf[run.op]];
      double each = spent.each.getTotal();
      unit.beforeMeetingSeconds += spent.once.getTotal();
      switch (run.phase) {
      case Phase::start:
        unit.startSeconds += each;
        break;
      case Phase::forward:
        unit.pass.forwardSeconds += each;
        break;
      case Phase::inputGradient:
        unit.pass.inputGradientSeconds += each;
        break;
      case Phase::weightGradient:
        unit.pass.weightGradientSeconds += each;
        break;
      case Phase::end:
        (meetings.isBefore[run.op] ? unit.beforeMeetingSeconds
                                   : unit.afterMeetingSeconds) += each;
        break;
      }
    }
    addBytes(execution, unitOf);
    addLatencies(unitOf);
    std::optional<int64_t> block;
    for (int unit = 0; unit < units.getCount(); ++unit) {
      int64_t own = problem.ops[units.units[unit].front()].block;
      chain.units[unit].startsBlock = block && own != *block;
      block = own;
    }
    return std::move(chain);
  }

private:
  int64_t getBytes(int value) const {
    return getLocalBytes(problem.values[value], answer.mesh,
                         answer.rest[value]);
  }

  /// Parameters with their states and sums of gradients are of the first unit
  /// that reads them; what both passes read is saved.
  void addBytes(const Execution &execution, llvm::ArrayRef<int> unitOf) {
    chain.fixedBytes = problem.fixedBytes;
    std::vector<int> firstOf(problem.values.size(), -1);
    for (const Execution::Run &run : execution.runs)
      for (int operand : problem.ops[run.op].operands)
        if (unitOf[run.op] >= 0 &&
            problem.values[operand].kind != ValueKind::activation &&
            (firstOf[operand] < 0 || unitOf[run.op] < firstOf[operand]))
          firstOf[operand] = unitOf[run.op];
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (firstOf[index] >= 0 && value.kind != ValueKind::activation &&
          answer.getTier(index) == MemoryTier::device)
        chain.units[firstOf[index]].permanentBytes +=
            getBytes(static_cast<int>(index)) *
            (value.kind == ValueKind::input && value.batchDimension >= 0
                 ? problem.microBatches
                 : 1);
    for (size_t index = 0; index < execution.instances.size(); ++index) {
      const Execution::Instance &instance = execution.instances[index];
      if (instance.producer < 0 || instance.lastUse < 0 ||
          execution.isInRegisters(instance) ||
          problem.values[instance.value].updates >= 0)
        continue;
      const Execution::Run &made = execution.runs[instance.producer];
      Phase last = execution.runs[instance.lastUse].phase;
      int unit = unitOf[made.op];
      if (unit < 0)
        continue;
      if (problem.ops[made.op].accumulates)
        addSums(made.op, unit, getBytes(instance.value), unitOf);
      else if (made.phase == Phase::forward &&
               (last == Phase::inputGradient ||
                last == Phase::weightGradient) &&
               !waitsOnHost(problem, answer, execution,
                            static_cast<int>(index)))
        chain.units[unit].savedBytes += getBytes(instance.value);
    }
    for (const Execution::Copy &copy : execution.copies) {
      const Execution::Run &made = execution.runs[copy.firstUse];
      Phase last = execution.runs[copy.lastUse].phase;
      if (execution.isInRegisters(execution.instances[copy.instance]))
        continue;
      if (unitOf[made.op] >= 0 && made.phase == Phase::forward &&
          (last == Phase::inputGradient || last == Phase::weightGradient))
        chain.units[unitOf[made.op]].savedBytes += copy.bytes;
    }
  }

  /// Every reader of a weight sums up its part of the gradient where it is.
  void addSums(int accumulate, int unit, int64_t bytes,
               llvm::ArrayRef<int> unitOf) {
    if (problem.microBatches == 1) {
      chain.units[unit].permanentBytes += bytes;
      return;
    }
    for (int op : findSummedOps(problem, producers, accumulate))
      chain.units[unitOf[op] < 0 ? unit : unitOf[op]].permanentBytes += bytes;
  }

  /// All values that cross a boundary are one message.
  void addLatencies(llvm::ArrayRef<int> unitOf) {
    std::vector<int> makers(problem.values.size(), -1),
        lastReaders(problem.values.size(), -1);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (!isBeforeBackward(op.role) || units.ofOp[index] < 0)
        continue;
      for (int result : op.results)
        makers[result] = unitOf[index];
      for (int operand : op.operands)
        lastReaders[operand] = std::max(lastReaders[operand], unitOf[index]);
    }
    std::vector<int64_t> crossing(units.getCount(), 0);
    for (size_t value = 0; value < problem.values.size(); ++value)
      for (int unit = makers[value]; unit >= 0 && unit < lastReaders[value];
           ++unit)
        crossing[unit] += getBytes(static_cast<int>(value));
    int axis = findPipelineAxis(answer.mesh);
    for (int unit = 0; unit + 1 < units.getCount(); ++unit)
      chain.latencies.push_back(
          costs.getCollectiveSeconds(CollectiveKind::send, answer.mesh, {axis},
                                     std::max<int64_t>(crossing[unit], 1)));
  }

  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const PlanCosts &costs;
  const StageUnits &units;
  std::vector<int> producers;
  StageChain chain;
};

} // namespace

StageChain parplan::getStageChain(const PlanningProblem &problem,
                                  const PlanningAnswer &answer,
                                  const PlanCosts &costs,
                                  const StageUnits &units) {
  return ChainBuilder(problem, answer, costs, units).run();
}
