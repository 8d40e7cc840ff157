//===- Servers.cpp - The workers' part of a step with servers -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/Servers.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <set>

using namespace parplan;

namespace {

/// Which ops and values of a step are the servers' alone.
struct ServedPart {
  std::vector<bool> ops, values;
  /// What workers make and only servers read.
  std::vector<bool> isHandedOver;

  explicit ServedPart(const PlanningProblem &step)
      : ops(step.ops.size(), false), values(step.values.size(), false),
        isHandedOver(step.values.size(), false) {
    std::vector<bool> isReadByWorkers(step.values.size(), false);
    std::vector<bool> isReadByServers = isReadByWorkers;
    // Readers come behind what they read.
    for (size_t index = step.ops.size(); index-- > 0;) {
      const PlanningOp &op = step.ops[index];
      ops[index] = op.role == OpRole::optimizer &&
                   llvm::none_of(op.results, [&](int result) {
                     return isReadByWorkers[result];
                   });
      for (int operand : op.operands)
        (ops[index] ? isReadByServers : isReadByWorkers)[operand] = true;
      if (ops[index])
        for (int result : op.results)
          values[result] = true;
    }
    for (auto [index, value] : llvm::enumerate(step.values)) {
      bool isActivation = value.kind == ValueKind::activation;
      bool isParameter = value.kind == ValueKind::parameter;
      bool isOnlyServed = isReadByServers[index] && !isReadByWorkers[index];
      if (!isActivation && !isParameter)
        values[index] = isOnlyServed || value.kind == ValueKind::state;
      isHandedOver[index] = isActivation && !values[index] && isOnlyServed;
    }
  }
};

/// Ops of a group whose leader is gone are led by the first that is left.
void appointLeaders(PlanningProblem &problem) {
  std::set<int64_t> led;
  for (const PlanningOp &op : problem.ops)
    if (op.group >= 0 && op.isLeader)
      led.insert(op.group);
  for (PlanningOp &op : problem.ops)
    if (op.group >= 0 && led.insert(op.group).second)
      op.isLeader = true;
}

/// The elements of `list` at `places`; an empty list stands for defaults.
template <typename Element>
std::vector<Element> select(const std::vector<Element> &list,
                            const std::vector<int> &places) {
  std::vector<Element> selected;
  for (int place : places)
    if (static_cast<size_t>(place) < list.size())
      selected.push_back(list[place]);
  return selected;
}

/// The inverse: `count` elements, which are `other` where no place is.
template <typename Element>
std::vector<Element> spread(const std::vector<Element> &list,
                            const std::vector<int> &places, size_t count,
                            Element other) {
  if (list.empty())
    return {};
  std::vector<Element> all(count, other);
  for (auto [place, element] : llvm::zip_equal(places, list))
    all[place] = element;
  return all;
}

} // namespace

void parplan::keepOnServers(const ServerChoice &servers, PlanRequest &request) {
  request.servers = servers;
  request.deviceCount = servers.staleness ? 1 : servers.workers;
  if (servers.staleness)
    request.dataSize = 1;
  request.tensorSize = request.expertSize = request.pipelineSize = 1;
  request.zeroStage = 0;
  request.offload = OffloadChoice();
}

WorkersProblem parplan::getWorkersProblem(const PlanningProblem &step) {
  ServedPart served(step);
  WorkersProblem workers;
  workers.problem.microBatches = step.microBatches;
  workers.problem.fixedBytes = step.fixedBytes;
  std::vector<int> numbers(step.values.size(), -1);
  for (auto [index, value] : llvm::enumerate(step.values)) {
    if (served.values[index])
      continue;
    numbers[index] = static_cast<int>(workers.values.size());
    workers.values.push_back(static_cast<int>(index));
    workers.problem.values.push_back(value);
  }
  // What replaces a variable is the servers'; workers only send that on.
  for (const PlanningValue &value : step.values)
    if (value.updates >= 0 && numbers[value.updates] >= 0)
      workers.problem.values[numbers[value.updates]].isServed = true;
  for (auto [index, op] : llvm::enumerate(step.ops)) {
    if (served.ops[index])
      continue;
    workers.ops.push_back(static_cast<int>(index));
    workers.problem.ops.push_back(op);
    for (int &operand : workers.problem.ops.back().operands)
      operand = numbers[operand];
    for (int &result : workers.problem.ops.back().results)
      result = numbers[result];
  }
  for (auto [number, index] : llvm::enumerate(workers.values))
    if (served.isHandedOver[index])
      workers.problem.values[number].isServed = true;
  appointLeaders(workers.problem);
  return workers;
}

