//===- Traffic.h - What stages send each other ------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// A position gets a value once, for the first of its stages that reads it. With
// `PlanningAnswer::relayed` it comes from the stage before, and positions in
// between hold what they hand on (parplan/Pipeline/Skips.h).
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_TRAFFIC_H
#define PARPLAN_LIB_PLANNER_TRAFFIC_H

#include "Execution.h"

#include "parplan/Pipeline/Skips.h"

namespace parplan {

/// Bytes that go along an edge for every micro-batch: the sum over values, each
/// of them a message in the layout in which fewer bytes cross.
struct StageTraffic {
  int from = 0;
  int to = 0;
  int64_t messages = 0;
  int64_t bytes = 0;
  /// The same if the ranks of a position that hold the same value send a piece
  /// of it each.
  int64_t pieceBytes = 0;
  /// The stage of the position of `to` that reads them first, and in which
  /// pass; -1: they are only handed on.
  int reader = -1;
  Phase phase = Phase::forward;
  /// The edge goes on from `to` to there; -1: it does not.
  int next = -1;
};
std::vector<StageTraffic> getTraffic(const NumberedPlan &plan,
                                     const Execution &execution);

/// Results of an op that go further than to the next stage, and what either way
/// of them costs.
struct SkipChoice {
  int op = 0;
  SkipPrice direct, relay;
};
/// Of the stages, times and latencies of `answer`, whatever it hands on.
std::vector<SkipChoice> priceSkips(const PlanningProblem &problem,
                                   const PlanningAnswer &answer);

/// Hands on what has the busiest link then: less to send, for the first stage
/// of many that read it. The times of the pipeline stay as they are.
void chooseWays(const PlanningProblem &problem, PlanningAnswer &answer);

/// Hands on what waits less that way, as long as the plan is too large and
/// becomes smaller.
void relayUntilFits(const PlanningProblem &problem, const PlanCosts &costs,
                    PlanningAnswer &answer, int64_t limitBytes);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_TRAFFIC_H
