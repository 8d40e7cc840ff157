//===- Stages.h - Every schedule and every cut ------------------*- C++ -*-===//

#ifndef PARPLAN_BENCHMARKS_SMALL_STAGES_H
#define PARPLAN_BENCHMARKS_SMALL_STAGES_H

#include "Instance.h"

#include "lib/Planner/Units/UnitChain.h"

#include "parplan/Planner/PlanningAnswer.h"

namespace parplan::small {

/// A schedule, and the first unit of each of its stages.
struct Stages {
  ScheduleShape shape;
  std::vector<int> cuts;
};

/// Cuts plans of a problem into stages.
class StageCutter {
public:
  StageCutter(const PlanningProblem &problem, const Instance &instance);

  /// Every schedule on so many positions with every way to cut the model.
  /// `layouts` is any plan on a mesh with as many.
  std::vector<Stages> list(int64_t positions,
                           const PlanningAnswer &layouts) const;

  /// Gives a plan on a mesh with positions its stages.
  void cut(const Stages &stages, PlanningAnswer &answer) const;

private:
  std::vector<ScheduleShape> getShapesOfUnits(int64_t positions) const;

  const PlanningProblem &problem;
  const Instance &instance;
  /// Of a joint search, which cuts between units; else empty.
  std::vector<int> unitOfOp;
  UnitChain chain;
};

} // namespace parplan::small

#endif // PARPLAN_BENCHMARKS_SMALL_STAGES_H
