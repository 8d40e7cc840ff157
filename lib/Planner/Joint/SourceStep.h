//===- SourceStep.h - What a search is told of one step -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SOURCESTEP_H
#define PARPLAN_LIB_PLANNER_SOURCESTEP_H

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchModel.h"
#include "parplan/Planner/UnitOracles.h"

#include <mutex>

namespace parplan {

/// What there is of one number of micro-batches.
struct SourceStep {
  int64_t microBatches = 1;
  UnitModel units;
  /// Runs of equal units as they are at least on one device.
  std::vector<SpaceSource::LeastUnit> runs;
  int64_t batch = 1;
  /// Why there is no plan at all.
  std::optional<std::string> refusal;
  /// Of what a micro-batch keeps for its backward pass, of what stays, and of
  /// every rank whatever the plan.
  double activationBytes = 0, variableBytes = 0, fixedBytes = 0;

  /// `line` as of `UnitModel`. The costs stay.
  SourceStep(const StepProblem &problem, const UnitLine *line,
             const PlanRequest &request, const PlanCosts &costs);

  /// Of a plan of the whole step. Any thread may ask.
  PlanJudgement timeAndJudge(PlanningAnswer &answer, int64_t limitBytes);

private:
  void addRuns(const PlanRequest &request);
  void addBytes();
  void findBatch();

  const PlanCosts &costs;
  /// Made for the first plan. One thread at a time may ask it.
  std::optional<PlanEvaluator> evaluator;
  std::mutex evaluating;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SOURCESTEP_H
