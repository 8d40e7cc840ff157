//===- Execution.cpp - What runs where, and how often ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "Offload.h"
#include "PlanKernels.h"

#include "parplan/Planner/VisitSums.h"

using namespace parplan;

namespace {

class Expansion {
public:
  explicit Expansion(const NumberedPlan &plan)
      : plan(plan), problem(plan.problem), answer(plan.answer),
        phases(plan.facts.phases), producers(plan.facts.producers),
        kernels(plan), stages(problem.ops.size()),
        isSplit(answer.pipeline &&
                splitsBackward(answer.pipeline->shape.kind)) {
    spreadStages();
    spreadUpdates();
    findUploaded();
  }

  Execution run() {
    execution.runs.reserve(problem.ops.size());
    execution.instances.reserve(problem.values.size());
    for (size_t op = 0; op < problem.ops.size(); ++op)
      for (int stage : stages[op]) {
        if (isUploaded(op))
          continue;
        bool isBackward = isOfBackward(static_cast<int>(op));
        if (isBackward && !(answer.recomputed.empty() && uploaded.empty()))
          for (int operand : problem.ops[op].operands)
            remake(operand, stage);
        if (phases[op] == Phase::forward && !uploaded.empty())
          for (int operand : problem.ops[op].operands)
            makeUploaded(operand, stage);
        addRun(static_cast<int>(op), stage, phases[op], /*isRemade=*/false);
      }
    handOn();
    return std::move(execution);
  }

private:
  /// Ascending.
  using StageSet = llvm::SmallVector<int, 1>;

  static void insert(StageSet &set, int stage) {
    auto *at = llvm::lower_bound(set, stage);
    if (at == set.end() || *at != stage)
      set.insert(at, stage);
  }

  /// Cloned ops are in the stages of their readers.
  void spreadStages() {
    for (size_t index = problem.ops.size(); index-- > 0;) {
      int stage = answer.getStage(index);
      if (stage >= 0)
        insert(stages[index], stage);
      else if (stages[index].empty())
        stages[index].push_back(0);
      for (int operand : problem.ops[index].operands)
        if (int producer = producers[operand];
            producer >= 0 && answer.getStage(producer) < 0)
          for (int own : stages[index])
            insert(stages[producer], own);
    }
  }

  /// Every stage that reads a parameter updates its copy.
  void spreadUpdates() {
    if (!answer.pipeline)
      return;
    std::vector<StageSet> readers(problem.values.size());
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (isBeforeBackward(op.role))
        for (int operand : op.operands)
          if (problem.values[operand].kind == ValueKind::parameter)
            for (int own : stages[index])
              insert(readers[operand], own);
    bool isChanged = false;
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results) {
        int variable = problem.values[result].updates;
        if (variable < 0 || op.role != OpRole::optimizer)
          continue;
        size_t before = stages[index].size();
        for (int reader : readers[variable])
          insert(stages[index], reader);
        isChanged |= stages[index].size() > before;
      }
    if (isChanged)
      spreadStages();
  }

