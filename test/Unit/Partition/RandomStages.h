//===- RandomStages.h - Random cuts into stages -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_RANDOMSTAGES_H
#define PARPLAN_TEST_UNIT_PARTITION_RANDOMSTAGES_H

#include "RandomGraph.h"

#include "parplan/Pipeline/Schedule.h"

namespace parplan::test {

/// A schedule for a step of so many micro-batches on `positions`.
ScheduleShape pickSchedule(Random &random, int64_t positions,
                           int64_t microBatches);

/// Cuts a planned step: writes the schedule and random times, lets the later
/// ops of micro-batches be backward ones, puts ops on stages in any way that
/// flows forward and back, and has some forward values made again.
void writeRandomStages(mlir::func::FuncOp function, const ScheduleShape &shape,
                       Random &random);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_RANDOMSTAGES_H
