//===- StageBytes.cpp - What stages and positions hold --------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageBytes.h"

#include "Offload.h"
#include "StepTime.h"

#include "parplan/Planner/VisitSums.h"

#include <algorithm>

using namespace parplan;

StageBytes::StageBytes(const NumberedPlan &plan, const Execution &execution)
    : plan(plan), problem(plan.problem), answer(plan.answer),
      shape(parplan::getShape(problem, answer)), execution(execution),
      newValues(plan.facts.newValues), producers(plan.facts.producers),
      timelines(StageTimeline::makeAll(execution, shape.getStageCount(),
                                       splitsBackward(shape.kind), times)),
      visitCounts(parplan::getVisitCounts(problem, answer)),
      stages(shape.getStageCount()), positions(shape.positions) {
  if (!answer.tiers.empty())
    findReaders();
  addRuns();
  for (size_t index = 0; index < execution.instances.size(); ++index)
    addInstance(static_cast<int>(index));
  for (const Execution::Copy &copy : execution.copies)
    addCopy(copy);
  for (auto [stage, timeline] : llvm::zip_equal(stages, timelines)) {
    stage.saved = timeline.getSaved();
    stage.betweenGradients = timeline.getSavedBetweenGradients();
    stage.peaks = timeline.getPeaks();
  }
}

void StageBytes::findReaders() {
  readers.resize(problem.values.size());
  for (auto [index, run] : llvm::enumerate(execution.runs)) {
    int number = static_cast<int>(index);
    for (int operand : problem.ops[run.op].operands)
      if (readers[operand].empty() || readers[operand].back() != number)
        readers[operand].push_back(number);
  }
}

bool StageBytes::isReducedPerPass(int value, const Execution::Run &run,
                                  int made) const {
  return problem.microBatches > 1 && problem.ops[run.op].perMicroBatch &&
         isOfReducingPass(run) && isGradient(value) &&
         problem.values[value].bucketBytes > 0 && visitCounts[value] == 0 &&
         llvm::any_of(plan.getChangeToRest(value, made).path->moves,
                      [](const Move &move) { return !move.isLocal(); });
}

bool StageBytes::isOfReducingPass(const Execution::Run &run) const {
  return run.phase == Phase::weightGradient || run.phase == getReducingPhase();
}

void StageBytes::addRuns() {
  const PlanCosts *costs = plan.tables.getCosts();
  std::vector<PassBuckets> buckets(
      shape.getStageCount(),
      PassBuckets(costs ? getBucketBytes(answer.mesh, *costs)
                        : mostBucketBytes));
  for (auto [index, run] : llvm::enumerate(execution.runs)) {
    const PlanningOp &op = problem.ops[run.op];
    int at = times[index];
    int64_t bytes = plan.getForm(run.op).innerBytes;
    for (auto [position, result] : llvm::enumerate(op.results))
      if (int made = plan.getMade(run.op, position);
          made != plan.rest[result] && !plan.isSum(result) && run.kernel < 0) {
        int64_t madeBytes = plan.tables.getBytes(result, made);
        if (isReducedPerPass(result, run, made))
          buckets[run.stage].add(at, madeBytes);
        else
          bytes += madeBytes;
        bytes += plan.getChangeToRest(result, made).transientBytes;
      }
    if (bytes > 0)
      timelines[run.stage].add(at, at, bytes);
  }
  for (auto [timeline, stage, ofStage] :
       llvm::zip_equal(timelines, stages, buckets)) {
    ofStage.addTo(timeline, timeline.getEnd(getReducingPhase()) - 1);
    stage.trailing = ofStage.getTrailingBytes();
  }
}

