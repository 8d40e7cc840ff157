//===- PlanRoom.cpp - How much of the memory may wait ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanRoom.h"

#include "StageMemory.h"

#include "parplan/Pipeline/WaitingRooms.h"

#include <algorithm>
#include <optional>
#include <utility>

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
  auto getSeconds = [&](const PipelineSchedule &schedule) {
    return getStepSeconds(work, schedule);
  };
  // Which messages wait depends on the order of passes: what they left last.
  constexpr int rounds = 3;
  std::optional<RoomRank> least;
  WaitingRoom room, best;
  for (int round = 0; round <= rounds; ++round) {
    PipelineSchedule schedule =
        makeSchedule(shape, pipeline.times, pipeline.latencies, room);
    StageMemory memory = getStageMemory(bytes, schedule);
    int64_t excess = 0;
    widest.positionBytes.clear();
    for (const StageMemory::Position &position : memory.positions) {
      excess = std::max(excess, position.deviceBytes - limitBytes);
      widest.positionBytes.push_back(std::clamp<int64_t>(
          limitBytes - position.besideBytes, 0, WaitingRoom::mostBytes));
    }
    RoomRank rank{excess, getSeconds(schedule)};
    if (!least || rank.isNoWorseThan(*least)) {
      least = least ? rank.replacing(*least) : rank;
      best = room;
    }
    if (round == rounds || (round > 0 && excess == 0))
      break;
    WaitingRoom next = chooseRoom(shape, pipeline.times, pipeline.latencies,
                                  widest, getSeconds);
    if (next == room)
      break;
    room = std::move(next);
  }
  return best;
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
