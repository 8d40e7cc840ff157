//===- StageMemory.cpp - Live bytes of positions of a pipeline ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageMemory.h"

#include "Offload.h"
#include "PassBuckets.h"
#include "ReceivedBytes.h"
#include "StageTimeline.h"
#include "StepTime.h"

#include "parplan/Pipeline/Visits.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Panels.h"
#include "parplan/Planner/VisitSums.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <array>

using namespace parplan;

namespace {

class MemoryCounter {
public:
  MemoryCounter(const NumberedPlan &plan, const Execution &execution,
                const PipelineSchedule &schedule)
      : plan(plan), problem(plan.problem), answer(plan.answer),
        shape(schedule.shape), schedule(schedule), execution(execution),
        newValues(plan.facts.newValues), producers(plan.facts.producers),
        visitCounts(getVisitCounts(problem, answer)),
        persistent(shape.getStageCount()),
        waitingBytes(shape.getStageCount(), 0), positions(shape.positions) {
    timelines = StageTimeline::makeAll(execution, shape.getStageCount(),
                                       splitsBackward(shape.kind), times);
    if (!answer.tiers.empty())
      findReaders();
  }

  StageMemory count() {
    received = getReceivedBytes(plan, execution, schedule);
    addVisits();
    addRuns();
    for (size_t index = 0; index < execution.instances.size(); ++index)
      addInstance(static_cast<int>(index));
    for (const Execution::Copy &copy : execution.copies)
      addCopy(copy);
    StageMemory memory;
    for (int64_t position = 0; position < shape.positions; ++position)
      finish(position, memory);
    return memory;
  }

private:
  /// Per value the runs that read it, each once.
  void findReaders() {
    readers.resize(problem.values.size());
    for (auto [index, run] : llvm::enumerate(execution.runs)) {
      int number = static_cast<int>(index);
      for (int operand : problem.ops[run.op].operands)
        if (readers[operand].empty() || readers[operand].back() != number)
          readers[operand].push_back(number);
    }
  }

  int64_t getBytes(int value) const { return plan.getBytes(value); }
  int getTime(int run) const { return times[run]; }
  StageTimeline &getTimeline(int stage) { return timelines[stage]; }

  /// Whether every pass brings what it makes to where its sum lies, in a bucket
  /// of the program. What a single one makes lies there until the update.
  bool isReducedPerPass(int value, const Execution::Run &run, int made) const {
    return problem.microBatches > 1 && problem.ops[run.op].perMicroBatch &&
           isOfReducingPass(run) && isGradient(value) &&
           problem.values[value].bucketBytes > 0 && visitCounts[value] == 0 &&
           llvm::any_of(plan.getChangeToRest(value, made).path->moves,
                        [](const Move &move) { return !move.isLocal(); });
  }

  /// What makes gradients of weights.
  Phase getReducingPhase() const {
    return splitsBackward(shape.kind) ? Phase::weightGradient
                                      : Phase::inputGradient;
  }

  bool isOfReducingPass(const Execution::Run &run) const {
    return run.phase == Phase::weightGradient ||
           run.phase == getReducingPhase();
  }

  void addRuns() {
    const PlanCosts *costs = plan.tables.getCosts();
    buckets.assign(shape.getStageCount(),
                   PassBuckets(costs ? getBucketBytes(answer.mesh, *costs)
                                     : mostBucketBytes));
    for (auto [index, run] : llvm::enumerate(execution.runs)) {
      const PlanningOp &op = problem.ops[run.op];
      int at = getTime(static_cast<int>(index));
      int64_t bytes = plan.getForm(run.op).panelBytes;
      for (auto [position, result] : llvm::enumerate(op.results))
        if (int made = plan.getMade(run.op, position);
            made != plan.rest[result] && !plan.isSum(result)) {
          int64_t madeBytes = plan.tables.getBytes(result, made);
          if (isReducedPerPass(result, run, made))
            buckets[run.stage].add(at, madeBytes);
          else
            bytes += madeBytes;
          bytes += plan.getChangeToRest(result, made).transientBytes;
        }
      if (bytes > 0)
        getTimeline(run.stage).add(at, at, bytes);
    }
    for (auto [timeline, ofStage] : llvm::zip_equal(timelines, buckets))
      ofStage.addTo(timeline, timeline.getEnd(getReducingPhase()) - 1);
  }

