//===- PlanRoom.cpp - How much of the memory may wait ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanRoom.h"

#include "parplan/Pipeline/WaitingRooms.h"

#include <algorithm>

using namespace parplan;

WaitingRoom parplan::findRoom(const StageBytes &bytes, const StepWork &work,
                              int64_t limitBytes) {
  const PipelineChoice &pipeline = *bytes.getPlan().answer.pipeline;
  const ScheduleShape &shape = pipeline.shape;
  if (!splitsBackward(shape.kind))
    return {};
  WaitingRoom widest;
  for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
    PassBytes own = bytes.getStage(stage).getPassBytes();
    for (int64_t *each : {&own.saved, &own.waiting, &own.forward,
                          &own.inputGradient, &own.weightGradient})
      *each = std::min(*each, WaitingRoom::mostBytes);
    widest.stages.push_back(own);
  }
  // Which messages wait depends on the order of passes.
  constexpr int rounds = 3;
  std::vector<int64_t> beside(shape.positions, 0);
  WaitingRoom room;
  for (int round = 0; round < rounds; ++round) {
    StageMemory memory = getStageMemory(
        bytes, makeSchedule(shape, pipeline.times, pipeline.latencies, room));
    bool fits = true;
    widest.positionBytes.clear();
    for (auto [most, position] : llvm::zip_equal(beside, memory.positions)) {
      most = std::max(most, position.besideBytes);
      fits &= position.deviceBytes <= limitBytes;
      widest.positionBytes.push_back(std::max<int64_t>(0, limitBytes - most));
    }
    if (fits && round > 0)
      break;
    room = chooseRoom(shape, pipeline.times, pipeline.latencies, widest,
                      [&](const PipelineSchedule &schedule) {
                        return getStepSeconds(work, schedule);
                      });
  }
  return room;
}

void parplan::setPipelineRoom(const PlanningProblem &problem,
                              const PlanCosts &costs, int64_t limitBytes,
                              PlanningAnswer &answer) {
  if (!answer.pipeline)
    return;
  OwnTables tables(problem, answer, &costs);
  NumberedPlan plan = tables.get();
  Execution execution = getExecution(plan);
  StepWork work = getStepWork(plan, execution);
  setPipelineTimes(work, answer);
  answer.pipeline->room =
      findRoom(StageBytes(plan, execution), work, limitBytes);
}
