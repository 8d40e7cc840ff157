//===- Evaluator.cpp - Legality and time of a plan ------------------------===//

#include "parplan/Planner/Evaluator.h"

#include "PlanRoom.h"
#include "StageMemory.h"
#include "StepTime.h"
#include "VerifyServers.h"
#include "VerifyStages.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Support/Check.h"

using namespace parplan;

std::vector<std::vector<ValueCopy>>
parplan::getCopies(const PlanningProblem &problem,
                   const PlanningAnswer &answer) {
  OwnTables tables(problem, answer);
  const NumberedPlan &plan = tables.get();
  std::vector<std::vector<ValueCopy>> copies;
  for (const auto &ofValue : getCopies(plan)) {
    copies.emplace_back();
    for (const NumberedCopy &copy : ofValue)
      copies.back().push_back({plan.tables.getLayout(copy.layout),
                               copy.firstUse, copy.lastUse, copy.reader,
                               copy.repeat});
  }
  return copies;
}

/// Says that the plan decides as many ops and values as there are, else why it
/// cannot be looked at.
static std::optional<std::string> verifySizes(const PlanningProblem &problem,
                                              const PlanningAnswer &answer) {
  if (answer.assignments.size() == problem.ops.size() &&
      answer.rest.size() == problem.values.size())
    return std::nullopt;
  return "the plan is of another graph: it decides " +
         std::to_string(answer.assignments.size()) + " operators and " +
         std::to_string(answer.rest.size()) + " values, the graph has " +
         std::to_string(problem.ops.size()) + " and " +
         std::to_string(problem.values.size());
}

static std::vector<std::string> verifyNumbered(const NumberedPlan &plan) {
  std::vector<std::string> problems;
  const PlanningProblem &problem = plan.problem;
  const PlanningAnswer &answer = plan.answer;
  const Mesh &mesh = answer.mesh;
  AxisList batchAxes = getBatchAxes(mesh);
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
    else if (!dropAxes(rest.storage, {batchAxes}).empty())
      problems.push_back(
          "value '" + value.name +
          "' is stored over an axis that splits no samples (S23)");
  }
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (const std::string &fault :
         plan.getForm(static_cast<int>(index)).faults)
      problems.push_back("operator '" + op.node + "' (" + op.type +
                         "): " + fault);
  verifyServersMesh(answer, problems);
  if (!problems.empty())
    return problems;
  if (answer.servers)
    verifyServed(problem, answer, problems);

  auto check = [&](int index, llvm::function_ref<std::string()> describe,
                   int from, int to) {
    const PlanTables::Change &change = plan.tables.getChange(index, from, to);
    if (change.isFound && change.isAllowed)
      return;
    std::string path = "leads from " +
                       toString(plan.tables.getLayout(from), mesh) + " to " +
                       toString(plan.tables.getLayout(to), mesh);
    problems.push_back(
        !change.isFound
            ? describe() + ": no reshard " + path
            : describe() + ": a reshard " + path +
                  ", and gathers a dimension that is to stay split");
  };
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (auto [position, result] : llvm::enumerate(op.results))
      check(
          result,
          [&, &op = op] {
            return "operator '" + op.node + "' (" + op.type + ")";
          },
          plan.getMade(static_cast<int>(index), position), plan.rest[result]);
  auto copies = getCopies(plan);
  for (auto [index, value] : llvm::enumerate(problem.values))
    for (const NumberedCopy &copy : copies[index])
      check(
          static_cast<int>(index),
          [&, &value = value] { return "value '" + value.name + "'"; },
          plan.rest[index], copy.layout);
  if (problems.empty())
    verifyStages(problem, answer, problems);
  return problems;
}

std::vector<std::string> parplan::verifyAnswer(const PlanningProblem &problem,
                                               const PlanningAnswer &answer) {
  if (auto fault = verifySizes(problem, answer))
    return {*fault};
  return verifyNumbered(OwnTables(problem, answer).get());
}

/// The seconds of the position that works most, and the step of all.
static void addStepTime(const StepWork &work, const PipelineSchedule &schedule,
                        PlanEvaluation &evaluation) {
  const ScheduleShape &shape = schedule.shape;
  StageTimes times = work.getTimes();
  evaluation.stepTimeSeconds = getStepSeconds(work, schedule);
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
  // Beside positions that wait the others work faster.
  if (work.sharing > 1 && most > evaluation.stepTimeSeconds)
    for (double *part :
         {&evaluation.computeSeconds, &evaluation.optimizerSeconds,
          &evaluation.tensorCommunicationSeconds,
          &evaluation.dataCommunicationSeconds, &evaluation.offloadSeconds})
      *part *= evaluation.stepTimeSeconds / most;
  evaluation.pipelineBubbleSeconds =
      shape.positions > 1 ? std::max(0.0, evaluation.stepTimeSeconds - most)
                          : 0;
}

