//===- StepTime.cpp - How long a step with stages takes -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StepTime.h"

#include "Offload.h"
#include "Traffic.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <map>
#include <set>

using namespace parplan;

PassTimes StageWork::getTimes() const {
  PassTimes times;
  times.forwardSeconds = std::max(forward.getTotal(), forwardTransfer);
  times.inputGradientSeconds = std::max(
      inputGradient.getTotal(), backwardTransfer - weightGradient.getTotal());
  times.weightGradientSeconds = weightGradient.getTotal();
  return times;
}

StageTimes StepWork::getTimes() const {
  StageTimes times;
  for (const StageWork &stage : stages)
    times.push_back(stage.getTimes());
  return times;
}

int parplan::findPipelineAxis(const Mesh &mesh) {
  for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
    if (axis.role == AxisRole::pipeline)
      return static_cast<int>(index);
  return -1;
}

ScheduleShape parplan::getShape(const PlanningProblem &problem,
                                const PlanningAnswer &answer) {
  if (answer.pipeline)
    return answer.pipeline->shape;
  ScheduleShape shape;
  shape.kind = isTraining(problem) ? ScheduleKind::oneForwardOneBackward
                                   : ScheduleKind::forwardOnly;
  shape.microBatches = problem.microBatches;
  return shape;
}

Meetings
parplan::findMeetings(const PlanningProblem &problem,
                      llvm::ArrayRef<int> placeOf,
                      llvm::function_ref<bool(llvm::ArrayRef<int>)> counts) {
  Meetings meetings;
  std::vector<bool> &isBefore = meetings.isBefore;
  isBefore.assign(problem.ops.size(), false);
  std::vector<int> makers(problem.values.size(), -1);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int result : op.results)
      makers[result] = static_cast<int>(index);
  std::vector<Phase> phases = getPhases(problem);
  for (size_t index = problem.ops.size(); index-- > 0;) {
    if (phases[index] != Phase::end)
      continue;
    // The two stages of a tied parameter meet each other alone.
    if (placeOf[index] < 0) {
      std::set<int> places;
      for (int operand : problem.ops[index].operands)
        if (makers[operand] >= 0 && placeOf[makers[operand]] >= 0)
          places.insert(placeOf[makers[operand]]);
      std::vector<int> meeting(places.begin(), places.end());
      if (meeting.size() > 1 && (!counts || counts(meeting))) {
        meetings.places.push_back(std::move(meeting));
        isBefore[index] = true;
      }
    }
    if (isBefore[index])
      for (int operand : problem.ops[index].operands)
        if (makers[operand] >= 0)
          isBefore[makers[operand]] = true;
  }
  return meetings;
}

static Meetings getMeetings(const PlanningProblem &problem,
                            const PlanningAnswer &answer,
                            const ScheduleShape &shape) {
  std::vector<int> positionOf;
  positionOf.reserve(problem.ops.size());
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    int stage = answer.getStage(op);
    positionOf.push_back(
        stage < 0 ? -1 : static_cast<int>(getPosition(shape, stage)));
  }
  return findMeetings(problem, positionOf);
}

