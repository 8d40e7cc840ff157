//===- Evaluator.cpp - Legality and time of a plan ------------------------===//

#include "parplan/Planner/Evaluator.h"

#include "StageMemory.h"
#include "StepTime.h"
#include "VerifyServers.h"
#include "VerifyStages.h"

#include "parplan/Planner/Panels.h"
#include "parplan/Planner/Servers.h"

using namespace parplan;

std::vector<std::vector<ValueCopy>>
parplan::getCopies(const PlanningProblem &problem,
                   const PlanningAnswer &answer) {
  std::vector<std::vector<ValueCopy>> copies(problem.values.size());
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    CopyReader reader = getCopyReader(op);
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      const Sharding &rest = answer.rest[operand];
      Sharding use = getUseSharding(op.rule, answer.assignments[index],
                                    static_cast<int>(position));
      if (use == rest)
        continue;
      int at = static_cast<int>(index);
      auto known = llvm::find_if(copies[operand], [&](const ValueCopy &copy) {
        return copy.layout == use &&
               sharesCopies(copy.reader, reader, rest,
                            answer.isGatheredAgain(operand));
      });
      if (known == copies[operand].end())
        copies[operand].push_back(
            {use, at, at, reader, getRepeat(problem, op)});
      else
        known->lastUse = at;
    }
  }
  return copies;
}

std::vector<std::string> parplan::verifyAnswer(const PlanningProblem &problem,
                                               const PlanningAnswer &answer) {
  std::vector<std::string> problems;
  const Mesh &mesh = answer.mesh;
  if (answer.assignments.size() != problem.ops.size() ||
      answer.rest.size() != problem.values.size()) {
    problems.push_back("the plan is of another graph: it decides " +
                       std::to_string(answer.assignments.size()) +
                       " operators and " + std::to_string(answer.rest.size()) +
                       " values, the graph has " +
                       std::to_string(problem.ops.size()) + " and " +
                       std::to_string(problem.values.size()));
    return problems;
  }
  for (auto [value, rest] : llvm::zip_equal(problem.values, answer.rest)) {
    bool isActivation = value.kind == ValueKind::activation;
    if (auto violation = verifySharding(rest, mesh, value.shape.size()))
      problems.push_back("value '" + value.name + "': " + *violation);
    else if (value.updates >= 0 && !(rest == answer.rest[value.updates]))
      problems.push_back(
          "value '" + value.name +
          "' replaces a variable that lies otherwise: " + toString(rest, mesh) +
          " and " + toString(answer.rest[value.updates], mesh));
    else if (value.isOutput && value.updates < 0 &&
             (rest.isPartial() || rest.isStored()))
      problems.push_back("output '" + value.name +
                         "' is pending or stored: an output is complete");
    else if (!isActivation && rest.isPartial())
      problems.push_back("value '" + value.name +
                         "' is pending: what a rank loads is complete (S8)");
    else if (llvm::any_of(rest.storage, [&](int axis) {
               return mesh.getAxis(axis).role != AxisRole::data;
             }))
      problems.push_back("value '" + value.name +
                         "' is stored over an axis without role data");
  }
  for (auto [op, assignment] :
       llvm::zip_equal(problem.ops, answer.assignments)) {
    if (auto violation = verifyAssignment(op.rule, assignment, mesh)) {
      problems.push_back("operator '" + op.node + "' (" + op.type +
                         "): " + *violation);
      continue;
    }
    if (!keepsOrder(op, assignment, mesh))
      problems.push_back("operator '" + op.node + "' (" + op.type +
                         "): lies in zig-zag order over " +
                         std::to_string(op.zigzag) +
                         " ranks, but is no ring over them (S22)");
    for (auto [factor, axes] : llvm::enumerate(assignment.axes))
      for (int axis : axes)
        if (mesh.getAxis(axis).role == AxisRole::data &&
            static_cast<int>(factor) != op.batchFactor)
          problems.push_back("operator '" + op.node + "' (" + op.type +
                             "): data axis '" + mesh.getAxis(axis).name +
                             "' is on factor '" + op.rule.factors[factor].name +
                             "', which is not the batch");
  }
  verifyServersMesh(answer, problems);
  if (!problems.empty())
    return problems;
  if (answer.servers)
    verifyServed(problem, answer, problems);

  ReshardCache reshards(mesh);
  auto check = [&](int index, const std::string &what, const Sharding &from,
                   const Sharding &to) {
    const PlanningValue &value = problem.values[index];
    std::string path =
        "leads from " + toString(from, mesh) + " to " + toString(to, mesh);
    if (!reshards.get(value.shape, from, to).found)
      problems.push_back(what + ": no reshard " + path);
    else if (!mayReshard(value, mesh, from, to))
      problems.push_back(what + ": a reshard " + path +
                         ", and gathers a dimension that is to stay split");
  };
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (auto [position, result] : llvm::enumerate(op.results))
      check(result, "operator '" + op.node + "' (" + op.type + ")",
            getMadeSharding(op.rule, answer.assignments[index],
                            static_cast<int>(position)),
            answer.rest[result]);
  auto copies = getCopies(problem, answer);
  for (auto [index, value] : llvm::enumerate(problem.values))
    for (const ValueCopy &copy : copies[index])
      check(static_cast<int>(index), "value '" + value.name + "'",
            answer.rest[index], copy.layout);
  if (problems.empty())
    verifyStages(problem, answer, problems);
  return problems;
}

