//===- Offload.cpp - Values on other tiers than the device ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Offload.h"

#include "StepTime.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <set>

using namespace parplan;

bool parplan::updatesParameter(const PlanningProblem &problem,
                               const PlanningOp &op) {
  return op.role == OpRole::optimizer &&
         llvm::any_of(op.results, [&](int result) {
           int variable = problem.values[result].updates;
           return variable >= 0 &&
                  problem.values[variable].kind == ValueKind::parameter;
         });
}

OpCost parplan::getHostCost(const PlanningProblem &problem,
                            const PlanningOp &op,
                            llvm::function_ref<int64_t(int)> getBytes) {
  OpCost cost;
  cost.kind = WorkKind::elementwise;
  for (int result : op.results)
    if (int variable = problem.values[result].updates; variable >= 0) {
      int64_t bytes = getBytes(variable);
      cost.bytesRead += bytes;
      cost.bytesWritten += bytes;
    }
  for (int operand : op.operands)
    if (problem.values[operand].kind == ValueKind::activation)
      cost.bytesRead += getBytes(operand);
  return cost;
}

std::vector<int> parplan::getNewValues(const PlanningProblem &problem) {
  std::vector<int> newValues(problem.values.size(), -1);
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.updates >= 0)
      newValues[value.updates] = static_cast<int>(index);
  return newValues;
}

MemoryTier parplan::getRestingTier(const PlanningAnswer &answer, int variable,
                                   int newValue) {
  MemoryTier tier = answer.getTier(variable);
  if (tier == MemoryTier::device && newValue >= 0)
    tier = answer.getTier(newValue);
  return tier;
}

bool parplan::isOnHost(const PlanningProblem &problem,
                       const PlanningAnswer &answer, int op) {
  return llvm::any_of(problem.ops[op].results, [&](int result) {
    return problem.values[result].updates >= 0 &&
           answer.getTier(result) != MemoryTier::device;
  });
}

std::vector<bool> parplan::findUpdatedPieces(const PlanningProblem &problem,
                                             const PlanningAnswer &answer) {
  if (answer.tiers.empty())
    return {};
  std::vector<bool> inPieces(problem.values.size(), false);
  auto isTrained = [&](int value) {
    return value >= 0 && problem.values[value].kind == ValueKind::parameter;
  };
  // An update may be split further than by storage; its pieces are no others'.
  auto updatesWhatRests = [&](size_t index, int variable) {
    const PlanningOp &op = problem.ops[index];
    auto operand = llvm::find(op.operands, variable);
    if (operand == op.operands.end())
      return false;
    Sharding use = getUseSharding(
        op.rule, answer.assignments[index],
        static_cast<int>(std::distance(op.operands.begin(), operand)));
    use.storage.clear();
    return use == answer.rest[variable];
  };
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (int result : op.results)
      if (int variable = problem.values[result].updates;
          isTrained(variable) && op.role == OpRole::optimizer)
        inPieces[variable] =
            updatesWhatRests(index, variable) &&
            isOnHost(problem, answer, static_cast<int>(index)) &&
            !answer.assignments[index].storage.empty() &&
            !answer.rest[variable].isStored() &&
            answer.getTier(variable) == MemoryTier::device;
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      bool isOwnUpdate = llvm::any_of(op.results, [&](int result) {
        return problem.values[result].updates == operand;
      });
      if (!isOwnUpdate && inPieces[operand] &&
          getUseSharding(op.rule, answer.assignments[index],
                         static_cast<int>(position))
              .isStored())
        inPieces[operand] = false;
    }
  return inPieces;
}

int64_t parplan::getUpdatedBytes(const PlanningProblem &problem,
                                 const PlanningAnswer &answer, int value,
                                 int update) {
  Sharding sharding = answer.rest[value];
  // A parameter that is streamed rests whole.
  if (update >= 0 && isOnHost(problem, answer, update) &&
      !sharding.isStored() && answer.getTier(value) == MemoryTier::device &&
      (problem.values[value].kind != ValueKind::parameter ||
       answer.restsInPieces(value)))
    sharding.storage = answer.assignments[update].storage;
  return getLocalBytes(problem.values[value], answer.mesh, sharding);
}

bool parplan::waitsOnHost(const PlanningProblem &problem,
                          const PlanningAnswer &answer,
                          const Execution &execution, int instance) {
  const Execution::Instance &lives = execution.instances[instance];
  if (answer.getTier(lives.value) != MemoryTier::host ||
      problem.values[lives.value].kind != ValueKind::activation ||
      problem.values[lives.value].updates >= 0 || lives.lastUse < 0)
    return false;
  int first = lives.producer >= 0 ? lives.producer : lives.firstUse;
  Phase last = execution.runs[lives.lastUse].phase;
  return execution.runs[first].phase == Phase::forward &&
         (last == Phase::inputGradient || last == Phase::weightGradient);
}

