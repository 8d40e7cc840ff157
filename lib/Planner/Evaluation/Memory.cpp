//===- Memory.cpp - Highest sum of live bytes of a plan -------------------===//

#include "parplan/Planner/Evaluator.h"

#include "PlanKernels.h"
#include "StageBytes.h"
#include "StageMemory.h"
#include "lib/Planner/Problem/LeastCount.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace parplan;

namespace {

/// Bytes live at every op, kept as differences.
class LiveBytes {
public:
  explicit LiveBytes(size_t opCount) : differences(opCount + 1) {}

  /// `bytes` from `first` to `last`, both included.
  void add(int first, int last, int64_t bytes) {
    differences[first] += bytes;
    differences[last + 1] -= bytes;
  }
  /// The highest sum, and the first op that has it.
  std::pair<int64_t, int> getPeak() const {
    int64_t live = 0;
    std::pair<int64_t, int> peak = {0, 0};
    for (size_t op = 0; op < differences.size(); ++op)
      if ((live += differences[op]) > peak.first)
        peak = {live, static_cast<int>(op)};
    return peak;
  }
  int64_t getLive(int op) const {
    return std::accumulate(differences.begin(), differences.begin() + op + 1,
                           int64_t(0));
  }

private:
  std::vector<int64_t> differences;
};

/// When every value is live, in program order. With several micro-batches the
/// ops of a segment run for all of them before the next segment.
class LiveRanges {
public:
  LiveRanges(const NumberedPlan &plan, const PlanKernels &kernels)
      : problem(plan.problem), segments(plan.facts.segments),
        producers(plan.facts.producers), lastUses(problem.values.size(), -1),
        lastSegments(problem.values.size(), 0) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int at = static_cast<int>(index);
      starts.try_emplace(segments[index], at);
      if (op.perMicroBatch || op.accumulates)
        ends[segments[index]] = at;
      for (int operand : op.operands)
        addUse(operand, kernels.getEnd(at));
      for (int result : op.results)
        addUse(result, at);
    }
  }

  int getStart(int value) const {
    if (isCollected(value))
      return 0;
    int producer = std::max(producers[value], 0);
    bool isSum = producers[value] >= 0 && problem.microBatches > 1 &&
                 problem.ops[producer].accumulates;
    return isSum ? starts.at(segments[producer]) : producer;
  }
  /// Of a sum the last op of all that it adds up.
  int getSumEnd(int value) const { return ends.at(segments[producers[value]]); }
  int getEnd(int value) const {
    return problem.values[value].isOutput || problem.values[value].isServed
               ? static_cast<int>(problem.ops.size()) - 1
               : lastUses[value];
  }
  /// How many of it exist at once.
  int64_t getCount(int value) const {
    const PlanningValue &description = problem.values[value];
    if (description.kind == ValueKind::input)
      return description.batchDimension >= 0 ? problem.microBatches : 1;
    if (isCollected(value))
      return problem.microBatches;
    int producer = producers[value];
    if (producer < 0 || !problem.ops[producer].perMicroBatch ||
        problem.ops[producer].accumulates)
      return 1;
    return lastSegments[value] > segments[producer] ? problem.microBatches : 1;
  }
  /// True for gradients of parameters.
  bool isGradient(int value) const {
    if (producers[value] < 0 || problem.values[value].batchDimension >= 0)
      return false;
    OpRole role = problem.ops[producers[value]].role;
    return role == OpRole::weightGradient || role == OpRole::gradientSum;
  }

private:
  /// An output of which there is a part for every micro-batch.
  bool isCollected(int value) const {
    return problem.values[value].isOutput && problem.microBatches > 1 &&
           producers[value] >= 0 &&
           problem.ops[producers[value]].perMicroBatch &&
           !problem.ops[producers[value]].accumulates;
  }
  void addUse(int value, int op) {
    lastUses[value] = std::max(lastUses[value], op);
    lastSegments[value] = std::max(lastSegments[value], segments[op]);
  }

  const PlanningProblem &problem;
  const std::vector<int> &segments, &producers;
  std::vector<int> lastUses, lastSegments;
  /// First op of each segment, and the last one of its micro-batches.
  std::map<int, int> starts, ends;
};

} // namespace

/// The position that needs most.
static MemoryPeak getPeakOfStages(const NumberedPlan &plan) {
  MemoryPeak peak;
  Execution execution = getExecution(plan);
  StageMemory memory =
      getStageMemory(StageBytes(plan, execution), makeSchedule(plan));
  for (auto [number, position] : llvm::enumerate(memory.positions)) {
    peak.ofPositions.push_back(position.deviceBytes);
    if (position.deviceBytes <= peak.bytes)
      continue;
    peak.bytes = position.deviceBytes;
    peak.position = static_cast<int64_t>(number);
    peak.op = position.peakOp;
    peak.gradientBytes = position.gradientBytes;
    peak.parameterBytes = position.parameterBytes;
    peak.optimizerBytes = position.optimizerBytes;
  }
  return peak;
}

