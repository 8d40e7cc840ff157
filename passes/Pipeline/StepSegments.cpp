//===- StepSegments.cpp - When an op of a step runs -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/StepSegments.h"

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

bool runsPerMicroBatch(Operation *op) {
  return isPerMicroBatch(op) && op->getNumOperands() > 0 &&
         !isa<AccumulateOp>(op);
}

/// Values of one micro-batch are read per micro-batch or accumulated.
static LogicalResult verifyReads(func::FuncOp function) {
  bool sound = true;
  auto isOfMicroBatch = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      return runsPerMicroBatch(op);
    return static_cast<bool>(function.getArgAttr(
        cast<BlockArgument>(value).getArgNumber(), attributes::batch));
  };
  bool isForward = function->hasAttr(attributes::forwardOnly);
  for (Operation &op : function.getBody().front()) {
    // Results of a forward pass are collected.
    if (runsPerMicroBatch(&op) || (isForward && isa<func::ReturnOp>(op)))
      continue;
    bool isSum = isa<AccumulateOp>(op);
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (isOfMicroBatch(operand) != isSum) {
        sound = false;
        op.emitError("operand ")
            << index
            << (isSum ? " is accumulated and is no value of a micro-batch"
                      : " is a value of one micro-batch and is read once per "
                        "step");
      }
  }
  return success(sound);
}

FailureOr<StepSegments> StepSegments::create(func::FuncOp function) {
  if (failed(verifyReads(function)))
    return failure();
  Block &body = function.getBody().front();
  StepSegments result;
  result.findCount(body);
  result.findLatest(body);
  result.findSegments(body);
  return result;
}

/// One more than the largest number of sums on a path that leads to another
/// per-micro-batch op.
void StepSegments::findCount(Block &body) {
  DenseMap<Operation *, int> depths;
  for (Operation &op : body) {
    int depth = 0;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        depth = std::max(depth, depths.lookup(maker) +
                                    (isa<AccumulateOp>(maker) ? 1 : 0));
    depths[&op] = depth;
    if (runsPerMicroBatch(&op))
      count = std::max(count, depth + 1);
  }
}

int StepSegments::getLatest(Operation *op,
                            const DenseMap<Operation *, int> &limits) const {
  bool isOnce = !runsPerMicroBatch(op);
  int result = count - 1;
  for (Operation *user : op->getUsers())
    if (!isa<func::ReturnOp>(user))
      result =
          std::min(result, limits.lookup(user) -
                               (isOnce && runsPerMicroBatch(user) ? 1 : 0));
  return result;
}

void StepSegments::findLatest(Block &body) {
  for (Operation &op : llvm::reverse(body.without_terminator()))
    latest[&op] = getLatest(&op, latest);
}

/// Per-micro-batch ops run as late as they may; what depends on sums as early
/// as it can; what depends on neither, directly before its first reader.
void StepSegments::findSegments(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (runsPerMicroBatch(&op)) {
      segments[&op] = latest.lookup(&op);
      continue;
    }
    int segment = start;
    if (isa<AccumulateOp>(op) && !op.getOperand(0).getDefiningOp())
      segment = latest.lookup(&op);
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        segment = std::max(segment, segments.lookup(maker));
    segments[&op] = segment;
  }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (!runsPerMicroBatch(&op) && segments.lookup(&op) == start)
      segments[&op] = getLatest(&op, segments);
}

} // namespace parplan