namespace {

class TransferCounter {
public:
  TransferCounter(const PlanningProblem &problem, const PlanningAnswer &answer,
                  const Execution &execution, const PlanCosts &costs,
                  StepWork &work)
      : problem(problem), answer(answer), execution(execution), costs(costs),
        work(work), shape(getShape(problem, answer)),
        newValues(getNewValues(problem)), updates(problem.values.size(), -1),
        passes(work.stages.size()), steps(work.positions.size()) {
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        if (int variable = problem.values[result].updates; variable >= 0)
          updates[variable] = static_cast<int>(index);
  }

  void run() {
    for (size_t instance = 0; instance < execution.instances.size(); ++instance)
      addActivation(static_cast<int>(instance));
    std::set<std::tuple<int, int, bool>> streamed;
    std::set<std::pair<int, int>> loaded;
    for (const Execution::Run &run : execution.runs)
      for (int operand : problem.ops[run.op].operands)
        if (problem.values[operand].kind == ValueKind::parameter)
          addParameter(operand, run, streamed, loaded);
    for (const Execution::Run &run : execution.runs)
      if (run.phase == Phase::end)
        addUpdate(run);
    finish();
  }

private:
  int64_t getBytes(int value) const {
    return getLocalBytes(problem.values[value], answer.mesh,
                         answer.rest[value]);
  }
  OffloadBytes &getOffload(int stage) {
    return work.positions[getPosition(shape, stage)].offload;
  }

  void addActivation(int instance) {
    if (!waitsOnHost(problem, answer, execution, instance))
      return;
    const Execution::Instance &lives = execution.instances[instance];
    int64_t bytes = getBytes(lives.value);
    passes[lives.stage].forwardDown += bytes;
    passes[lives.stage].backwardUp += bytes;
    OffloadBytes &offload = getOffload(lives.stage);
    offload.deviceToHost += shape.microBatches * bytes;
    offload.hostToDevice += shape.microBatches * bytes;
  }

  void addParameter(int parameter, const Execution::Run &run,
                    std::set<std::tuple<int, int, bool>> &streamed,
                    std::set<std::pair<int, int>> &loaded) {
    int64_t bytes = getBytes(parameter);
    int position = static_cast<int>(getPosition(shape, run.stage));
    OffloadBytes &offload = getOffload(run.stage);
    MemoryTier tier = answer.getTier(parameter);
    bool isOfStep = run.phase == Phase::start || run.phase == Phase::end;
    if (isOnHost(problem, answer, run.op))
      return;
    if (tier == MemoryTier::device || isOfStep) {
      tier = getRestingTier(answer, parameter, newValues[parameter]);
      if (tier == MemoryTier::device ||
          !loaded.insert({parameter, position}).second)
        return;
      bytes = getUpdatedBytes(problem, answer, parameter, updates[parameter]);
      steps[position].up += bytes;
      offload.hostToDevice += bytes;
      if (tier == MemoryTier::nvme)
        addNvme(steps[position], offload, bytes, 0);
      return;
    }
    bool isForward = run.phase == Phase::forward;
    if (!streamed.insert({parameter, run.stage, isForward}).second)
      return;
    PassBytes &pass = passes[run.stage];
    (isForward ? pass.forwardUp : pass.backwardUp) += bytes;
    offload.hostToDevice += shape.microBatches * bytes;
    if (tier == MemoryTier::nvme) {
      (isForward ? pass.forwardRead : pass.backwardRead) += bytes;
      offload.nvmeRead += shape.microBatches * bytes;
    }
  }

  /// An update on the host reads gradients from the device; what is updated on
  /// the device and rests elsewhere goes down.
  void addUpdate(const Execution::Run &run) {
    const PlanningOp &op = problem.ops[run.op];
    int position = static_cast<int>(getPosition(shape, run.stage));
    OffloadBytes &offload = getOffload(run.stage);
    bool isThere = isOnHost(problem, answer, run.op);
    auto getBytes = [&](int value) {
      return getUpdatedBytes(problem, answer, value, run.op);
    };
    for (int result : op.results) {
      int variable = problem.values[result].updates;
      if (variable < 0)
        continue;
      int64_t bytes = getBytes(variable);
      MemoryTier tier = getRestingTier(answer, variable, result);
      if (!isThere && tier != MemoryTier::device) {
        steps[position].down += bytes;
        offload.deviceToHost += bytes;
      }
      if (tier == MemoryTier::nvme)
        addNvme(steps[position], offload, isThere ? bytes : 0, bytes);
    }
    if (!isThere)
      return;
    for (int operand : op.operands) {
      ValueKind kind = problem.values[operand].kind;
      if (kind != ValueKind::activation)
        continue;
      int64_t bytes = getBytes(operand);
      steps[position].down += bytes;
      offload.deviceToHost += bytes;
    }
    steps[position].hostSeconds +=
        costs.getHostOpSeconds(getHostCost(problem, op, getBytes));
  }

