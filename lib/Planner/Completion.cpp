//===- Completion.cpp - Stages, recomputation and tiers of a plan ---------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "Offload.h"
#include "Recompute.h"
#include "StageAssignment.h"
#include "StageCuts.h"
#include "StageMemory.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <map>

using namespace parplan;

bool parplan::needsCompletion(const PlanRequest &request) {
  return request.pipelineSize.value_or(1) > 1 ||
         request.recompute.value_or(RecomputeKind::none) !=
             RecomputeKind::none ||
         (request.offload && !request.offload->isNone());
}

Mesh parplan::addPipelineAxis(const Mesh &mesh, int64_t positions) {
  if (positions == 1)
    return mesh;
  std::vector<MeshAxis> axes = {{"pp0", positions, AxisRole::pipeline}};
  llvm::append_range(axes, mesh.getAxes());
  return Mesh(std::move(axes));
}

double parplan::getBoundOfPositions(double seconds, const Mesh &mesh) {
  // The busiest position works at least as long as the mean.
  int axis = findPipelineAxis(mesh);
  return axis < 0 ? seconds
                  : seconds / static_cast<double>(mesh.getAxis(axis).size);
}

std::vector<ScheduleShape> parplan::getShapes(const PlanningProblem &problem,
                                              const PlanRequest &request,
                                              int64_t positions) {
  bool trains = isTraining(problem);
  auto make = [&](ScheduleKind kind, int64_t chunks) {
    ScheduleShape shape;
    shape.kind = trains ? kind : ScheduleKind::forwardOnly;
    shape.positions = positions;
    shape.microBatches = problem.microBatches;
    int64_t required = getRequiredChunks(kind);
    shape.chunks = required > 0 ? required : chunks;
    return shape;
  };
  if (request.schedule)
    return {make(request.schedule->kind, request.schedule->chunks)};
  if (!trains)
    return {make(ScheduleKind::forwardOnly, 1)};
  return {make(ScheduleKind::oneForwardOneBackward, 1),
          make(ScheduleKind::oneForwardOneBackwardEager, 1),
          make(ScheduleKind::interleaved, 2),
          make(ScheduleKind::zbH1, 1),
          make(ScheduleKind::zbV, 2),
          make(ScheduleKind::vHalf, 2),
          make(ScheduleKind::zbH2, 1)};
}

namespace {

/// Cuts one plan into stages.
class Staging {
public:
  Staging(const PlanningProblem &problem, const PlanRequest &request,
          const PlanCosts &costs, PlanningAnswer &answer, int64_t positions)
      : problem(problem), request(request), costs(costs), answer(answer),
        positions(positions), units(getStageUnits(problem, answer, costs)) {}

  std::optional<std::string> run() {
    std::optional<std::string> refusal;
    if (units.getCount() == 0)
      return "the model has no operator that a stage could have";
    makeChain();
    for (const ScheduleShape &shape : getShapes(problem, request, positions)) {
      if (auto fault = parplan::getRefusal(shape, units.getCount())) {
        if (!refusal)
          refusal = fault;
        continue;
      }
      plan(shape);
    }
    if (!best)
      return refusal;
    answer = std::move(best->answer);
    return std::nullopt;
  }

private:
  /// Every unit as a stage of its own gives the parts of the chain.
  void makeChain() {
    std::vector<int> identity;
    for (int unit = 0; unit < units.getCount(); ++unit)
      identity.push_back(unit);
    std::vector<int> unitOf = spreadStages(problem, units, identity);
    PlanningAnswer whole = answer;
    whole.pipeline.reset();
    whole.stages.clear();
    Execution execution = getExecution(problem, whole);
    std::vector<RunSeconds> seconds =
        getRunSeconds(problem, whole, execution, costs);
    std::vector<bool> isBefore = findMet(unitOf);
    chain.units.resize(units.getCount());
    for (auto [run, spent] : llvm::zip_equal(execution.runs, seconds)) {
      if (unitOf[run.op] < 0)
        continue;
      StageChain::Unit &unit = chain.units[unitOf[run.op]];
      double each =
          isOnHost(problem, answer, run.op) ? 0 : spent.each.getTotal();
      unit.beforeMeetingSeconds += spent.once.getTotal();
      switch (run.phase) {
      case Phase::start:
        unit.startSeconds += each;
        break;
      case Phase::forward:
        unit.pass.forwardSeconds += each;
        break;
      case Phase::inputGradient:
        unit.pass.inputGradientSeconds += each;
        break;
      case Phase::weightGradient:
        unit.pass.weightGradientSeconds += each;
        break;
      case Phase::end:
        (isBefore[run.op] ? unit.beforeMeetingSeconds
                          : unit.afterMeetingSeconds) += each;
        break;
      }
    }
    addBytes(execution, unitOf);
    addLatencies(unitOf);
    std::optional<int64_t> block;
    for (int unit = 0; unit < units.getCount(); ++unit) {
      int64_t own = problem.ops[units.units[unit].front()].block;
      chain.units[unit].startsBlock = block && own != *block;
      block = own;
    }
  }