void StageBytes::addPermanent(int value, int64_t position) {
  const PlanningValue &description = problem.values[value];
  if (!isCounted.insert({value, position}).second)
    return;
  Position &of = positions[position];
  int64_t bytes = plan.getBytes(value);
  if (description.kind == ValueKind::input) {
    of.deviceBytes +=
        bytes * (description.batchDimension >= 0 ? problem.microBatches : 1);
    return;
  }
  bool isVariable = description.kind != ValueKind::constant;
  MemoryTier resting = isVariable
                           ? getRestingTier(answer, value, newValues[value])
                           : MemoryTier::device;
  int update =
      isVariable && newValues[value] >= 0 ? producers[newValues[value]] : -1;
  if (resting == MemoryTier::host)
    of.hostBytes += getUpdatedBytes(problem, answer, value, update);
  if (resting == MemoryTier::nvme)
    of.nvmeBytes += getUpdatedBytes(problem, answer, value, update);
  if (answer.getTier(value) != MemoryTier::device ||
      (resting != MemoryTier::device && !isReadBehindStart(value, position)))
    return;
  of.deviceBytes += bytes;
  if (description.kind == ValueKind::parameter)
    of.parameterBytes += bytes;
  if (description.kind == ValueKind::state)
    of.optimizerBytes += bytes;
}

bool StageBytes::isGradient(int value) const {
  if (producers[value] < 0 || problem.values[value].batchDimension >= 0)
    return false;
  OpRole role = problem.ops[producers[value]].role;
  return role == OpRole::weightGradient || role == OpRole::gradientSum;
}

void StageBytes::addInstance(int index) {
  const Execution::Instance &instance = execution.instances[index];
  const PlanningValue &value = problem.values[instance.value];
  int64_t position = parplan::getPosition(shape, instance.stage);
  if (value.kind != ValueKind::activation) {
    addPermanent(instance.value, position);
    if (value.kind != ValueKind::parameter)
      return;
    if (answer.getTier(instance.value) != MemoryTier::device)
      addStreamed(instance);
    else if (getRestingTier(answer, instance.value,
                            newValues[instance.value]) != MemoryTier::device &&
             !isReadBehindStart(instance.value, position))
      addLoaded(instance);
    return;
  }
  if (value.updates >= 0 || execution.isInRegisters(instance))
    return;
  StageTimeline &timeline = timelines[instance.stage];
  int64_t bytes = plan.getBytes(instance.value);
  bool ofGradient = isGradient(instance.value);
  if (isTiedGradient(execution, instance)) {
    // Summed where it is made, and sent once per step.
    stages[instance.sender].persistent += bytes;
    stages[instance.sender].persistentGradients += bytes;
    return;
  }
  // Received values come in before the pass that reads them.
  int first = 0, last = 0;
  if (instance.producer >= 0)
    first = times[instance.producer];
  else
    first = timeline.getBegin(execution.runs[instance.firstUse].phase);
  last = instance.lastUse >= 0 ? times[instance.lastUse] : first;
  last = std::max(first, last);
  int afterPasses = timeline.getBegin(Phase::end);
  const PlanningOp *maker = producers[instance.value] >= 0
                                ? &problem.ops[producers[instance.value]]
                                : nullptr;
  // A part for each micro-batch.
  bool isSum = plan.isSum(instance.value);
  if (value.isOutput && maker && maker->perMicroBatch && !isSum &&
      problem.microBatches > 1) {
    stages[instance.stage].persistent += problem.microBatches * bytes;
    return;
  }
  if (value.isOutput || value.isServed)
    last = timeline.getEnd(Phase::end) - 1;
  Phase made = instance.producer >= 0 ? execution.runs[instance.producer].phase
                                      : instance.sentPhase;
  bool isOfStep = maker && (made == Phase::start || made == Phase::end);
  int firstPass = timeline.getBegin(Phase::forward);
  int64_t count = 1;
  if (isSum && answer.pipeline)
    count = countSums(producers[instance.value], instance.stage);
  if (isSum || (isOfStep && first < afterPasses && last >= firstPass)) {
    // Exists during all passes.
    int64_t sumBytes =
        count * (isSum ? plan.getSumBytes(instance.value) : bytes);
    stages[instance.stage].persistent += sumBytes;
    if (ofGradient)
      stages[instance.stage].persistentGradients += sumBytes;
    // Several sums are added up after the passes, and come to rest there.
    if (count > 1 || (isSum && !plan.restsAsMade(instance.value)))
      timeline.add(afterPasses, afterPasses, sumBytes, ofGradient);
    if (first < firstPass)
      timeline.add(first, firstPass - 1, bytes, ofGradient);
    if (last >= afterPasses)
      timeline.add(afterPasses, last, bytes, ofGradient);
    // One after the other, each before what reads it.
    if (isSum && !plan.restsAsMade(instance.value) && last >= afterPasses)
      timeline.add(last, last, plan.getSumChange(instance.value));
    return;
  }
  if (waitsOnHost(problem, answer, execution, index)) {
    addWaiting(instance, timeline, first, last, bytes);
    return;
  }
  timeline.add(first, last, bytes, ofGradient);
}