static void addMessages(const NumberedPlan &plan, const Execution &execution,
                        const ScheduleShape &shape, const PlanCosts &costs,
                        StepWork &work) {
  const PlanningAnswer &answer = plan.answer;
  work.latencies.assign(std::max<int64_t>(shape.getStageCount() - 1, 1), 0);
  work.messageSeconds.assign(shape.positions, 0);
  int axis = findPipelineAxis(answer.mesh);
  if (axis < 0)
    return;
  struct Crossing {
    int64_t messages = 0, bytes = 0, pieceBytes = 0;

    void add(int64_t moreMessages, int64_t more, int64_t morePieces) {
      messages += moreMessages;
      bytes += more;
      pieceBytes += morePieces;
    }
  };
  std::vector<Crossing> forward(work.latencies.size()), backward = forward;
  // A device's messages follow each other without a pause. A processor that
  // ranks share has the work of every one.
  double more = work.sharing > 1
                    ? costs.getMessageSeconds(answer.mesh, axis, /*bytes=*/1, 1)
                    : 0;
  auto getSeconds = [&](const Crossing &crossing) {
    return costs.getMessageSeconds(answer.mesh, axis, crossing.bytes,
                                   crossing.pieceBytes) +
           static_cast<double>(crossing.messages - 1) * more;
  };
  std::map<std::pair<int, int>, Crossing> edges;
  for (const StageTraffic &traffic : getTraffic(plan, execution))
    edges[{traffic.from, traffic.to}].add(traffic.messages, traffic.bytes,
                                          traffic.pieceBytes);
  for (const auto &[edge, sum] : edges) {
    auto [from, to] = edge;
    int64_t source = getPosition(shape, from);
    int64_t target = getPosition(shape, to);
    double seconds = getSeconds(sum);
    work.messageSeconds[source] += seconds;
    work.messageSeconds[target] += seconds;
    auto &crossing = from < to ? forward : backward;
    for (int boundary = std::min(from, to); boundary < std::max(from, to);
         ++boundary)
      crossing[boundary].add(sum.messages, sum.bytes, sum.pieceBytes);
  }
  // There and back, once per step.
  for (const Execution::Instance &instance : execution.instances) {
    if (!isTiedGradient(execution, instance))
      continue;
    int64_t source = getPosition(shape, instance.sender);
    int64_t target = getPosition(shape, instance.stage);
    if (source == target)
      continue;
    double seconds =
        2 * costs.getCollectiveSeconds(CollectiveKind::send, answer.mesh,
                                       {axis}, plan.getBytes(instance.value));
    work.positions[source].beforeMeeting.data += seconds;
    work.positions[target].beforeMeeting.data += seconds;
  }
  for (size_t boundary = 0; boundary < work.latencies.size(); ++boundary) {
    auto stage = static_cast<int64_t>(boundary);
    const Crossing &most = forward[boundary].bytes >= backward[boundary].bytes
                               ? forward[boundary]
                               : backward[boundary];
    if (most.bytes > 0 &&
        getPosition(shape, stage) != getPosition(shape, stage + 1))
      work.latencies[boundary] = getSeconds(most);
  }
}

/// What stacks compute again though no gradient reads it: the rest of the
/// blocks of which a product is computed again.
static void addRestOfBlocks(const PlanningProblem &problem,
                            const Execution &execution,
                            llvm::ArrayRef<RunSeconds> seconds,
                            StepWork &work) {
  std::set<int64_t> blocks;
  std::set<int> remade;
  for (const Execution::Run &run : execution.runs) {
    const PlanningOp &op = problem.ops[run.op];
    if (!run.isRemade || op.block < 0)
      continue;
    remade.insert(run.op);
    if (isMatrix(op.work.kind))
      blocks.insert(op.block);
  }
  for (auto [run, spent] : llvm::zip_equal(execution.runs, seconds))
    if (run.phase == Phase::forward && !remade.count(run.op) &&
        blocks.count(problem.ops[run.op].block))
      work.stages[run.stage].inputGradient.add(spent.each);
}

StepWork parplan::getStepWork(const PlanningProblem &problem,
                              const PlanningAnswer &answer,
                              const PlanCosts &costs) {
  OwnTables tables(problem, answer, &costs);
  return getStepWork(tables.get(), getExecution(tables.get()));
}

