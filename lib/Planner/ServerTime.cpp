//===- ServerTime.cpp - What servers change of a plan ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ServerTime.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <set>

using namespace parplan;

/// Gradients as updates read them, each once.
static std::set<int> findGradients(const PlanningProblem &problem) {
  std::set<int> gradients;
  for (const PlanningOp &op : problem.ops)
    if (op.role == OpRole::optimizer && !op.results.empty() &&
        problem.values[op.results.front()].updates >= 0)
      gradients.insert(op.operands[1]);
  return gradients;
}

/// What the workers would take to add their gradients up.
static double getReductionSeconds(const PlanningProblem &problem,
                                  const PlanningAnswer &answer,
                                  const std::set<int> &gradients,
                                  const PlanCosts &costs) {
  double seconds = 0;
  auto add = [&](int index, const Sharding &from, const Sharding &to,
                 int64_t repeat) {
    const PlanningValue &value = problem.values[index];
    ReshardPath path = findReshardPath(answer.mesh, value.shape, from, to);
    ReshardPath moves;
    for (const Move &move : path.moves)
      if (!move.isLocal())
        moves.moves.push_back(move);
    seconds += static_cast<double>(repeat) *
               costs.getPathSeconds(moves, answer.mesh, value.shape,
                                    value.elementBytes);
  };
  for (size_t index = 0; index < problem.ops.size(); ++index) {
    const PlanningOp &op = problem.ops[index];
    for (size_t result = 0; result < op.results.size(); ++result)
      if (int value = op.results[result]; gradients.count(value))
        add(value,
            getMadeSharding(op.rule, answer.assignments[index],
                            static_cast<int>(result)),
            answer.rest[value], getResultRepeat(problem, op));
  }
  auto copies = getCopies(problem, answer);
  for (int value : gradients)
    for (const ValueCopy &copy : copies[value])
      add(value, answer.rest[value], copy.layout, copy.repeat);
  return seconds;
}

/// A message to or from one of the servers, as far as ranks are from each
/// other.
static double getMessageSeconds(const ServerChoice &choice, int64_t bytes,
                                const PlanCosts &costs) {
  Mesh pairs({{"pair", 2, AxisRole::data},
              {"others", choice.getRankCount() / 2, AxisRole::data}});
  int64_t share = ceilDivide(bytes, choice.servers);
  return costs.getCollectiveSeconds(CollectiveKind::send, pairs, {0}, share);
}

void parplan::addServers(const PlanningProblem &problem,
                         const PlanningAnswer &answer, const PlanCosts &costs,
                         PlanEvaluation &evaluation) {
  const ServerChoice &choice = *answer.servers;
  std::set<int> gradients = findGradients(problem);
  int64_t bytes = 0;
  for (int gradient : gradients) {
    const PlanningValue &value = problem.values[gradient];
    bytes += getLocalBytes(value, answer.mesh,
                           Sharding::getReplicated(value.shape.size()));
  }
  double message = getMessageSeconds(choice, bytes, costs);
  double workers = static_cast<double>(choice.workers);

  double reductions = getReductionSeconds(problem, answer, gradients, costs);
  evaluation.dataCommunicationSeconds =
      std::max(0.0, evaluation.dataCommunicationSeconds - reductions);
  double updates = evaluation.optimizerSeconds;
  evaluation.optimizerSeconds /= static_cast<double>(choice.servers);
  double own = evaluation.stepTimeSeconds - reductions - updates +
               evaluation.optimizerSeconds;
  double messages = choice.staleness
                        ? std::max(2 * message, workers * message - own)
                        : (workers + 1) * message;
  evaluation.dataCommunicationSeconds += messages;
  evaluation.stepTimeSeconds = own + messages;

  // States are the servers'.
  evaluation.peakBytes -= evaluation.optimizerBytes;
  for (int64_t &peak : evaluation.positionPeakBytes)
    peak -= evaluation.optimizerBytes;
  evaluation.optimizerBytes = 0;
}