int64_t StageBytes::countSums(int accumulate, int stage) const {
  return std::max<int64_t>(
      1, llvm::count_if(findSummedOps(problem, producers, accumulate),
                        [&](int op) { return answer.getStage(op) == stage; }));
}

void StageBytes::addWaiting(const Execution::Instance &instance,
                            StageTimeline &timeline, int first, int last,
                            int64_t bytes) {
  int lastForward = first, firstBackward = last;
  int border = timeline.getBegin(Phase::inputGradient);
  for (int run : readers[instance.value]) {
    if (execution.runs[run].stage != instance.stage)
      continue;
    int time = getKernelTime(run);
    if (time < border)
      lastForward = std::max(lastForward, time);
    else if (time <= last)
      firstBackward = std::min(firstBackward, time);
  }
  timeline.add(first, std::min(lastForward + 1, border - 1), bytes);
  timeline.add(std::max(firstBackward - 1, border), last, bytes);
  stages[instance.stage].onHost += bytes;
}

void StageBytes::addStreamed(const Execution::Instance &instance) {
  StageTimeline &timeline = timelines[instance.stage];
  int64_t bytes = plan.getBytes(instance.value);
  std::array<std::pair<int, int>, StageTimeline::phaseCount> uses;
  uses.fill({-1, -1});
  for (int number : readers[instance.value]) {
    const Execution::Run &run = execution.runs[number];
    if (run.stage != instance.stage || isOnHost(problem, answer, run.op))
      continue;
    const Execution::Run &kernel =
        run.kernel < 0 ? run : execution.runs[run.kernel];
    auto &[first, last] = uses[static_cast<int>(kernel.phase)];
    int time = getKernelTime(number);
    if (first < 0)
      first = timeline.getBlockBefore(problem, time);
    last = std::max(last, time);
  }
  for (auto [first, last] : uses)
    if (first >= 0)
      timeline.add(first, last, bytes);
}

bool StageBytes::isReadBehindStart(int value, int64_t position) const {
  return llvm::any_of(readers[value], [&](int number) {
    const Execution::Run &run = execution.runs[number];
    return run.phase != Phase::start &&
           parplan::getPosition(shape, run.stage) == position &&
           !isOnHost(problem, answer, run.op);
  });
}

std::optional<int> StageBytes::findFirstTime(int value, int stage) const {
  std::optional<int> first;
  auto consider = [&](std::optional<int> time) {
    if (time && (!first || *time < *first))
      first = time;
  };
  for (int number : readers[value]) {
    const Execution::Run &run = execution.runs[number];
    if (run.stage != stage || isOnHost(problem, answer, run.op))
      continue;
    if (run.phase != Phase::start)
      consider(getKernelTime(number));
    else
      for (int result : problem.ops[run.op].results)
        consider(findFirstTime(result, stage));
  }
  return first;
}

void StageBytes::addLoaded(const Execution::Instance &instance) {
  StageTimeline &timeline = timelines[instance.stage];
  int time = findFirstTime(instance.value, instance.stage)
                 .value_or(timeline.getBegin(Phase::start));
  timeline.add(timeline.getBlockBefore(problem, time), time,
               plan.getBytes(instance.value));
}

void StageBytes::addCopy(const Execution::Copy &copy) {
  const Execution::Instance &instance = execution.instances[copy.instance];
  if (execution.isInRegisters(instance))
    return;
  StageTimeline &timeline = timelines[instance.stage];
  int first = times[copy.firstUse];
  timeline.add(first, times[copy.lastUse], copy.bytes);
  if (int64_t transient =
          plan.getChangeFromRest(instance.value, copy.layout).transientBytes)
    timeline.add(first, first, transient);
}
