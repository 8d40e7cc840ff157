//===- StageMemory.cpp - Live bytes of positions of a pipeline ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageMemory.h"

#include "ReceivedBytes.h"
#include "StageBytes.h"
#include "StepTime.h"

#include "parplan/Pipeline/Visits.h"
#include "parplan/Planner/Evaluator.h"

#include <algorithm>

using namespace parplan;

namespace {

/// Walks the passes of every position.
class MemoryCounter {
public:
  MemoryCounter(const StageBytes &bytes, const PipelineSchedule &schedule)
      : bytes(bytes), plan(bytes.getPlan()), shape(bytes.getShape()),
        schedule(schedule) {}

  StageMemory count() {
    received = getReceivedBytes(plan, bytes.getExecution(), schedule);
    addVisits();
    StageMemory memory;
    for (int64_t position = 0; position < shape.positions; ++position)
      memory.positions.push_back(countPosition(position));
    return memory;
  }

private:
  /// What a visit adds up, whole, from its first pass until it is reduced: it
  /// still is when the next pass begins.
  void addVisits() {
    std::vector<int64_t> bytesOf(shape.getStageCount(), 0);
    for (auto [value, count] : llvm::enumerate(bytes.getVisitCounts())) {
      if (count == 0)
        continue;
      int producer = plan.facts.producers[value];
      bytesOf[plan.answer.getStage(producer)] += plan.tables.getBytes(
          static_cast<int>(value), plan.getMade(producer, /*result=*/0));
    }
    for (int64_t position = 0; position < shape.positions; ++position) {
      std::vector<int64_t> &ofPosition =
          visiting.emplace_back(schedule.passes[position].size(), 0);
      auto passCount = static_cast<int64_t>(ofPosition.size());
      for (const Visit &visit : findVisits(schedule, position))
        for (int64_t pass = visit.getFirst();
             pass < std::min(visit.getLast() + 2, passCount); ++pass)
          ofPosition[pass] += bytesOf[getStage(shape, position, visit.chunk)];
    }
  }

  StageMemory::Position countPosition(int64_t position) {
    const StageBytes::Position &permanent = bytes.getPosition(position);
    StageMemory::Position result;
    result.parameterBytes = permanent.parameterBytes;
    result.optimizerBytes = permanent.optimizerBytes;
    result.hostBytes = permanent.hostBytes;
    result.nvmeBytes = permanent.nvmeBytes;
    std::vector<const StageBytes::Stage *> stages;
    int64_t ofStep = 0, gradientsOfStep = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const StageBytes::Stage &stage =
          bytes.getStage(getStage(shape, position, chunk));
      stages.push_back(&stage);
      ofStep += stage.persistent;
      gradientsOfStep += stage.persistentGradients;
    }
    int64_t fixed = plan.problem.fixedBytes + permanent.deviceBytes;
    auto offer = [&](int64_t others, int64_t otherGradients,
                     const StageTimeline::Peak &peak) {
      int64_t all = fixed + others + peak.bytes;
      if (all <= result.deviceBytes)
        return;
      result.deviceBytes = all;
      result.gradientBytes = otherGradients + peak.gradientBytes;
      result.peakOp = peak.op;
    };
    auto offerOfAll = [&](Phase phase) {
      StageTimeline::Peak sum;
      for (const StageBytes::Stage *stage : stages) {
        const StageTimeline::Peak &peak = stage->getPeak(phase);
        sum.bytes += peak.bytes;
        sum.gradientBytes += peak.gradientBytes;
        sum.op = peak.op;
      }
      offer(0, 0, sum);
    };
    offerOfAll(Phase::start);
    offerOfAll(Phase::end);

    std::vector<int64_t> saved(stages.size(), 0), between = saved;
    int64_t hostWaiting = 0, trailing = 0;
    for (auto [pass, waiting, visit] :
         llvm::zip_equal(schedule.passes[position], received[position],
                         visiting[position])) {
      auto chunk = static_cast<size_t>(pass.chunk);
      Phase phase = getPhase(pass.kind);
      if (phase == Phase::inputGradient)
        --saved[chunk];
      if (phase == Phase::weightGradient)
        --between[chunk];
      int64_t unreduced = visit + trailing;
      int64_t beside = ofStep + waiting + unreduced;
      result.besideBytes = std::max(result.besideBytes, fixed + beside);
      int64_t others = beside, waits = 0;
      for (auto [stage, ofSaved, ofBetween] :
           llvm::zip_equal(stages, saved, between)) {
        others += ofSaved * stage->saved + ofBetween * stage->betweenGradients;
        waits += (ofSaved + 1) * stage->onHost;
      }
      hostWaiting = std::max(hostWaiting, waits);
      offer(others, gradientsOfStep + unreduced, stages[chunk]->getPeak(phase));
      if (phase == Phase::forward && hasBackward(shape.kind))
        ++saved[chunk];
      if (pass.kind == PassKind::inputGradient)
        ++between[chunk];
      trailing =
          phase == bytes.getReducingPhase() ? stages[chunk]->trailing : 0;
    }
    result.hostBytes += hostWaiting;
    return result;
  }

  const StageBytes &bytes;
  const NumberedPlan &plan;
  const ScheduleShape &shape;
  const PipelineSchedule &schedule;
  /// Per position and pass messages that wait, and the gradients that visits
  /// have added up.
  std::vector<std::vector<int64_t>> received, visiting;
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
    return makeSchedule(planned->shape, planned->times, planned->latencies,
                        planned->room);
  return makeSchedule(getShape(plan.problem, plan.answer));
}

StageMemory parplan::getStageMemory(const StageBytes &bytes,
                                    const PipelineSchedule &schedule) {
  return MemoryCounter(bytes, schedule).count();
}

StageMemory parplan::getStageMemory(const PlanningProblem &problem,
                                    const PlanningAnswer &answer) {
  OwnTables tables(problem, answer);
  NumberedPlan plan = tables.get();
  Execution execution = getExecution(plan);
  return getStageMemory(StageBytes(plan, execution), makeSchedule(plan));
}
