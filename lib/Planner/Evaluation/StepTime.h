//===- StepTime.h - How long a step with stages takes -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STEPTIME_H
#define PARPLAN_LIB_PLANNER_STEPTIME_H

#include "Execution.h"

#include "parplan/Pipeline/Timeline.h"

namespace parplan {

/// What the passes of one micro-batch take in a virtual stage.
struct StageWork {
  WorkSeconds forward, inputGradient, weightGradient;
  /// Transfers between tiers during a forward and during a backward pass, in
  /// either direction at the same time.
  double forwardTransfer = 0, backwardTransfer = 0;

  /// A pass lasts as long as its transfers.
  PassTimes getTimes() const;
};

/// What a position does once per step.
struct PositionWork {
  /// Before the first pass; after the last one until all positions meet, and
  /// from then on.
  WorkSeconds start, beforeMeeting, afterMeeting;
  /// Transfers and updates on the host, before and after the passes.
  double startTransfer = 0, endTransfer = 0;
  OffloadBytes offload;

  double getStart() const { return start.getTotal() + startTransfer; }
};

struct StepWork {
  std::vector<StageWork> stages;
  std::vector<PositionWork> positions;
  /// Of every boundary between two stages.
  std::vector<double> latencies;
  /// Point-to-point seconds of a position for one micro-batch.
  std::vector<double> messageSeconds;
  /// All positions meet between two steps.
  bool meets = true;
  /// `PlanCosts::getSharing`.
  double sharing = 1;

  StageTimes getTimes() const;
};

StepWork getStepWork(const NumberedPlan &plan, const Execution &execution);
StepWork getStepWork(const PlanningProblem &problem,
                     const PlanningAnswer &answer, const PlanCosts &costs);

/// The schedule of a plan; one position without a pipeline.
ScheduleShape getShape(const PlanningProblem &problem,
                       const PlanningAnswer &answer);

/// The time of a step in which passes and messages take `work`; of the second
/// one they are ordered for `times` and `latencies`.
double getStepSeconds(const StepWork &work, const PipelineSchedule &schedule);
double getStepSeconds(const StepWork &work, const ScheduleShape &shape,
                      const StageTimes &times, const Latencies &latencies);

/// Ops at the end of a step that combine what several places have, each of
/// which has passes of its own.
struct Meetings {
  /// Per op whether such an op needs it.
  std::vector<bool> isBefore;
  /// Per such op the places.
  std::vector<std::vector<int>> places;
};

/// `placeOf` has the place of every op, -1 for those that are everywhere.
/// `counts`: of some places alone; all if there is none.
Meetings
findMeetings(const PlanningProblem &problem, llvm::ArrayRef<int> placeOf,
             llvm::function_ref<bool(llvm::ArrayRef<int>)> counts = nullptr);

/// Sets what the passes and messages of a pipeline are ordered for to what they
/// take, and its room to no limit.
void setPipelineTimes(const PlanningProblem &problem, const PlanCosts &costs,
                      PlanningAnswer &answer);
/// The same of a plan with a pipeline, whose work is known.
void setPipelineTimes(const StepWork &work, PlanningAnswer &answer);

/// The axis with the role `pipeline`, or -1.
int findPipelineAxis(const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STEPTIME_H
