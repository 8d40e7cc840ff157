//===- RunningPipeline.h - Schedules on the runtime -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PIPELINE_RUNNINGPIPELINE_H
#define PARPLAN_TEST_UNIT_PIPELINE_RUNNINGPIPELINE_H

#include "parplan/Pipeline/Transfers.h"

namespace parplan::test {

/// A model for any stages and edges. Stage s of micro-batch j makes a few
/// numbers of what forward edges bring, and a gradient of what edges back
/// bring; sums of products of both, in the order of their passes, are its
/// weight gradient. No two of these sums are equal in another order.
struct ToyModel {
  static constexpr int64_t width = 6;
  using Row = float[width];

  /// `values`: of the stages that edges come from, in the order of the edges.
  static void runForward(int64_t stage, int64_t microBatch,
                         const std::vector<const float *> &values, float *out);
  static void runInputGradient(int64_t stage, const float *value,
                               const std::vector<const float *> &gradients,
                               float *out);
  static void addWeightGradient(const float *value, const float *gradient,
                                float *sum);
};

/// Weight gradients of all stages, one behind the other, after `steps` steps
/// that add up: what one processor makes, micro-batch by micro-batch.
std::vector<float> runAlone(const ScheduleShape &shape,
                            const std::vector<StageEdge> &edges, int64_t steps);

/// The same by the schedule, on one host rank of the runtime for each position:
/// passes on the stream of kernels, messages on that of messages in the total
/// order, each in a buffer that it shares with those it does not meet in the
/// plan; streams wait for each other by events only.
std::vector<float> runOnRuntime(const PipelineSchedule &schedule,
                                const std::vector<StageEdge> &edges,
                                const std::vector<Transfer> &transfers,
                                int64_t steps);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PIPELINE_RUNNINGPIPELINE_H