MemoryPeak parplan::getMemoryPeak(const NumberedPlan &plan) {
  const PlanningProblem &problem = plan.problem;
  MemoryPeak peak;
  if (!isPlain(plan.answer))
    return getPeakOfStages(plan);
  int64_t fixed = problem.fixedBytes;
  peak.bytes = fixed;
  if (problem.ops.empty())
    return peak;
  LiveBytes activations(problem.ops.size()), gradients(problem.ops.size());
  PlanKernels kernels(plan);
  LiveRanges ranges(plan, kernels);

  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    int at = static_cast<int>(index);
    activations.add(at, at, plan.getForm(at).innerBytes);
    for (auto [position, result] : llvm::enumerate(op.results))
      if (int made = plan.getMade(at, position);
          made != plan.rest[result] && !kernels.isFused(at)) {
        int64_t bytes = plan.getChangeToRest(result, made).transientBytes;
        if (plan.isSum(result)) {
          // One after the other, each before what reads it.
          int end = ranges.getEnd(result);
          activations.add(end, end, bytes);
          continue;
        }
        activations.add(at, at, bytes + plan.tables.getBytes(result, made));
      }
  }
  auto copies = getCopies(plan, &kernels);
  for (auto [number, value] : llvm::enumerate(problem.values)) {
    int index = static_cast<int>(number);
    int producer = plan.facts.producers[index];
    if (producer >= 0 && kernels.isFused(producer))
      continue;
    int64_t bytes = ranges.getCount(index) * plan.getBytes(index);
    int start = ranges.getStart(index), end = ranges.getEnd(index);
    if (plan.isSum(index) && !plan.restsAsMade(index)) {
      int sumEnd = ranges.getSumEnd(index);
      activations.add(start, sumEnd, plan.getSumBytes(index));
      if (ranges.isGradient(index))
        gradients.add(start, sumEnd, plan.getSumBytes(index));
      start = std::min(sumEnd + 1, end);
    }
    if (value.kind != ValueKind::activation)
      fixed += bytes;
    else if (value.updates < 0)
      activations.add(start, end, bytes);
    if (ranges.isGradient(index))
      gradients.add(start, end, bytes);
    for (const NumberedCopy &copy : copies[number]) {
      activations.add(copy.firstUse, copy.lastUse,
                      plan.tables.getBytes(index, copy.layout));
      activations.add(
          copy.firstUse, copy.firstUse,
          plan.getChangeFromRest(index, copy.layout).transientBytes);
    }
  }
  std::tie(peak.bytes, peak.op) = activations.getPeak();
  peak.bytes += fixed;
  peak.gradientBytes = gradients.getLive(peak.op);
  return peak;
}

MemoryPeak parplan::getMemoryPeak(const PlanningProblem &problem,
                                  const PlanningAnswer &answer) {
  return getMemoryPeak(OwnTables(problem, answer).get());
}

int64_t parplan::getPeakBytes(const PlanningProblem &problem,
                              const PlanningAnswer &answer, int *peakOp) {
  MemoryPeak peak = getMemoryPeak(problem, answer);
  if (peakOp)
    *peakOp = peak.op;
  return peak.bytes;
}

/// Activations with a copy that both passes read, those of most bytes first.
static std::vector<size_t> findSharedCopies(const PlanningProblem &problem,
                                            const PlanningAnswer &answer) {
  std::vector<std::pair<int64_t, size_t>> found;
  auto copies = getCopies(problem, answer);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.kind != ValueKind::activation)
      continue;
    int64_t bytes = 0;
    for (const ValueCopy &copy : copies[index])
      if (isBeforeBackward(problem.ops[copy.firstUse].role) &&
          !isBeforeBackward(problem.ops[copy.lastUse].role))
        bytes += getLocalBytes(value, answer.mesh, copy.layout);
    if (bytes > 0)
      found.emplace_back(-bytes, index);
  }
  llvm::sort(found);
  std::vector<size_t> values;
  for (auto [bytes, value] : found)
    values.push_back(value);
  return values;
}

bool parplan::gatherAgain(const PlanningProblem &problem,
                          PlanningAnswer &answer, int64_t limitBytes) {
  std::vector<size_t> shared = findSharedCopies(problem, answer);
  auto fitsWith = [&](size_t count) {
    answer.gathersAgain.assign(problem.values.size(), false);
    for (size_t value : llvm::ArrayRef(shared).take_front(count))
      answer.gathersAgain[value] = true;
    return getPeakBytes(problem, answer) <= limitBytes;
  };
  if (!fitsWith(shared.size())) {
    answer.gathersAgain.clear();
    return false;
  }
  // More of them never need more memory, but for copies that live across the
  // end of the forward pass alone.
  return fitsWith(findLeastCount(shared.size(), fitsWith));
}
