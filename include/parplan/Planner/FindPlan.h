//===- FindPlan.h - The best plan of all ------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_FINDPLAN_H
#define PARPLAN_PLANNER_FINDPLAN_H

#include "parplan/Planner/Solver.h"
#include "parplan/Planner/SpaceSearch.h"

namespace parplan {

/// A step by the number of its micro-batches.
struct StepProblems {
  /// Those that the step can have, ascending.
  std::vector<int64_t> counts;
  /// Asked at most once for each; nullopt: it cannot be had after all.
  std::function<std::optional<PlanningProblem>(int64_t count)> get;
};

struct FindPlanOptions {
  /// Plans within this share of the best one are not looked for.
  double gap = 0.005;
  /// A part of an op takes at least its share of the seconds of the whole: true
  /// of devices, not of costs that are drawn at random.
  bool hasProportionalCosts = true;
  /// Chunks per position of interleaved schedules, at most.
  int64_t mostChunks = 12;
  const std::atomic<bool> *stop = nullptr;
  std::function<void(const SpaceSearchProgress &)> progress;
};

struct FoundPlan {
  /// `answer` is the plan of the whole step; its certificate covers every
  /// number of micro-batches, mesh and schedule of the request.
  PlanResult result;
  /// What the lower bound is the bound of.
  std::string boundSource;
  int64_t evaluations = 0, judgedPlans = 0, oracleCalls = 0;
  int64_t spaces = 0;
};

/// The best plan over every number of micro-batches, every number of positions,
/// schedule and mesh that the request leaves open, and every layout of each
/// unit of the model. Pipelines are cut between units, which are the equal
/// blocks of the model and what is beside them. Deterministic unless time runs
/// out.
FoundPlan findPlan(const StepProblems &problems, const PlanRequest &request,
                   const PlanCosts &costs, const FindPlanOptions &options = {});

} // namespace parplan

#endif // PARPLAN_PLANNER_FINDPLAN_H