  struct PassBytes {
    int64_t forwardUp = 0, forwardDown = 0, forwardRead = 0;
    int64_t backwardUp = 0, backwardRead = 0;
  };
  struct StepBytes {
    int64_t up = 0, down = 0, read = 0, written = 0;
    double hostSeconds = 0;
  };

  static void addNvme(StepBytes &step, OffloadBytes &offload, int64_t read,
                      int64_t written) {
    step.read += read;
    step.written += written;
    offload.nvmeRead += read;
    offload.nvmeWritten += written;
  }

  double getSeconds(MemoryTier from, MemoryTier to, int64_t bytes) const {
    return bytes > 0 ? costs.getTransferSeconds(from, to, bytes) : 0;
  }
  double getUp(int64_t bytes) const {
    return getSeconds(MemoryTier::host, MemoryTier::device, bytes);
  }
  double getDown(int64_t bytes) const {
    return getSeconds(MemoryTier::device, MemoryTier::host, bytes);
  }
  double getRead(int64_t bytes) const {
    return getSeconds(MemoryTier::nvme, MemoryTier::host, bytes);
  }

  /// Each engine works on its own, the slowest decides.
  void finish() {
    for (auto [stage, pass] : llvm::zip_equal(work.stages, passes)) {
      stage.forwardTransfer =
          std::max({getUp(pass.forwardUp), getDown(pass.forwardDown),
                    getRead(pass.forwardRead)});
      stage.backwardTransfer =
          std::max(getUp(pass.backwardUp), getRead(pass.backwardRead));
    }
    for (size_t number = 0; number < steps.size(); ++number) {
      const StepBytes &step = steps[number];
      PositionWork &position = work.positions[number];
      // Uploads hide behind the first forward pass.
      position.startTransfer = std::max(
          0.0, getUp(step.up) -
                   work.stages[getStage(shape, number, 0)].forward.getTotal());
      position.endTransfer = std::max(
          {getDown(step.down), step.hostSeconds, getRead(step.read),
           getSeconds(MemoryTier::host, MemoryTier::nvme, step.written)});
    }
  }

  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const Execution &execution;
  const PlanCosts &costs;
  StepWork &work;
  ScheduleShape shape;
  std::vector<int> newValues;
  /// Per variable the op that replaces it, or -1.
  std::vector<int> updates;
  std::vector<PassBytes> passes;
  std::vector<StepBytes> steps;
};

} // namespace

void parplan::addTransfers(const PlanningProblem &problem,
                           const PlanningAnswer &answer,
                           const Execution &execution, const PlanCosts &costs,
                           StepWork &work) {
  if (!answer.tiers.empty())
    TransferCounter(problem, answer, execution, costs, work).run();
}

void parplan::moveUpdate(const PlanningProblem &problem, const PlanningOp &op,
                         MemoryTier tier, std::vector<MemoryTier> &tiers) {
  for (int result : op.results) {
    int variable = problem.values[result].updates;
    if (variable < 0)
      continue;
    tiers[result] = tier;
    if (problem.values[variable].kind == ValueKind::state)
      tiers[variable] = tier;
  }
}

std::vector<MemoryTier> parplan::getTiers(const PlanningProblem &problem,
                                          const PlanningAnswer &answer,
                                          const OffloadChoice &choice) {
  std::vector<MemoryTier> tiers(problem.values.size(), MemoryTier::device);
  if (choice.isNone())
    return {};
  for (const PlanningOp &op : problem.ops)
    if (updatesParameter(problem, op))
      moveUpdate(problem, op, choice.optimizer, tiers);
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind == ValueKind::parameter)
      tiers[index] = choice.parameters;
  if (!choice.activations)
    return tiers;
  PlanningAnswer waiting = answer;
  waiting.tiers.assign(problem.values.size(), MemoryTier::host);
  Execution execution = getExecution(problem, waiting);
  for (size_t index = 0; index < execution.instances.size(); ++index)
    if (waitsOnHost(problem, waiting, execution, static_cast<int>(index)))
      tiers[execution.instances[index].value] = MemoryTier::host;
  return tiers;
}