namespace {

/// Adds the seconds of a path, `repeat` times, to what it is part of:
/// communication over data axes, over others, or computation for local moves.
void addPath(PlanEvaluation &evaluation, const ReshardPath &path,
             int64_t repeat, const Mesh &mesh, const PlanningValue &value,
             const PlanCosts &costs) {
  for (const Move &move : path.moves) {
    ReshardPath single;
    single.moves.push_back(move);
    double seconds =
        static_cast<double>(repeat) *
        costs.getPathSeconds(single, mesh, value.shape, value.elementBytes);
    bool onData = llvm::any_of(move.axes, [&](int axis) {
      return mesh.getAxis(axis).role == AxisRole::data;
    });
    (move.isLocal() ? evaluation.computeSeconds
     : onData       ? evaluation.dataCommunicationSeconds
                    : evaluation.tensorCommunicationSeconds) += seconds;
  }
}

} // namespace

/// The seconds of the position that works most, and the step of all.
static void addStepTime(const PlanningProblem &problem,
                        const PlanningAnswer &answer, const StepWork &work,
                        PlanEvaluation &evaluation) {
  ScheduleShape shape = getShape(problem, answer);
  StageTimes times = work.getTimes();
  PipelineChoice planned{shape, times, work.latencies};
  if (answer.pipeline)
    planned = *answer.pipeline;
  evaluation.stepTimeSeconds =
      getStepSeconds(work, shape, planned.times, planned.latencies);
  double most = -1;
  for (int64_t number = 0; number < shape.positions; ++number) {
    const PositionWork &position = work.positions[number];
    WorkSeconds sum = position.start;
    sum.add(position.beforeMeeting);
    sum.add(position.afterMeeting);
    double offload = position.startTransfer + position.endTransfer;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int64_t stage = getStage(shape, number, chunk);
      const StageWork &ofStage = work.stages[stage];
      WorkSeconds passes = ofStage.forward;
      passes.add(ofStage.inputGradient);
      passes.add(ofStage.weightGradient);
      auto count = static_cast<double>(shape.microBatches);
      sum.add(passes, count);
      double lasts = hasBackward(shape.kind) ? times[stage].getSeconds()
                                             : times[stage].forwardSeconds;
      // The same seconds in another order differ in their last digits.
      offload += count * std::max(0.0, lasts - passes.getTotal());
    }
    if (position.offload.getTotal() > evaluation.offload.getTotal())
      evaluation.offload = position.offload;
    if (sum.getTotal() + offload <= most)
      continue;
    most = sum.getTotal() + offload;
    evaluation.computeSeconds = sum.compute;
    evaluation.optimizerSeconds = sum.optimizer;
    evaluation.tensorCommunicationSeconds = sum.tensor;
    evaluation.dataCommunicationSeconds = sum.data;
    evaluation.offloadSeconds = offload;
  }
  evaluation.pipelineBubbleSeconds =
      shape.positions > 1 ? std::max(0.0, evaluation.stepTimeSeconds - most)
                          : 0;
}

static void addStageMemory(const PlanningProblem &problem,
                           const PlanningAnswer &answer,
                           PlanEvaluation &evaluation) {
  for (const StageMemory::Position &position :
       getStageMemory(problem, answer).positions) {
    evaluation.positionPeakBytes.push_back(position.deviceBytes);
    evaluation.hostBytes = std::max(evaluation.hostBytes, position.hostBytes);
    evaluation.nvmeBytes = std::max(evaluation.nvmeBytes, position.nvmeBytes);
    if (position.deviceBytes <= evaluation.peakBytes)
      continue;
    evaluation.peakBytes = position.deviceBytes;
    evaluation.parameterBytes = position.parameterBytes;
    evaluation.optimizerBytes = position.optimizerBytes;
    evaluation.gradientBytes = position.gradientBytes;
    evaluation.activationBytes =
        position.deviceBytes - position.parameterBytes -
        position.optimizerBytes - position.gradientBytes;
  }
}