  /// Ops between a parameter that passes read from another tier and what reads
  /// it: each pass makes them for itself, right before.
  void findUploaded() {
    if (answer.tiers.empty())
      return;
    std::vector<bool> isFromTier(problem.values.size(), false);
    for (auto [index, value] : llvm::enumerate(problem.values))
      isFromTier[index] = value.kind == ValueKind::parameter &&
                          answer.getTier(index) != MemoryTier::device;
    uploaded.assign(problem.ops.size(), false);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (!op.isMadePerUpload || phases[index] != Phase::start ||
          op.operands.size() != 1 || op.results.size() != 1)
        continue;
      int number = static_cast<int>(index), from = op.operands[0],
          made = op.results[0];
      uploaded[index] = isFromTier[from] && !problem.values[made].isOutput &&
                        plan.getUse(number, 0) == plan.rest[from] &&
                        plan.getMade(number, 0) == plan.rest[made];
      isFromTier[made] = uploaded[index];
    }
    // What the step or another stage reads of it is made of one upload, and so
    // is what else is made of that.
    for (size_t index = problem.ops.size(); index-- > 0;) {
      bool isOfStep =
          phases[index] == Phase::start || phases[index] == Phase::end;
      for (int operand : problem.ops[index].operands) {
        int producer = producers[operand];
        if (producer >= 0 && uploaded[producer] &&
            ((isOfStep && !uploaded[index]) ||
             !llvm::all_of(stages[index], [&](int stage) {
               return llvm::is_contained(stages[producer], stage);
             })))
          uploaded[producer] = false;
      }
    }
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (uploaded[index])
        if (int producer = producers[op.operands[0]]; producer >= 0)
          uploaded[index] = uploaded[producer];
  }
  bool isUploaded(size_t op) const { return !uploaded.empty() && uploaded[op]; }

  bool isOfBackward(int op) const {
    return phases[op] == Phase::inputGradient ||
           phases[op] == Phase::weightGradient;
  }

  /// The instances of a value in a stage, -1: none yet.
  struct Known {
    int made = -1, remade = -1;
  };
  bool isMade(int value, int stage) const {
    auto found = known.find({value, stage});
    return found != known.end() && found->second.made >= 0;
  }
  bool isRemade(int value, int stage) const {
    auto found = known.find({value, stage});
    return found != known.end() && found->second.remade >= 0;
  }

  /// Makes a value again for the backward pass of a stage, and what it needs.
  void remake(int value, int stage) {
    int producer = producers[value];
    if (producer < 0 ||
        !(answer.isRecomputed(producer) || isUploaded(producer)) ||
        !llvm::is_contained(stages[producer], stage) || isRemade(value, stage))
      return;
    for (int operand : problem.ops[producer].operands)
      remake(operand, stage);
    addRun(producer, stage, Phase::inputGradient, /*isRemade=*/true);
  }

  /// The same for what the forward pass reads of an upload.
  void makeUploaded(int value, int stage) {
    int producer = producers[value];
    if (producer < 0 || !isUploaded(producer) || isMade(value, stage))
      return;
    makeUploaded(problem.ops[producer].operands[0], stage);
    addRun(producer, stage, Phase::forward, /*isRemade=*/false);
  }

  void addRun(int op, int stage, Phase phase, bool isAgain) {
    int run = static_cast<int>(execution.runs.size());
    execution.runs.push_back(
        {op, stage, phase, isAgain && answer.isRecomputed(op)});
    const PlanningOp &description = problem.ops[op];
    bool isBackward = isAgain || isOfBackward(op);
    FusedRun fused;
    for (auto [position, operand] : llvm::enumerate(description.operands)) {
      int instance = getInstance(operand, stage, isBackward);
      ++readCounts[instance];
      fused.read.push_back(instance);
      Execution::Instance &read = execution.instances[instance];
      if (read.firstUse < 0 || phase < execution.runs[read.firstUse].phase)
        read.firstUse = run;
      if (read.lastUse < 0 || getPass(run) >= getPass(read.lastUse))
        read.lastUse = run;
      if (int copy = addCopy(instance, run, position, isAgain); copy >= 0)
        fused.copies.push_back(copy);
    }
    for (int result : description.results) {
      auto number = static_cast<int>(execution.instances.size());
      Known &ofResult = known[{result, stage}];
      (isAgain ? ofResult.remade : ofResult.made) = number;
      Execution::Instance made;
      made.value = result;
      made.stage = stage;
      made.producer = run;
      addInstance(made);
      fused.made = number;
    }
    if (kernels.isFused(op))
      fusedRuns.push_back(std::move(fused));
  }

  /// What is fused into its readers is computed when they are.
  void handOn() {
    auto extend = [&](int &last, int kernel) {
      if (std::pair(getPass(kernel), kernel) > std::pair(getPass(last), last))
        last = kernel;
    };
    // Readers before what they read.
    for (const FusedRun &fused : llvm::reverse(fusedRuns)) {
      Execution::Instance &made = execution.instances[fused.made];
      const PlanningOp &maker = problem.ops[execution.runs[made.producer].op];
      // Another stage gets it from memory.
      if (made.lastUse < 0 || isSent.contains(made.value) ||
          readCounts[fused.made] > maker.fusedReads)
        continue;
      execution.runs[made.producer].kernel = made.lastUse;
      for (int read : fused.read)
        extend(execution.instances[read].lastUse, made.lastUse);
      for (int copy : fused.copies)
        extend(execution.copies[copy].lastUse, made.lastUse);
    }
  }

  /// A phase runs for a micro-batch before the next one, whatever the order of
  /// the program; unsplit, both gradients are one.
  Phase getPass(int run) const {
    Phase phase = execution.runs[run].phase;
    return phase == Phase::weightGradient && !isSplit ? Phase::inputGradient
                                                      : phase;
  }

  void addInstance(const Execution::Instance &instance) {
    execution.instances.push_back(instance);
    readCounts.push_back(0);
    copiesOf.emplace_back();
  }

  int getInstance(int value, int stage, bool isBackward) {
    Known &ofValue = known[{value, stage}];
    if (isBackward && ofValue.remade >= 0)
      return ofValue.remade;
    if (ofValue.made < 0) {
      ofValue.made = static_cast<int>(execution.instances.size());
      Execution::Instance instance;
      instance.value = value;
      instance.stage = stage;
      if (int producer = producers[value]; producer >= 0) {
        instance.sender = stages[producer].front();
        instance.sentPhase = phases[producer];
        isSent.insert(value);
      }
      addInstance(instance);
    }
    return ofValue.made;
  }

  /// The number of the copy that is read; -1: none is.
  int addCopy(int instance, int run, size_t position, bool isAgain) {
    const Execution::Run &reading = execution.runs[run];
    const PlanningOp &op = problem.ops[reading.op];
    int value = execution.instances[instance].value;
    int use = plan.getUse(reading.op, position);
    if (use == plan.rest[value]) {
      execution.instances[instance].isReadAtRest = true;
      return -1;
    }
    CopyReader reader = getCopyReader(op);
    if (isAgain)
      reader.role = OpRole::inputGradient;
    for (int number : copiesOf[instance]) {
      Execution::Copy &copy = execution.copies[number];
      if (copy.layout == use &&
          sharesCopies(copy.reader, reader, answer.rest[value],
                       answer.isGatheredAgain(value))) {
        if (getPass(run) < getPass(copy.firstUse))
          copy.firstUse = run;
        if (getPass(run) >= getPass(copy.lastUse))
          copy.lastUse = run;
        return number;
      }
    }
    int number = static_cast<int>(execution.copies.size());
    copiesOf[instance].push_back(number);
    execution.copies.push_back({instance, use, plan.tables.getBytes(value, use),
                                run, run, reader, getRepeat(problem, op)});
    return number;
  }

  const NumberedPlan &plan;
  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const std::vector<Phase> &phases;
  const std::vector<int> &producers;
  PlanKernels kernels;
  std::vector<StageSet> stages;
  bool isSplit;
  /// Per op; empty: none is.
  std::vector<bool> uploaded;
  llvm::DenseMap<std::pair<int, int>, Known> known;
  /// Per instance its copies, and how often it is read.
  std::vector<llvm::SmallVector<int, 2>> copiesOf;
  std::vector<int> readCounts;
  /// Values that a stage has of another one.
  llvm::DenseSet<int> isSent;
  /// A run that its readers may compute, with the instances that it reads, the
  /// copies, and the one that it makes.
  struct FusedRun {
    llvm::SmallVector<int, 2> read, copies;
    int made = -1;
  };
  std::vector<FusedRun> fusedRuns;
  Execution execution;
};

} // namespace

