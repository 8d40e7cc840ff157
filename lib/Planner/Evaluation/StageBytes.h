//===- StageBytes.h - What stages and positions hold ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGEBYTES_H
#define PARPLAN_LIB_PLANNER_STAGEBYTES_H

#include "Execution.h"
#include "PassBuckets.h"
#include "StageTimeline.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace parplan {

/// What stages hold of each micro-batch, and positions for the whole step,
/// whatever the order of the passes. Plan and execution outlive it.
class StageBytes {
public:
  StageBytes(const NumberedPlan &plan, const Execution &execution);

  const ScheduleShape &getShape() const { return shape; }
  const NumberedPlan &getPlan() const { return plan; }
  const Execution &getExecution() const { return execution; }

  struct Stage {
    /// Between passes (`StageTimeline`).
    int64_t saved = 0, betweenGradients = 0;
    std::array<StageTimeline::Peak, StageTimeline::phaseCount> peaks;
    /// For the whole step, beside what positions have.
    int64_t persistent = 0, persistentGradients = 0;
    /// Of a bucket that is on its way behind the pass that filled it.
    int64_t trailing = 0;
    /// On the host, of a micro-batch that waits there.
    int64_t onHost = 0;

    const StageTimeline::Peak &getPeak(Phase phase) const {
      return peaks[static_cast<int>(phase)];
    }
    PassBytes getPassBytes() const {
      return {saved, betweenGradients, getPeak(Phase::forward).bytes,
              getPeak(Phase::inputGradient).bytes,
              getPeak(Phase::weightGradient).bytes};
    }
  };
  const Stage &getStage(int64_t stage) const { return stages[stage]; }
  /// What lies there whatever runs.
  struct Position {
    int64_t deviceBytes = 0, hostBytes = 0, nvmeBytes = 0;
    /// On the device.
    int64_t parameterBytes = 0, optimizerBytes = 0;
  };
  const Position &getPosition(int64_t position) const {
    return positions[position];
  }
  /// Per value the visits after which it is reduced; 0: it is not.
  const std::vector<int64_t> &getVisitCounts() const { return visitCounts; }
  /// What makes gradients of weights.
  Phase getReducingPhase() const {
    return splitsBackward(shape.kind) ? Phase::weightGradient
                                      : Phase::inputGradient;
  }

private:
  /// When a run, or the last kernel that computes it, is done.
  int getKernelTime(int run) const {
    int kernel = execution.runs[run].kernel;
    return times[kernel < 0 ? run : kernel];
  }
  /// Per value the runs that read it, each once.
  void findReaders();
  /// Whether every pass brings what it makes to where its sum lies, in a bucket
  /// of the program. What a single one makes lies there until the update.
  bool isReducedPerPass(int value, const Execution::Run &run, int made) const;
  bool isOfReducingPass(const Execution::Run &run) const;
  void addRuns();
  /// What a rank has for the whole step.
  void addPermanent(int value, int64_t position);
  bool isGradient(int value) const;
  void addInstance(int index);
  /// What readers on a stage contribute to a gradient has a sum each.
  int64_t countSums(int accumulate, int stage) const;
  /// Down after the last reader of the forward pass, up before the first one of
  /// the backward pass.
  void addWaiting(const Execution::Instance &instance, StageTimeline &timeline,
                  int first, int last, int64_t bytes);
  /// A parameter comes a block ahead and goes after its last reader of the
  /// pass.
  void addStreamed(const Execution::Instance &instance);
  bool isReadBehindStart(int value, int64_t position) const;
  /// When a value is read behind the start of the step, or what is made of it
  /// at the start.
  std::optional<int> findFirstTime(int value, int stage) const;
  /// A parameter that comes once per step, from where its update on the host
  /// left it, and of which passes read only what is made of it once, as
  /// narrower numbers are: it goes when that is read first.
  void addLoaded(const Execution::Instance &instance);
  void addCopy(const Execution::Copy &copy);

  const NumberedPlan &plan;
  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  ScheduleShape shape;
  const Execution &execution;
  const std::vector<int> &newValues, &producers;
  /// Of runs in the timelines of their stages.
  std::vector<int> times;
  std::vector<StageTimeline> timelines;
  /// With tiers, per value.
  std::vector<std::vector<int>> readers;
  std::vector<int64_t> visitCounts;
  std::vector<Stage> stages;
  std::vector<Position> positions;
  llvm::DenseSet<std::pair<int, int64_t>> isCounted;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGEBYTES_H
