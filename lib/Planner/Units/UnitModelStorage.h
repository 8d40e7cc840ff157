//===- UnitModelStorage.h - What a model of units keeps ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITMODELSTORAGE_H
#define PARPLAN_LIB_PLANNER_UNITMODELSTORAGE_H

#include "UnitSample.h"

#include "parplan/Planner/UnitModel.h"

#include <mutex>

namespace parplan {

struct UnitModel::Storage {
  std::shared_ptr<const StepUnits> sharedUnits;
  const StepUnits &units;
  UnitSample sample;
  std::vector<std::vector<int64_t>> crossingBytes;
  bool trains;

  Storage(StepProblem step, std::shared_ptr<const StepUnits> units,
          UnitSample sample);

  const PlanningProblem &getProblem() const;

private:
  StepProblem step;
  mutable std::once_flag isMade;
  mutable std::shared_ptr<const PlanningProblem> problem;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITMODELSTORAGE_H