  /// What a rank has for the whole step.
  void addPermanent(int value, int64_t position) {
    const PlanningValue &description = problem.values[value];
    if (!isCounted.insert({value, position}).second)
      return;
    StageMemory::Position &of = positions[position];
    int64_t bytes = getBytes(value);
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
    if (answer.getTier(value) != MemoryTier::device)
      return;
    of.deviceBytes += bytes;
    (description.kind == ValueKind::parameter ? of.parameterBytes
     : description.kind == ValueKind::state   ? of.optimizerBytes
                                              : of.otherBytes) += bytes;
  }

  bool isGradient(int value) const {
    if (producers[value] < 0 || problem.values[value].batchDimension >= 0)
      return false;
    OpRole role = problem.ops[producers[value]].role;
    return role == OpRole::weightGradient || role == OpRole::gradientSum;
  }

  void addInstance(int index) {
    const Execution::Instance &instance = execution.instances[index];
    const PlanningValue &value = problem.values[instance.value];
    int64_t position = getPosition(shape, instance.stage);
    if (value.kind != ValueKind::activation) {
      addPermanent(instance.value, position);
      if (value.kind == ValueKind::parameter &&
          answer.getTier(instance.value) != MemoryTier::device)
        addStreamed(instance);
      return;
    }
    if (value.updates >= 0)
      return;
    StageTimeline &timeline = getTimeline(instance.stage);
    int64_t bytes = getBytes(instance.value);
    bool ofGradient = isGradient(instance.value);
    if (isTiedGradient(execution, instance)) {
      // Summed where it is made, and sent once per step.
      persistent[instance.sender].bytes += bytes;
      persistent[instance.sender].gradientBytes += bytes;
      return;
    }
    // Received values come in before the pass that reads them.
    int first = 0, last = 0;
    if (instance.producer >= 0)
      first = getTime(instance.producer);
    else
      first = timeline.getBegin(execution.runs[instance.firstUse].phase);
    last = instance.lastUse >= 0 ? getTime(instance.lastUse) : first;
    last = std::max(first, last);
    int afterPasses = timeline.getBegin(Phase::end);
    const PlanningOp *maker = producers[instance.value] >= 0
                                  ? &problem.ops[producers[instance.value]]
                                  : nullptr;
    // A part for each micro-batch.
    bool isSum = plan.isSum(instance.value);
    if (value.isOutput && maker && maker->perMicroBatch && !isSum &&
        problem.microBatches > 1) {
      persistent[instance.stage].bytes += problem.microBatches * bytes;
      return;
    }
    if (value.isOutput || value.isServed)
      last = timeline.getEnd(Phase::end) - 1;
    bool isOfStep = maker && !maker->accumulates && !maker->perMicroBatch &&
                    (plan.facts.isTraining || problem.microBatches > 1);
    int firstPass = timeline.getBegin(Phase::forward);
    int64_t count = 1;
    if (isSum && answer.pipeline)
      count = countSums(producers[instance.value], instance.stage);
    if (isSum || (isOfStep && first < afterPasses && last >= firstPass)) {
      // Exists during all passes.
      int64_t sumBytes =
          count * (isSum ? plan.getSumBytes(instance.value) : bytes);
      persistent[instance.stage].bytes += sumBytes;
      if (ofGradient)
        persistent[instance.stage].gradientBytes += sumBytes;
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

  /// What readers on a stage contribute to a gradient has a sum each.
  int64_t countSums(int accumulate, int stage) const {
    return std::max<int64_t>(
        1,
        llvm::count_if(findSummedOps(problem, producers, accumulate),
                       [&](int op) { return answer.getStage(op) == stage; }));
  }

  /// Down after the last reader of the forward pass, up before the first one of
  /// the backward pass.
  void addWaiting(const Execution::Instance &instance, StageTimeline &timeline,
                  int first, int last, int64_t bytes) {
    int lastForward = first, firstBackward = last;
    int border = timeline.getBegin(Phase::inputGradient);
    for (int run : readers[instance.value]) {
      if (execution.runs[run].stage != instance.stage)
        continue;
      int time = getTime(run);
      if (time < border)
        lastForward = std::max(lastForward, time);
      else if (time <= last)
        firstBackward = std::min(firstBackward, time);
    }
    timeline.add(first, std::min(lastForward + 1, border - 1), bytes);
    timeline.add(std::max(firstBackward - 1, border), last, bytes);
    waitingBytes[instance.stage] += bytes;
  }

  /// A parameter comes a block ahead and goes after its last reader of the
  /// pass.
  void addStreamed(const Execution::Instance &instance) {
    StageTimeline &timeline = getTimeline(instance.stage);
    int64_t bytes = getBytes(instance.value);
    std::array<std::pair<int, int>, StageTimeline::phaseCount> uses;
    uses.fill({-1, -1});
    for (int number : readers[instance.value]) {
      const Execution::Run &run = execution.runs[number];
      if (run.stage != instance.stage || isOnHost(problem, answer, run.op))
        continue;
      auto &[first, last] = uses[static_cast<int>(run.phase)];
      int time = getTime(number);
      if (first < 0)
        first = timeline.getBlockBefore(problem, time);
      last = time;
    }
    for (auto [first, last] : uses)
      if (first >= 0)
        timeline.add(first, last, bytes);
  }

  void addCopy(const Execution::Copy &copy) {
    const Execution::Instance &instance = execution.instances[copy.instance];
    StageTimeline &timeline = getTimeline(instance.stage);
    int first = getTime(copy.firstUse);
    timeline.add(first, getTime(copy.lastUse), copy.bytes);
    if (int64_t transient =
            plan.getChangeFromRest(instance.value, copy.layout).transientBytes)
      timeline.add(first, first, transient);
  }

  /// What a visit adds up, whole, from its first pass until it is reduced: it
  /// still is when the next pass begins.
  void addVisits() {
    std::vector<int64_t> bytesOf(shape.getStageCount(), 0);
    for (auto [value, count] : llvm::enumerate(visitCounts)) {
      if (count == 0)
        continue;
      int producer = producers[value];
      bytesOf[answer.getStage(producer)] += plan.tables.getBytes(
          static_cast<int>(value), plan.getMade(producer, /*result=*/0));
    }
    for (int64_t position = 0; position < shape.positions; ++position) {
      std::vector<int64_t> &bytes =
          visiting.emplace_back(schedule.passes[position].size(), 0);
      auto passCount = static_cast<int64_t>(bytes.size());
      for (const Visit &visit : findVisits(schedule, position))
        for (int64_t pass = visit.getFirst();
             pass < std::min(visit.getLast() + 2, passCount); ++pass)
          bytes[pass] +=
              bytesOf[parplan::getStage(shape, position, visit.chunk)];
    }
  }

  void finish(int64_t position, StageMemory &memory) {
    StageMemory::Position result = positions[position];
    std::vector<int64_t> stages;
    std::vector<std::array<StageTimeline::Peak, StageTimeline::phaseCount>>
        peaks;
    int64_t ofStep = 0, gradientsOfStep = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int64_t stage = getStage(shape, position, chunk);
      stages.push_back(stage);
      peaks.push_back(timelines[stage].getPeaks());
      ofStep += persistent[stage].bytes;
      gradientsOfStep += persistent[stage].gradientBytes;
    }
    int64_t fixed = problem.fixedBytes + result.deviceBytes;
    result.deviceBytes = 0;
    auto offer = [&](int64_t others, int64_t otherGradients,
                     const StageTimeline::Peak &peak) {
      int64_t bytes = fixed + others + peak.bytes;
      if (bytes <= result.deviceBytes)
        return;
      result.deviceBytes = bytes;
      result.gradientBytes = otherGradients + peak.gradientBytes;
      result.peakOp = peak.op;
    };
    auto offerOfAll = [&](Phase phase) {
      StageTimeline::Peak sum;
      for (const auto &ofChunk : peaks) {
        const auto &peak = ofChunk[static_cast<int>(phase)];
        sum.bytes += peak.bytes;
        sum.gradientBytes += peak.gradientBytes;
        sum.op = peak.op;
      }
      offer(0, 0, sum);
    };
    offerOfAll(Phase::start);
    offerOfAll(Phase::end);

    std::vector<int64_t> saved(stages.size(), 0), between = saved,
                                                  inFlight = saved;
    int64_t hostWaiting = 0, trailing = 0;
    for (auto [pass, waiting, visit] :
         llvm::zip_equal(schedule.passes[position], received[position],
                         visiting[position])) {
      size_t chunk = static_cast<size_t>(pass.chunk);
      Phase phase = getPhase(pass.kind);
      if (phase == Phase::inputGradient)
        --saved[chunk];
      if (phase == Phase::weightGradient)
        --between[chunk];
      int64_t unreduced = visit + trailing;
      int64_t others = ofStep + waiting + unreduced, waits = 0;
      for (size_t other = 0; other < stages.size(); ++other) {
        const StageTimeline &timeline = timelines[stages[other]];
        others += saved[other] * timeline.getSaved() +
                  between[other] * timeline.getSavedBetweenGradients();
        waits += (saved[other] + 1) * waitingBytes[stages[other]];
      }
      hostWaiting = std::max(hostWaiting, waits);
      offer(others, gradientsOfStep + unreduced,
            peaks[chunk][static_cast<int>(phase)]);
      if (phase == Phase::forward && hasBackward(shape.kind))
        ++saved[chunk];
      if (pass.kind == PassKind::inputGradient)
        ++between[chunk];
      trailing = phase == getReducingPhase()
                     ? buckets[stages[chunk]].getTrailingBytes()
                     : 0;
    }
    result.hostBytes += hostWaiting;
    memory.positions.push_back(result);
  }

  const NumberedPlan &plan;
  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const ScheduleShape &shape;
  const PipelineSchedule &schedule;
  const Execution &execution;
  const std::vector<int> &newValues, &producers;
  /// Of runs in the timelines of their stages.
  std::vector<int> times;
  std::vector<StageTimeline> timelines;
  /// With tiers, per value.
  std::vector<std::vector<int>> readers;
  /// Per stage.
  std::vector<PassBuckets> buckets;
  std::vector<std::vector<int64_t>> received;
  /// Per position and pass the gradients that its visits have added up.
  std::vector<std::vector<int64_t>> visiting;
  /// Per value.
  std::vector<int64_t> visitCounts;
  struct Persistent {
    int64_t bytes = 0, gradientBytes = 0;
  };
  std::vector<Persistent> persistent;
  std::vector<int64_t> waitingBytes;
  std::vector<StageMemory::Position> positions;
  llvm::DenseSet<std::pair<int, int64_t>> isCounted;
};

} // namespace

bool parplan::isPlain(const PlanningAnswer &answer) {
  return !answer.pipeline &&
         llvm::none_of(answer.recomputed, [](bool again) { return again; }) &&
         llvm::all_of(answer.tiers, [](MemoryTier tier) {
           return tier == MemoryTier::device;
         });
}

PipelineSchedule parplan::makeSchedule(const NumberedPlan &plan) {
  if (const auto &planned = plan.answer.pipeline)
    return makeSchedule(planned->shape, planned->times, planned->latencies);
  return makeSchedule(getShape(plan.problem, plan.answer));
}

StageMemory parplan::getStageMemory(const NumberedPlan &plan,
                                    const Execution &execution,
                                    const PipelineSchedule &schedule) {
  return MemoryCounter(plan, execution, schedule).count();
}

StageMemory parplan::getStageMemory(const PlanningProblem &problem,
                                    const PlanningAnswer &answer) {
  OwnTables tables(problem, answer);
  return getStageMemory(tables.get(), getExecution(tables.get()),
                        makeSchedule(tables.get()));
}
