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
  PlanningProblem problem;
  Folding folding;
  UnitModel units;
  /// One thread at a time may ask it.
  PlanEvaluator evaluator;
  std::mutex evaluating;
  /// Runs of equal units as they are at least on one device.
  std::vector<SpaceSource::LeastUnit> runs;
  int64_t batch = 1;
  /// Why there is no plan at all.
  std::optional<std::string> refusal;
  /// Of what a micro-batch keeps for its backward pass, and of what stays.
  double activationBytes = 0, variableBytes = 0;

  SourceStep(PlanningProblem given, const PlanRequest &request,
             const PlanCosts &costs);

private:
  void addRuns(const PlanRequest &request, const PlanCosts &costs);
  void addBytes();
  void findBatch();
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SOURCESTEP_H