PlanningAnswer parplan::getWorkersAnswer(const WorkersProblem &workers,
                                         const PlanningAnswer &answer) {
  PlanningAnswer own;
  own.mesh = answer.mesh;
  own.pipeline = answer.pipeline;
  own.assignments = select(answer.assignments, workers.ops);
  own.rest = select(answer.rest, workers.values);
  own.gathersAgain = select(answer.gathersAgain, workers.values);
  own.stages = select(answer.stages, workers.ops);
  own.recomputed = select(answer.recomputed, workers.ops);
  own.tiers = select(answer.tiers, workers.values);

  std::vector<bool> isRead(workers.values.size(), false);
  for (const PlanningOp &op : workers.problem.ops)
    for (int operand : op.operands)
      isRead[operand] = true;
  for (auto [index, op] : llvm::enumerate(workers.problem.ops))
    for (auto [position, result] : llvm::enumerate(op.results))
      if (workers.problem.values[result].isServed && !isRead[result])
        own.rest[result] = getTerms(getMadeSharding(
            op.rule, own.assignments[index], static_cast<int>(position)));
  return own;
}

PlanningAnswer parplan::getStepAnswer(const PlanningProblem &step,
                                      const WorkersProblem &workers,
                                      const PlanningAnswer &answer,
                                      const ServerChoice &servers) {
  PlanningAnswer whole;
  whole.mesh = answer.mesh;
  whole.pipeline = answer.pipeline;
  whole.servers = servers;
  for (const PlanningOp &op : step.ops)
    whole.assignments.push_back(FactorAssignment::getReplicated(op.rule));
  for (const PlanningValue &value : step.values)
    whole.rest.push_back(Sharding::getReplicated(value.shape.size()));
  for (auto [number, op] : llvm::enumerate(workers.ops))
    whole.assignments[op] = answer.assignments[number];
  std::vector<bool> isRead(workers.values.size(), false);
  for (const PlanningOp &op : workers.problem.ops)
    for (int operand : op.operands)
      isRead[operand] = true;
  for (auto [number, value] : llvm::enumerate(workers.values)) {
    bool isHandedOver = workers.problem.values[number].isServed &&
                        step.values[value].kind == ValueKind::activation;
    if (!isHandedOver || isRead[number])
      whole.rest[value] = answer.rest[number];
  }
  size_t ops = step.ops.size(), values = step.values.size();
  whole.gathersAgain =
      spread(answer.gathersAgain, workers.values, values, false);
  whole.stages = spread(answer.stages, workers.ops, ops, 0);
  whole.recomputed = spread(answer.recomputed, workers.ops, ops, false);
  whole.tiers =
      spread(answer.tiers, workers.values, values, MemoryTier::device);
  return whole;
}

double ServerSeconds::getStep(const ServerChoice &servers, double own) const {
  auto workers = static_cast<double>(servers.workers);
  auto count = static_cast<double>(servers.servers);
  if (!servers.staleness)
    return own + update + 2 * std::max(workers, count) * message;
  double push = count * message, turn = update + 2 * push;
  if (*servers.staleness == 0)
    return std::max(workers * turn, own + workers * (update + push) + push);
  return std::max(workers * turn, own + turn);
}

/// A message to or from one of the servers, as far as ranks are from each
/// other.
static double getMessageSeconds(const ServerChoice &servers, int64_t bytes,
                                const PlanCosts &costs) {
  Mesh pairs({{"pair", 2, AxisRole::data},
              {"others", servers.getRankCount() / 2, AxisRole::data}});
  return costs.getCollectiveSeconds(CollectiveKind::send, pairs, {0},
                                    ceilDivide(bytes, servers.servers));
}

ServerSeconds parplan::getServerSeconds(const PlanningProblem &step,
                                        const ServerChoice &servers,
                                        const PlanCosts &costs) {
  ServedPart served(step);
  ServerSeconds seconds;
  // Gradients are as large as their parameters.
  int64_t bytes = 0;
  for (const PlanningValue &value : step.values)
    if (value.updates >= 0 &&
        step.values[value.updates].kind == ValueKind::parameter)
      bytes += value.getWholeBytes();
  seconds.message = getMessageSeconds(servers, bytes, costs);
  Mesh one;
  for (auto [index, op] : llvm::enumerate(step.ops))
    if (served.ops[index])
      seconds.update += costs.getOpSeconds(
          step, op, FactorAssignment::getReplicated(op.rule), one);
  seconds.update /= static_cast<double>(servers.servers);
  return seconds;
}

int64_t parplan::getServerBytes(const PlanningProblem &step,
                                const ServerChoice &servers) {
  int64_t bytes = 0;
  for (const PlanningValue &value : step.values)
    if (value.updates >= 0)
      bytes += step.values[value.updates].getWholeBytes();
  return ceilDivide(bytes, servers.servers);
}
