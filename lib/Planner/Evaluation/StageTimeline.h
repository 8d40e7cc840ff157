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

  /// Of every stage. `times` are of all runs.
  static std::vector<StageTimeline> makeAll(const Execution &execution,
                                            int64_t stageCount, bool isSplit,
                                            std::vector<int> &times);

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
  StageTimeline(const Execution &execution, llvm::ArrayRef<int> runs,
                bool isSplit, std::vector<int> &times);

  std::vector<int> ops;
  std::array<int, phaseCount + 1> begins{};
  std::vector<int64_t> differences, gradients;
  std::array<int64_t, 2> saved{};
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGETIMELINE_H