StepWork parplan::getStepWork(const NumberedPlan &plan,
                              const Execution &execution) {
  const PlanningProblem &problem = plan.problem;
  const PlanningAnswer &answer = plan.answer;
  const PlanCosts &costs = *plan.tables.getCosts();
  StepWork work;
  ScheduleShape shape = getShape(problem, answer);
  std::vector<RunSeconds> seconds = getRunSeconds(plan, execution);
  Meetings meetings = getMeetings(problem, answer, shape);
  work.sharing = costs.getSharing();
  work.meets = !meetings.places.empty() || !hasBackward(shape.kind);
  work.stages.resize(shape.getStageCount());
  work.positions.resize(shape.positions);
  for (auto [run, spent] : llvm::zip_equal(execution.runs, seconds)) {
    StageWork &stage = work.stages[run.stage];
    PositionWork &position = work.positions[getPosition(shape, run.stage)];
    // What is summed over micro-batches is complete after the last one.
    position.beforeMeeting.add(spent.once);
    switch (run.phase) {
    case Phase::start:
      position.start.add(spent.each);
      break;
    case Phase::forward:
      stage.forward.add(spent.each);
      break;
    case Phase::inputGradient:
      stage.inputGradient.add(spent.each);
      break;
    case Phase::weightGradient:
      stage.weightGradient.add(spent.each);
      break;
    case Phase::end:
      (meetings.isBefore[run.op] ? position.beforeMeeting
                                 : position.afterMeeting)
          .add(spent.each);
      break;
    }
  }
  if (costs.recomputesWholeBlocks())
    addRestOfBlocks(problem, execution, seconds, work);
  addMessages(plan, execution, shape, costs, work);
  addTransfers(problem, answer, execution, costs, work);
  return work;
}

void parplan::setPipelineTimes(const PlanningProblem &problem,
                               const PlanCosts &costs, PlanningAnswer &answer) {
  if (answer.pipeline)
    setPipelineTimes(getStepWork(problem, answer, costs), answer);
}

void parplan::setPipelineTimes(const StepWork &work, PlanningAnswer &answer) {
  answer.pipeline->times = work.getTimes();
  answer.pipeline->latencies = work.latencies;
  answer.pipeline->room = {};
}

/// Messages between ranks that share processors are work of those who receive
/// them.
static void addLatencies(const StepWork &work, StageTimes &times) {
  for (size_t boundary = 0; boundary < work.latencies.size(); ++boundary) {
    times[boundary + 1].forwardSeconds += work.latencies[boundary];
    times[boundary].inputGradientSeconds += work.latencies[boundary];
  }
}

double parplan::getStepSeconds(const StepWork &work,
                               const PipelineSchedule &schedule) {
  const ScheduleShape &shape = schedule.shape;
  StageTimes actual = work.getTimes();
  double start = 0, after = 0, atEnds = 0, messages = 0;
  for (auto [position, message] :
       llvm::zip_equal(work.positions, work.messageSeconds)) {
    double end = position.afterMeeting.getTotal() + position.endTransfer;
    start = std::max(start, position.getStart());
    after = std::max(after, end);
    atEnds = std::max(atEnds, position.getStart() +
                                  position.beforeMeeting.getTotal() + end);
    messages =
        std::max(messages, static_cast<double>(shape.microBatches) * message);
  }
  if (shape.positions == 1) {
    double passes = 0;
    for (const PassTimes &pass : actual)
      passes +=
          hasBackward(shape.kind) ? pass.getSeconds() : pass.forwardSeconds;
    return atEnds + static_cast<double>(shape.microBatches) * passes;
  }
  constexpr int64_t steps = 5;
  bool isShared = work.sharing > 1;
  if (isShared)
    addLatencies(work, actual);
  Timeline timeline = simulate(
      schedule, actual, isShared ? std::vector<double>() : work.latencies,
      work.meets ? 1 : steps, work.sharing);
  if (!work.meets)
    return std::max(timeline.periodSeconds, messages) + atEnds;
  double last = 0;
  for (auto [position, passes] :
       llvm::zip_equal(work.positions, timeline.passes)) {
    double end = passes.empty() ? 0 : passes.back().endSeconds;
    last = std::max(last, end + position.beforeMeeting.getTotal());
  }
  return start + std::max(last, messages) + after;
}

double parplan::getStepSeconds(const StepWork &work, const ScheduleShape &shape,
                               const StageTimes &times,
                               const Latencies &latencies) {
  return getStepSeconds(work, makeSchedule(shape, times, latencies));
}
