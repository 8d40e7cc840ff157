//===- Execution.h - What runs where, and how often -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// A plan with stages, recomputation and tiers as a list of runs. An op is run
// in every stage that it is in, and once more for the backward pass if it is
// recomputed. Everything that the evaluator says of such a plan follows from
// this list.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_EXECUTION_H
#define PARPLAN_LIB_PLANNER_EXECUTION_H

#include "NumberedPlan.h"

namespace parplan {

struct Execution {
  struct Run {
    int op = 0;
    int stage = 0;
    Phase phase = Phase::forward;
    /// Made again for the backward pass, in place of being kept. What is made
    /// of each upload of a parameter runs again, too, and is not meant.
    bool isRemade = false;
    /// The last run of a kernel that computes it in place of its own: its
    /// result is never in memory. -1: it has its own.
    int kernel = -1;
  };
  /// A value in a stage: made there, received from another stage, or, before
  /// the step, loaded. What is made again is another instance.
  struct Instance {
    int value = 0;
    int stage = 0;
    /// The run that makes it, or -1, and the stage that sends it, or -1.
    int producer = -1;
    int sender = -1;
    /// The phase of the op that makes a value which is sent.
    Phase sentPhase = Phase::start;
    /// A run of the earliest phase that reads it, and the last one in the order
    /// of the passes, -1: none. Of a split backward pass what gradients of
    /// weights read waits for them, and what is read inside of another kernel
    /// for that kernel.
    int firstUse = -1;
    int lastUse = -1;
    bool isReadAtRest = false;
  };
  /// A layout of an instance besides that at rest (`ValueCopy`).
  struct Copy {
    int instance = 0;
    /// By its number in the plan.
    int layout = 0;
    int64_t bytes = 0;
    /// In the order of the passes.
    int firstUse = 0;
    int lastUse = 0;
    CopyReader reader;
    int64_t repeat = 1;
  };
  /// In program order; of a stage, in its order for one micro-batch.
  std::vector<Run> runs;
  std::vector<Instance> instances;
  std::vector<Copy> copies;

  bool isInRegisters(const Instance &instance) const {
    return instance.producer >= 0 && runs[instance.producer].kernel >= 0;
  }
};

/// Of a plan that `verifyAnswer` accepts.
Execution getExecution(const NumberedPlan &plan);
Execution getExecution(const PlanningProblem &problem,
                       const PlanningAnswer &answer);

/// Per run the seconds of it for one micro-batch (once per step for ops that
/// run once), and those for what it makes once per step of many micro-batches.
/// Of what runs on the host these are the reshards of what it reads and makes,
/// which devices carry out.
struct RunSeconds {
  WorkSeconds each, once;
};
std::vector<RunSeconds> getRunSeconds(const NumberedPlan &plan,
                                      const Execution &execution);

/// True for the gradient of a parameter that several stages read, in another
/// one than that in which the sum is updated. Stages sum such gradients over
/// the micro-batches, exchange them once per step and all update their copy.
bool isTiedGradient(const Execution &execution,
                    const Execution::Instance &instance);

/// The ops whose results a sum over micro-batches adds up, one for each reader
/// of a weight: with stages, each of them is summed up by itself where it is
/// made, so that bits do not depend on the cuts.
std::vector<int> findSummedOps(const PlanningProblem &problem,
                               llvm::ArrayRef<int> producers, int accumulate);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_EXECUTION_H