Execution parplan::getExecution(const NumberedPlan &plan) {
  return Expansion(plan).run();
}

Execution parplan::getExecution(const PlanningProblem &problem,
                                const PlanningAnswer &answer) {
  return getExecution(OwnTables(problem, answer).get());
}

std::vector<RunSeconds> parplan::getRunSeconds(const NumberedPlan &plan,
                                               const Execution &execution) {
  const PlanningProblem &problem = plan.problem;
  std::vector<RunSeconds> seconds(execution.runs.size());
  // What is moved once per visit takes its share of every pass.
  std::vector<int64_t> visits = getVisitCounts(problem, plan.answer);
  auto getShare = [&](int value) {
    return visits[value] == 0 ? 1.0
                              : static_cast<double>(visits[value]) /
                                    static_cast<double>(problem.microBatches);
  };
  for (auto [number, run] : llvm::enumerate(execution.runs)) {
    const PlanningOp &op = problem.ops[run.op];
    auto repeat = static_cast<double>(getRepeat(problem, op));
    PlanTables::OpSeconds ofOp = plan.getSeconds(run.op);
    WorkSeconds &each = seconds[number].each;
    if (!isOnHost(problem, plan.answer, run.op)) {
      (op.role == OpRole::optimizer ? each.optimizer : each.compute) +=
          ofOp.own / repeat;
      each.tensor += ofOp.inner / repeat;
    }
    for (auto [position, result] : llvm::enumerate(op.results))
      if (int made = plan.getMade(run.op, position); made != plan.rest[result])
        (op.accumulates ? seconds[number].once : each)
            .add(plan.getChangeToRest(result, made).seconds, getShare(result));
  }
  // Constants are made in any layout, and inputs and parameters are loaded in
  // the layout at rest, for nothing.
  for (const Execution::Copy &copy : execution.copies) {
    int value = execution.instances[copy.instance].value;
    if (problem.values[value].kind != ValueKind::constant)
      seconds[copy.firstUse].each.add(
          plan.getChangeFromRest(value, copy.layout).seconds, getShare(value));
  }
  return seconds;
}

std::vector<int> parplan::findSummedOps(const PlanningProblem &problem,
                                        llvm::ArrayRef<int> producers,
                                        int accumulate) {
  std::vector<int> found, open = {accumulate};
  while (!open.empty()) {
    int number = open.back();
    open.pop_back();
    const PlanningOp &op = problem.ops[number];
    // Sums, and casts of them.
    bool isCast = op.operands.size() == 1 &&
                  op.role == OpRole::weightGradient &&
                  problem.values[op.operands[0]].shape ==
                      problem.values[op.results[0]].shape;
    bool isPassedOn =
        number == accumulate || op.role == OpRole::gradientSum || isCast;
    bool isMade = llvm::all_of(op.operands, [&](int operand) {
      return producers[operand] >= 0 &&
             problem.ops[producers[operand]].perMicroBatch &&
             !problem.ops[producers[operand]].accumulates;
    });
    if (!isPassedOn || !isMade) {
      found.push_back(number);
      continue;
    }
    for (int operand : op.operands)
      if (!llvm::is_contained(open, producers[operand]))
        open.push_back(producers[operand]);
  }
  return found;
}

bool parplan::isTiedGradient(const Execution &execution,
                             const Execution::Instance &instance) {
  return instance.sender >= 0 && instance.sender != instance.stage &&
         instance.sentPhase == Phase::weightGradient &&
         instance.firstUse >= 0 &&
         execution.runs[instance.firstUse].phase == Phase::weightGradient;
}
