//===- FindPlan.h - The best plan of all ------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_FINDPLAN_H
#define PARPLAN_PLANNER_FINDPLAN_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanResult.h"
#include "parplan/Planner/SpaceSearch.h"
#include "parplan/Planner/StepProblem.h"

namespace parplan {

class ProblemSource;

/// What is searched; how far, `SpaceSearchOptions` say.
struct FindPlanOptions {
  /// Chunks per position of interleaved schedules, at most.
  int64_t mostChunks = 12;
  /// Ranks that the tensor axes of a mesh have together, at most; 0: all.
  int64_t mostTensorRanks = 0;
  /// Tensor axes may be cut into grids.
  bool hasGrids = true;
  /// Schedules of pipelines that are not looked at, unless one is forced.
  std::vector<ScheduleKind> leftOut;
};

struct FoundPlan {
  /// `answer` is the plan of the whole step; its certificate covers every
  /// number of micro-batches, mesh and schedule of the request and options.
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
/// out, or the third of it with which a search begins.
///
/// Each `find` is one search; a later one knows what earlier ones were told,
/// and takes less time.
class PlanFinder {
public:
  /// Problems and costs must stay. The memory and the time of the request are
  /// not looked at.
  PlanFinder(const StepProblems &problems, const PlanRequest &request,
             const PlanCosts &costs, const FindPlanOptions &options = {});
  ~PlanFinder();

  FoundPlan find(const SpaceSearchOptions &options);
  /// After the last search: problems and costs are no longer needed.
  void end();

private:
  std::unique_ptr<ProblemSource> source;
  SpaceSearch search;
};

/// One search of a finder, within the memory and the time of the request.
FoundPlan findPlan(const StepProblems &problems, const PlanRequest &request,
                   const PlanCosts &costs, const FindPlanOptions &options = {});

} // namespace parplan

#endif // PARPLAN_PLANNER_FINDPLAN_H
