//===- PlanResult.h - What a search for plans found -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANRESULT_H
#define PARPLAN_PLANNER_PLANRESULT_H

#include "parplan/Planner/PlanningAnswer.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

struct PlanResult {
  std::optional<PlanningAnswer> answer;
  /// Of `answer`, where the search chose it (`findPlan`); else 0.
  int64_t microBatches = 0;
  /// Micro-batches and positions of what the lower bound is of, there; 0: it is
  /// of the answer itself.
  int64_t boundMicroBatches = 0, boundPositions = 0;
  PlanEvaluation evaluation;
  /// The seconds of the layouts of the answer as the search added them up: they
  /// must agree with `getLayoutSeconds`, which adds them up from the answer
  /// alone.
  double objectiveSeconds = 0;
  Certificate certificate;
  /// What every considered plan needs for certain: its parameters.
  int64_t leastBytes = std::numeric_limits<int64_t>::max();
  /// The smallest peak, by the evaluator, of the plans that were looked at.
  int64_t smallestBytes = std::numeric_limits<int64_t>::max();
  /// The least time of any plan whose parameters fit: a bound that does not
  /// depend on how the peak of memory is estimated.
  double boundWithoutLimitSeconds = std::numeric_limits<double>::infinity();
  /// Why meshes were refused.
  std::vector<std::string> refusals;
  /// Time was over, or the search stopped, before all was looked at that may
  /// have a plan.
  bool isCutShort = false;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANRESULT_H