  /// Ops at the end of the step that others wait for on all positions.
  std::vector<bool> findMet(llvm::ArrayRef<int> unitOf) {
    std::vector<bool> isBefore(problem.ops.size(), false);
    std::vector<Phase> phases = getPhases(problem);
    std::vector<int> makers(problem.values.size(), -1);
    chain.meets = !isTraining(problem);
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        makers[result] = static_cast<int>(index);
    for (size_t index = problem.ops.size(); index-- > 0;) {
      if (phases[index] != Phase::end)
        continue;
      bool combines =
          unitOf[index] < 0 &&
          llvm::any_of(problem.ops[index].operands, [&](int operand) {
            return makers[operand] >= 0 && unitOf[makers[operand]] >= 0;
          });
      chain.meets |= combines;
      if (!combines && !isBefore[index])
        continue;
      isBefore[index] = true;
      for (int operand : problem.ops[index].operands)
        if (makers[operand] >= 0)
          isBefore[makers[operand]] = true;
    }
    return isBefore;
  }

  int64_t getBytes(int value) const {
    return getLocalBytes(problem.values[value], answer.mesh,
                         answer.rest[value]);
  }

  /// Parameters with their states and sums of gradients are of the first unit
  /// that reads them; what both passes read is saved.
  void addBytes(const Execution &execution, llvm::ArrayRef<int> unitOf) {
    chain.fixedBytes = problem.fixedBytes;
    std::vector<int> firstOf(problem.values.size(), -1);
    for (const Execution::Run &run : execution.runs)
      for (int operand : problem.ops[run.op].operands)
        if (unitOf[run.op] >= 0 &&
            problem.values[operand].kind != ValueKind::activation &&
            (firstOf[operand] < 0 || unitOf[run.op] < firstOf[operand]))
          firstOf[operand] = unitOf[run.op];
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (firstOf[index] >= 0 && value.kind != ValueKind::activation &&
          answer.getTier(index) == MemoryTier::device)
        chain.units[firstOf[index]].permanentBytes +=
            getBytes(static_cast<int>(index)) *
            (value.kind == ValueKind::input && value.batchDimension >= 0
                 ? problem.microBatches
                 : 1);
    for (size_t index = 0; index < execution.instances.size(); ++index) {
      const Execution::Instance &instance = execution.instances[index];
      if (instance.producer < 0 || instance.lastUse < 0 ||
          problem.values[instance.value].updates >= 0)
        continue;
      const Execution::Run &made = execution.runs[instance.producer];
      Phase last = execution.runs[instance.lastUse].phase;
      int unit = unitOf[made.op];
      if (unit < 0)
        continue;
      if (problem.ops[made.op].accumulates)
        chain.units[unit].permanentBytes += getBytes(instance.value);
      else if (made.phase == Phase::forward &&
               (last == Phase::inputGradient ||
                last == Phase::weightGradient) &&
               !waitsOnHost(problem, answer, execution,
                            static_cast<int>(index)))
        chain.units[unit].savedBytes += getBytes(instance.value);
    }
    for (const Execution::Copy &copy : execution.copies) {
      const Execution::Run &made = execution.runs[copy.firstUse];
      Phase last = execution.runs[copy.lastUse].phase;
      if (unitOf[made.op] >= 0 && made.phase == Phase::forward &&
          (last == Phase::inputGradient || last == Phase::weightGradient))
        chain.units[unitOf[made.op]].savedBytes += getLocalBytes(
            problem.values[execution.instances[copy.instance].value],
            answer.mesh, copy.layout);
    }
  }