/// Every op, reshard and copy after the other, on one position.
static void addLayouts(const PlanningProblem &problem,
                       const PlanningAnswer &answer, const PlanCosts &costs,
                       PlanEvaluation &evaluation) {
  ReshardCache reshards(answer.mesh);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    const FactorAssignment &assignment = answer.assignments[index];
    (op.role == OpRole::optimizer ? evaluation.optimizerSeconds
                                  : evaluation.computeSeconds) +=
        costs.getOpSeconds(problem, op, assignment, answer.mesh);
    evaluation.tensorCommunicationSeconds +=
        costs.getInnerSeconds(problem, op, assignment, answer.mesh);
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const PlanningValue &value = problem.values[result];
      addPath(evaluation,
              reshards.get(value.shape,
                           getMadeSharding(op.rule, assignment,
                                           static_cast<int>(position)),
                           answer.rest[result]),
              getResultRepeat(problem, op), answer.mesh, value, costs);
    }
  }
  // Constants are made in any layout, and inputs and parameters are loaded in
  // the layout at rest, for nothing.
  auto copies = getCopies(problem, answer);
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind != ValueKind::constant)
      for (const ValueCopy &copy : copies[index])
        addPath(evaluation,
                reshards.get(value.shape, answer.rest[index], copy.layout),
                copy.repeat, answer.mesh, value, costs);

  evaluation.stepTimeSeconds = evaluation.computeSeconds +
                               evaluation.optimizerSeconds +
                               evaluation.tensorCommunicationSeconds +
                               evaluation.dataCommunicationSeconds;
}

double parplan::getLayoutSeconds(const PlanningProblem &problem,
                                 const PlanningAnswer &answer,
                                 const PlanCosts &costs) {
  if (answer.servers) {
    WorkersProblem workers = getWorkersProblem(problem);
    return getLayoutSeconds(workers.problem, getWorkersAnswer(workers, answer),
                            costs);
  }
  PlanningAnswer kept = answer;
  kept.gathersAgain.clear();
  PlanEvaluation evaluation;
  addLayouts(problem, kept, costs, evaluation);
  return evaluation.stepTimeSeconds;
}

static PlanEvaluation evaluateAlone(const PlanningProblem &problem,
                                    const PlanningAnswer &answer,
                                    const PlanCosts &costs) {
  PlanEvaluation evaluation;
  if (!isPlain(answer)) {
    StepWork work = getStepWork(problem, answer, costs);
    addStepTime(problem, answer, work, evaluation);
    addStageMemory(problem, answer, evaluation);
    return evaluation;
  }
  addLayouts(problem, answer, costs, evaluation);
  for (auto [value, rest] : llvm::zip_equal(problem.values, answer.rest)) {
    int64_t bytes = getLocalBytes(value, answer.mesh, rest);
    if (value.kind == ValueKind::parameter)
      evaluation.parameterBytes += bytes;
    if (value.kind == ValueKind::state)
      evaluation.optimizerBytes += bytes;
  }
  MemoryPeak peak = getMemoryPeak(problem, answer);
  evaluation.peakBytes = peak.bytes;
  evaluation.positionPeakBytes = {peak.bytes};
  evaluation.gradientBytes = peak.gradientBytes;
  evaluation.activationBytes = peak.bytes - evaluation.parameterBytes -
                               evaluation.optimizerBytes - peak.gradientBytes;
  return evaluation;
}

/// The workers, and what the servers add to them.
static PlanEvaluation evaluateWithServers(const PlanningProblem &problem,
                                          const PlanningAnswer &answer,
                                          const PlanCosts &costs) {
  const ServerChoice &servers = *answer.servers;
  WorkersProblem workers = getWorkersProblem(problem);
  PlanEvaluation evaluation =
      evaluateAlone(workers.problem, getWorkersAnswer(workers, answer), costs);
  ServerSeconds seconds = getServerSeconds(problem, servers, costs);
  double own = evaluation.stepTimeSeconds;
  evaluation.stepTimeSeconds = seconds.getStep(servers, own);
  evaluation.optimizerSeconds += seconds.update;
  // Waiting for servers counts as communication.
  evaluation.dataCommunicationSeconds +=
      evaluation.stepTimeSeconds - own - seconds.update;
  return evaluation;
}

PlanEvaluation parplan::evaluatePlan(const PlanningProblem &problem,
                                     const PlanningAnswer &answer,
                                     const PlanCosts &costs) {
  return answer.servers ? evaluateWithServers(problem, answer, costs)
                        : evaluateAlone(problem, answer, costs);
}
