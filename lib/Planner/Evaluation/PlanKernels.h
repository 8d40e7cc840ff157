//===- PlanKernels.h - What kernels of a plan take in -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANKERNELS_H
#define PARPLAN_LIB_PLANNER_PLANKERNELS_H

#include "NumberedPlan.h"

namespace parplan {

/// Which ops of a plan the program computes inside of what reads them: of
/// those that may be (`PlanningOp::fusedReads`) all from whose results readers
/// take at most a block. Such a result takes no memory, and what it is made
/// from is there until the kernel runs.
class PlanKernels {
public:
  /// Of a plan without faults.
  explicit PlanKernels(const NumberedPlan &plan);

  bool isFused(int op) const { return fused[op]; }
  /// The last op, in program order, of a kernel that computes `op`.
  int getEnd(int op) const { return ends[op]; }

private:
  std::vector<bool> fused;
  std::vector<int> ends;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PLANKERNELS_H
