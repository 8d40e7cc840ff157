//===- SerialMachine.h - Runs a schedule with its messages ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PIPELINE_SERIALMACHINE_H
#define PARPLAN_TEST_UNIT_PIPELINE_SERIALMACHINE_H

#include "parplan/Pipeline/Transfers.h"

#include <random>

namespace parplan::test {

/// What the strictest machine finds: every position does one thing after the
/// other, a message takes its sender and its receiver at the same time, and
/// the next position to move is drawn. A pass computes its micro-batch's value
/// from what is really there: the sums of gradients come out as text.
struct SerialRun {
  bool isComplete = false;
  /// Something was used that was not there, or overwritten.
  std::string fault;
  /// For each stage, how its weight gradients were summed.
  std::vector<std::string> sums;
};

SerialRun runSerially(const PipelineSchedule &schedule,
                      const std::vector<StageEdge> &edges,
                      const std::vector<Transfer> &transfers,
                      std::mt19937 &random);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PIPELINE_SERIALMACHINE_H
