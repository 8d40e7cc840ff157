//===- CriticalPath.cpp - What the end of a step waits for ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/CriticalPath.h"

#include "PassTable.h"

#include "parplan/Support/Check.h"

using namespace parplan;

CriticalPath parplan::findCriticalPath(const PipelineSchedule &schedule,
                                       const StageTimes &times,
                                       const Latencies &latencies) {
  const ScheduleShape &shape = schedule.shape;
  PARPLAN_CHECK(hasBackward(shape.kind) && !splitsBackward(shape.kind),
                "no fixed order in ", printScheduleName(shape));
  Timeline timeline = simulate(schedule, times, latencies);
  PassTable table(schedule);
  CriticalPath path;
  path.stages.resize(shape.getStageCount());
  int64_t position = 0;
  auto index = static_cast<int64_t>(schedule.passes[position].size()) - 1;
  while (true) {
    const Pass &pass = schedule.passes[position][index];
    int64_t stage = getStage(shape, position, pass.chunk);
    bool isForward = pass.kind == PassKind::forward;
    CriticalPath::Counts &counts = path.stages[stage];
    ++(isForward ? counts.forwards : counts.backwards);
    // Nothing but its own position holds it up, or nothing else.
    bool isFree =
        index > 0 && timeline.passes[position][index - 1].endSeconds ==
                         timeline.passes[position][index].startSeconds;
    int64_t source = isForward ? stage - 1 : stage + 1;
    bool hasSource = source >= 0 && source < shape.getStageCount();
    if (isFree || (!hasSource && index > 0)) {
      --index;
      continue;
    }
    if (!hasSource)
      return path;
    path.messages += getPosition(shape, source) != position;
    position = getPosition(shape, source);
    index = table.find(source, pass.microBatch, !isForward);
  }
}