static void addStageMemory(const StageMemory &memory,
                           PlanEvaluation &evaluation) {
  for (const StageMemory::Position &position : memory.positions) {
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
static void addLayouts(const NumberedPlan &plan, PlanEvaluation &evaluation) {
  const PlanningProblem &problem = plan.problem;
  WorkSeconds sum;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    int number = static_cast<int>(index);
    PlanTables::OpSeconds seconds = plan.getSeconds(number);
    (op.role == OpRole::optimizer ? sum.optimizer : sum.compute) += seconds.own;
    sum.tensor += seconds.inner;
    for (auto [position, result] : llvm::enumerate(op.results))
      if (int made = plan.getMade(number, position); made != plan.rest[result])
        sum.add(plan.getChangeToRest(result, made).seconds,
                static_cast<double>(getResultRepeat(problem, op)));
  }
  // Constants are made in any layout, and inputs and parameters are loaded in
  // the layout at rest, for nothing.
  auto copies = getCopies(plan);
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind != ValueKind::constant)
      for (const NumberedCopy &copy : copies[index])
        sum.add(plan.getChangeFromRest(static_cast<int>(index), copy.layout)
                    .seconds,
                static_cast<double>(copy.repeat));
  evaluation.computeSeconds = sum.compute;
  evaluation.optimizerSeconds = sum.optimizer;
  evaluation.tensorCommunicationSeconds = sum.tensor;
  evaluation.dataCommunicationSeconds = sum.data;
  evaluation.stepTimeSeconds = sum.getTotal();
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
  addLayouts(OwnTables(problem, kept, &costs).get(), evaluation);
  return evaluation.stepTimeSeconds;
}

static PlanEvaluation evaluateStages(const StageBytes &bytes,
                                     const StepWork &work) {
  PlanEvaluation evaluation;
  PipelineSchedule schedule = makeSchedule(bytes.getPlan());
  addStepTime(work, schedule, evaluation);
  addStageMemory(getStageMemory(bytes, schedule), evaluation);
  return evaluation;
}

static PlanEvaluation evaluateNumbered(const NumberedPlan &plan) {
  if (!isPlain(plan.answer)) {
    Execution execution = getExecution(plan);
    return evaluateStages(StageBytes(plan, execution),
                          getStepWork(plan, execution));
  }
  PlanEvaluation evaluation;
  addLayouts(plan, evaluation);
  for (auto [index, value] : llvm::enumerate(plan.problem.values)) {
    int64_t bytes = plan.getBytes(static_cast<int>(index));
    if (value.kind == ValueKind::parameter)
      evaluation.parameterBytes += bytes;
    if (value.kind == ValueKind::state)
      evaluation.optimizerBytes += bytes;
  }
  MemoryPeak peak = getMemoryPeak(plan);
  evaluation.peakBytes = peak.bytes;
  evaluation.positionPeakBytes = {peak.bytes};
  evaluation.gradientBytes = peak.gradientBytes;
  evaluation.activationBytes = peak.bytes - evaluation.parameterBytes -
                               evaluation.optimizerBytes - peak.gradientBytes;
  return evaluation;
}

static PlanEvaluation evaluateAlone(const PlanningProblem &problem,
                                    const PlanningAnswer &answer,
                                    const PlanCosts &costs) {
  return evaluateNumbered(OwnTables(problem, answer, &costs).get());
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

struct PlanEvaluator::Tables {
  const PlanningProblem &problem;
  const PlanCosts &costs;
  std::shared_ptr<const ProblemFacts> facts;
  std::deque<PlanTables> ofMeshes;

  PlanTables &get(const Mesh &mesh) {
    auto known = llvm::find_if(ofMeshes, [&](const PlanTables &tables) {
      return tables.getMesh() == mesh;
    });
    if (known != ofMeshes.end())
      return *known;
    return ofMeshes.emplace_back(problem, facts, mesh, &costs);
  }
};

PlanEvaluator::PlanEvaluator(const PlanningProblem &problem,
                             const PlanCosts &costs)
    : tables(new Tables{
          problem, costs, std::make_shared<ProblemFacts>(problem), {}}) {}

PlanEvaluator::~PlanEvaluator() = default;

std::vector<std::string> PlanEvaluator::verify(const PlanningAnswer &answer) {
  if (auto fault = verifySizes(tables->problem, answer))
    return {*fault};
  return verifyNumbered({tables->get(answer.mesh), answer});
}

PlanEvaluation PlanEvaluator::evaluate(const PlanningAnswer &answer) {
  if (answer.servers)
    return evaluateWithServers(tables->problem, answer, tables->costs);
  return evaluateNumbered({tables->get(answer.mesh), answer});
}

PlanJudgement PlanEvaluator::timeAndJudge(PlanningAnswer &answer,
                                          int64_t limitBytes) {
  if (auto fault = verifySizes(tables->problem, answer))
    return {{*fault}, {}};
  PARPLAN_CHECK(!answer.servers, "plans with servers are evaluated alone");
  NumberedPlan plan{tables->get(answer.mesh), answer};
  if (std::vector<std::string> faults = verifyNumbered(plan); !faults.empty())
    return {std::move(faults), {}};
  if (!answer.pipeline)
    return {{}, evaluateNumbered(plan)};
  Execution execution = getExecution(plan);
  StepWork work = getStepWork(plan, execution);
  setPipelineTimes(work, answer);
  StageBytes bytes(plan, execution);
  answer.pipeline->room = findRoom(bytes, work, limitBytes);
  return {{}, evaluateStages(bytes, work)};
}

MemoryPeak PlanEvaluator::getMemoryPeak(const PlanningAnswer &answer) {
  return parplan::getMemoryPeak({tables->get(answer.mesh), answer});
}
