//===- UnitLine.h - The units of all steps on a line ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITLINE_H
#define PARPLAN_LIB_PLANNER_UNITLINE_H

#include "UnitSample.h"

#include "parplan/Planner/UnitModel.h"

namespace parplan {

struct UnitLine {
  std::shared_ptr<const AffineProblem> steps;
  std::shared_ptr<const StepUnits> units;
  /// Without its problem, which depends on the step.
  UnitSample sample;
  AffineProblem samples;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITLINE_H
