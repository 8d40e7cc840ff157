//===- Servers.h - Training steps whose variables servers keep --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A plan with servers decides a whole step, as one without does; what it costs
// is that of its workers, who neither reduce gradients nor update variables,
// and of the messages. So the search plans the *problem of the workers*, and
// the evaluator prices that part of an answer.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SERVERS_H
#define PARPLAN_PLANNER_SERVERS_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// Lets servers keep the variables of what is asked for. Workers share samples,
/// and positions of a sequence, and nothing else; without a common step each of
/// them is planned alone.
void keepOnServers(const ServerChoice &servers, PlanRequest &request);

/// What the workers do of a training step: its passes, up to the gradients.
/// Without states, without ops of the optimizer that nothing else reads, and
/// without what only these read. Gradients and trained parameters are marked as
/// served.
struct WorkersProblem {
  PlanningProblem problem;
  /// The number in the step of each op and value.
  std::vector<int> ops, values;
};

WorkersProblem getWorkersProblem(const PlanningProblem &step);

/// What an answer for the step decides for the workers. A gradient that only
/// updates read stays as the terms that the workers have of it.
PlanningAnswer getWorkersAnswer(const WorkersProblem &workers,
                                const PlanningAnswer &answer);

/// The answer for the step that decides as `answer` for the workers, and has
/// everything else whole: the inverse of `getWorkersAnswer`.
PlanningAnswer getStepAnswer(const PlanningProblem &step,
                             const WorkersProblem &workers,
                             const PlanningAnswer &answer,
                             const ServerChoice &servers);

/// What servers add to a step. With x seconds for one worker's messages to one
/// of S servers, or back, and w workers, the link of a worker is busy for S x,
/// that of a server for w x, in each direction.
struct ServerSeconds {
  /// x.
  double message = 0;
  /// All updates, shared by the servers.
  double update = 0;

  /// The whole step, where a worker's own part of it takes `own`. It never
  /// falls when that grows, so it takes bounds of one to bounds of the other.
  /// * Together: own, the updates, and the messages of the busiest link, first
  ///   all gradients, then all new values.
  /// * Without a common step servers receive from, update for and answer one
  ///   worker after the other, whose link carries what goes to all of them. So
  ///   a step takes as long as all of that, or as a worker with its turn alone.
  ///   With a staleness of 0 all turns wait for the first worker to compute,
  ///   and its next one for all updates.
  double getStep(const ServerChoice &servers, double own) const;
};

ServerSeconds getServerSeconds(const PlanningProblem &step,
                               const ServerChoice &servers,
                               const PlanCosts &costs);

/// What each server keeps between steps: its share of the variables.
int64_t getServerBytes(const PlanningProblem &step,
                       const ServerChoice &servers);

} // namespace parplan

#endif // PARPLAN_PLANNER_SERVERS_H
