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
    int64_t count = 0, number = 0;
    for (Operation &op : getOps())
      count += runsPerMicroBatch(&op);
    int64_t firstBackward = random.below(count + 1);
    for (Operation &op : getOps())
      if (runsPerMicroBatch(&op))
        place(&op, number++ >= firstBackward);
      else if (op.getNumOperands() > 0 && random.chance(70))
        setStage(&op, random.below(shape.getStageCount()));
  }

private:
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
      if (random.chance(15))
        op->setAttr(attributes::recompute, builder.getUnitAttr());
    }
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
