//===- RandomStages.cpp - Random cuts into stages -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomStages.h"

#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/StageFlow.h"
#include "passes/Pipeline/StepSegments.h"

using namespace mlir;

namespace parplan::test {

ScheduleShape pickSchedule(Random &random, int64_t positions,
                           int64_t microBatches) {
  while (true) {
    ScheduleShape shape{random.pick(getScheduleKinds()), positions,
                        microBatches, 1};
    int64_t chunks = getRequiredChunks(shape.kind);
    shape.chunks = chunks > 0 ? chunks : chunks < 0 ? 1 : random.between(2, 3);
    if (hasBackward(shape.kind) && !getRefusal(shape))
      return shape;
  }
}

namespace {

class Cutter {
public:
  Cutter(func::FuncOp function, const ScheduleShape &shape, Random &random)
      : function(function), shape(shape), random(random),
        builder(function.getContext()) {}

  void run() {
    function->setAttr(attributes::pipelineSchedule,
                      builder.getStringAttr(printScheduleName(shape)));
    SmallVector<double> seconds;
    constexpr double times[] = {0, 0.5, 1, 1, 1.25, 3};
    for (int64_t i = 0; i < 3 * shape.getStageCount(); ++i)
      seconds.push_back(random.pick(times));
    function->setAttr(attributes::passSeconds,
                      builder.getDenseF64ArrayAttr(seconds));
    std::vector<double> messages;
    if (random.chance(50)) {
      for (int64_t i = 1; i < shape.getStageCount(); ++i)
        messages.push_back(random.pick(times));
      function->setAttr(attributes::boundarySeconds,
                        builder.getDenseF64ArrayAttr(messages));
    }
    if (random.chance(50))
      writeTable(seconds, messages);
    int64_t count = 0, number = 0;
    for (Operation &op : getOps())
      count += runsPerMicroBatch(&op);
    int64_t firstBackward =
        hasBackward(shape.kind) ? random.below(count + 1) : count;
    for (Operation &op : getOps())
      if (runsPerMicroBatch(&op))
        place(&op, number++ >= firstBackward);
      else if (op.getNumOperands() > 0 && random.chance(70))
        setStage(&op, random.below(shape.getStageCount()));
    // Drawn last, so that all else is what it was.
    for (Operation &op : getOps())
      if (isa<AccumulateOp>(op) && random.chance(50))
        op.setAttr(attributes::perVisit, builder.getUnitAttr());
  }

private:
  /// The table of the schedule, but that passes of different kinds change
  /// places with their neighbours where that is accepted.
  void writeTable(ArrayRef<double> seconds,
                  const std::vector<double> &messages) {
    StageTimes stageTimes;
    for (size_t i = 0; i < seconds.size(); i += 3)
      stageTimes.push_back({seconds[i], seconds[i + 1], seconds[i + 2]});
    Latencies latencies = messages.empty() ? Latencies() : Latencies(messages);
    PipelineSchedule schedule = makeSchedule(shape, stageTimes, latencies);
    for (int64_t tries = random.below(20); tries > 0; --tries) {
      PipelineSchedule other = schedule;
      std::vector<Pass> &passes = other.passes[random.below(shape.positions)];
      int64_t index = random.below(std::max<int64_t>(1, passes.size() - 1));
      if (passes.size() < 2)
        continue;
      std::swap(passes[index], passes[index + 1]);
      if (!verifySchedule(other, stageTimes, latencies))
        schedule = other;
    }
    SmallVector<Attribute> positions;
    for (const std::vector<Pass> &passes : schedule.passes) {
      std::string text;
      for (const Pass &pass : passes)
        text += printPass(shape, pass) + " ";
      positions.push_back(builder.getStringAttr(text));
    }
    function->setAttr(attributes::passTable, builder.getArrayAttr(positions));
  }

  llvm::iterator_range<Block::iterator> getOps() {
    return function.getBody().front().without_terminator();
  }

  void setStage(Operation *op, int64_t stage) {
    op->setAttr(attributes::stage, builder.getI64IntegerAttr(stage));
  }

  void place(Operation *op, bool isBackward) {
    if (isBackward) {
      backward.insert(op);
      // Sums of gradients of a variable keep their role.
      if (getRole(op) != roles::gradientSum)
        op->setAttr(attributes::role,
                    builder.getStringAttr(random.chance(50)
                                              ? roles::inputGradient
                                              : roles::weightGradient));
    } else {
      op->removeAttr(attributes::role);
      if (hasBackward(shape.kind) && random.chance(15))
        op->setAttr(attributes::recompute, builder.getUnitAttr());
    }
    if (random.chance(20))
      op->setAttr(attributes::relay, builder.getUnitAttr());
    int64_t low = 0, high = shape.getStageCount() - 1;
    for (Value value : getStagedSources(op->getOperands())) {
      Operation *maker = value.getDefiningOp();
      if (!maker || !runsPerMicroBatch(maker))
        continue;
      if (!isBackward)
        low = std::max(low, *getStage(maker));
      else if (backward.contains(maker))
        high = std::min(high, *getStage(maker));
    }
    if (!isBackward && random.chance(10))
      return;
    // Mostly close by, so that the last stages have something too.
    int64_t stage = random.chance(50) ? random.between(low, high)
                    : isBackward      ? std::max(low, high - random.below(2))
                                      : std::min(high, low + random.below(2));
    setStage(op, stage);
  }

  func::FuncOp function;
  const ScheduleShape &shape;
  Random &random;
  OpBuilder builder;
  llvm::DenseSet<Operation *> backward;
};

} // namespace

void writeRandomStages(func::FuncOp function, const ScheduleShape &shape,
                       Random &random) {
  Cutter(function, shape, random).run();
}

} // namespace parplan::test