  /// All values that cross a boundary are one message.
  void addLatencies(llvm::ArrayRef<int> unitOf) {
    std::vector<int> makers(problem.values.size(), -1),
        lastReaders(problem.values.size(), -1);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (!isBeforeBackward(op.role) || units.ofOp[index] < 0)
        continue;
      for (int result : op.results)
        makers[result] = unitOf[index];
      for (int operand : op.operands)
        lastReaders[operand] = std::max(lastReaders[operand], unitOf[index]);
    }
    std::vector<int64_t> crossing(units.getCount(), 0);
    for (size_t value = 0; value < problem.values.size(); ++value)
      for (int unit = makers[value]; unit >= 0 && unit < lastReaders[value];
           ++unit)
        crossing[unit] += getBytes(static_cast<int>(value));
    int axis = findPipelineAxis(answer.mesh);
    for (int unit = 0; unit + 1 < units.getCount(); ++unit)
      chain.latencies.push_back(
          costs.getCollectiveSeconds(CollectiveKind::send, answer.mesh, {axis},
                                     std::max<int64_t>(crossing[unit], 1)));
  }

  /// Sums of the chain are estimates: where they say that a plan fits and it
  /// does not, they are believed that much less.
  void plan(const ScheduleShape &shape) {
    constexpr int rounds = 4;
    int64_t limit = request.memoryLimitBytes;
    for (int round = 0; round < rounds; ++round) {
      CutSearch found = findCuts(chain, shape, limit);
      Candidate candidate = make(shape, found.cuts);
      int64_t over = candidate.bytes - request.memoryLimitBytes;
      bool mayFit = over > 0 && found.bytes <= limit && limit > over;
      take(std::move(candidate));
      if (!mayFit)
        return;
      limit -= over;
    }
  }

  struct Candidate {
    PlanningAnswer answer;
    double seconds = 0;
    int64_t bytes = 0;
  };

  Candidate make(const ScheduleShape &shape, const StageCuts &cuts) {
    std::vector<int> stageOfUnit;
    for (int unit = 0, stage = 0; unit < units.getCount(); ++unit) {
      if (stage + 1 < static_cast<int>(cuts.size()) && cuts[stage + 1] == unit)
        ++stage;
      stageOfUnit.push_back(stage);
    }
    Candidate candidate;
    candidate.answer = answer;
    candidate.answer.stages = spreadStages(problem, units, stageOfUnit);
    candidate.answer.pipeline = PipelineChoice{
        shape, StageTimes(static_cast<size_t>(shape.getStageCount()))};
    StepWork work = getStepWork(problem, candidate.answer, costs);
    candidate.answer.pipeline->times = work.getTimes();
    candidate.seconds =
        getStepSeconds(work, shape, candidate.answer.pipeline->times);
    candidate.bytes = getPeakBytes(problem, candidate.answer);
    return candidate;
  }

  void take(Candidate candidate) {
    auto isBetter = [&](const Candidate &first, const Candidate &second) {
      bool fits = first.bytes <= request.memoryLimitBytes;
      if (fits != (second.bytes <= request.memoryLimitBytes))
        return fits;
      return fits ? first.seconds < second.seconds * (1 - 1e-9)
                  : first.bytes < second.bytes;
    };
    if (!best || isBetter(candidate, *best))
      best = std::move(candidate);
  }

  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
  PlanningAnswer &answer;
  int64_t positions;
  StageUnits units;
  StageChain chain;
  std::optional<Candidate> best;
};

} // namespace

std::optional<std::string> parplan::completePlan(const PlanningProblem &problem,
                                                 const PlanRequest &request,
                                                 const PlanCosts &costs,
                                                 PlanningAnswer &answer) {
  answer.recomputed = getRecomputed(
      problem, answer, request.recompute.value_or(RecomputeKind::none));
  if (request.offload)
    answer.tiers = getTiers(problem, answer, *request.offload);
  if (int axis = findPipelineAxis(answer.mesh); axis >= 0)
    if (auto refusal = Staging(problem, request, costs, answer,
                               answer.mesh.getAxis(axis).size)
                           .run())
      return refusal;
  return std::nullopt;
}
