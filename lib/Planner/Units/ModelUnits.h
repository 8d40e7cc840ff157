//===- ModelUnits.h - What a model of units keeps ---------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_MODELUNITS_H
#define PARPLAN_LIB_PLANNER_MODELUNITS_H

#include "UnitSample.h"

#include "parplan/Planner/UnitModel.h"

#include <mutex>

namespace parplan {

struct UnitLine {
  std::shared_ptr<const AffineProblem> steps;
  std::shared_ptr<const StepUnits> units;
  /// Of the base of the steps.
  UnitSample sample;
  /// The problems of samples.
  AffineProblem samples;
};

struct UnitModel::Storage {
  std::shared_ptr<const StepUnits> sharedUnits;
  UnitSample sample;
  const StepUnits &units;
  std::vector<std::vector<int64_t>> crossingBytes;
  bool trains;

  Storage(std::shared_ptr<const StepUnits> units, UnitSample sample,
          bool trains);

  const PlanningProblem &getProblem() const;

  /// What the problem is made from, or null.
  std::optional<StepProblem> step = {};
  /// The problem where it need not be made.
  const PlanningProblem *given = nullptr;

private:
  mutable std::once_flag isMade;
  mutable std::optional<PlanningProblem> made;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_MODELUNITS_H
