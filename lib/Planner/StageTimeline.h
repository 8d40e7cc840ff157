//===- StageTimeline.h - Live bytes of a stage over a step ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGETIMELINE_H
#define PARPLAN_LIB_PLANNER_STAGETIMELINE_H

#include "Execution.h"

#include <array>

namespace parplan {

/// The runs of one stage in its order for one micro-batch, each with a time:
/// phases one after the other, gradients of inputs and weights together unless
/// they are split.
class StageTimeline {
public:
  static constexpr int phaseCount = 5;

  StageTimeline(const Execution &execution, int stage, bool isSplit);

  int getTime(int run) const { return times[run]; }
  int getBegin(Phase phase) const { return begins[static_cast<int>(phase)]; }
  int getEnd(Phase phase) const { return begins[static_cast<int>(phase) + 1]; }

  /// The begin of what runs one block before `time`, in the same phase. What is
  /// in no block counts as one.
  int getBlockBefore(const PlanningProblem &problem, int time) const;

  /// `bytes` from `first` to `last`, both included.
  void add(int first, int last, int64_t bytes, bool isGradient = false);

  struct Peak {
    int64_t bytes = 0, gradientBytes = 0;
    int op = 0;
  };
  /// Of each phase, after everything was added.
  std::array<Peak, phaseCount> getPeaks() const;

  /// Of one micro-batch, between its forward pass and the gradient of its
  /// input, and from there to that of the weights.
  int64_t getSaved() const { return saved[0]; }
  int64_t getSavedBetweenGradients() const { return saved[1]; }

private:
  std::vector<int> times, ops;
  std::array<int, phaseCount + 1> begins{};
  std::vector<int64_t> differences, gradients;
  std::array<int64_t, 2> saved{};
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGETIMELINE_H
