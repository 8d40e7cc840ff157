//===- Stages.h - Every schedule and every cut ------------------*- C++ -*-===//

#ifndef PARPLAN_BENCHMARKS_SMALL_STAGES_H
#define PARPLAN_BENCHMARKS_SMALL_STAGES_H

#include "Instance.h"

#include "lib/Planner/Units/UnitChain.h"

#include "parplan/Planner/PlanningAnswer.h"

#include "llvm/ADT/ArrayRef.h"

namespace parplan::small {

/// A schedule, and the first unit of each of its stages.
struct Stages {
  ScheduleShape shape;
  std::vector<int> cuts;
  /// Micro-batches have the room that ranks of so many bytes leave.
  int64_t limitBytes = 0;
};

/// Cuts plans of a problem into stages.
class StageCutter {
public:
  /// `limits` are those of `exhaust`.
  StageCutter(const PlanningProblem &problem, const Instance &instance,
              llvm::ArrayRef<int64_t> limits);

  /// Every schedule on so many positions with every way to cut the model, and
  /// every room. `layouts` is any plan on a mesh with as many.
  std::vector<Stages> list(int64_t positions,
                           const PlanningAnswer &layouts) const;

  /// Gives a plan on a mesh with positions its stages; they have no times yet.
  void cut(const Stages &stages, PlanningAnswer &answer) const;

private:
  std::vector<ScheduleShape> getShapesOfUnits(int64_t positions) const;

  const PlanningProblem &problem;
  const Instance &instance;
  llvm::ArrayRef<int64_t> limits;
  /// Of a joint search, which cuts between units; else empty.
  std::vector<int> unitOfOp;
  UnitChain chain;
};

} // namespace parplan::small

#endif // PARPLAN_BENCHMARKS_SMALL_STAGES_H
