//===- Recompute.cpp - Values made again for the backward pass ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StepSegments.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_RECOMPUTE
#include "passes/Pipeline/Passes.h.inc"

namespace {

class Recomputer {
public:
  explicit Recomputer(func::FuncOp function)
      : body(function.getBody().front()), builder(function.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (isBackward(&op))
        for (OpOperand &operand : op.getOpOperands())
          operand.set(getOwn(operand.get(), &op, &op));
    for (Operation &op : body.without_terminator())
      op.removeAttr(attributes::recompute);
  }

private:
  static bool isBackward(Operation *op) {
    return runsPerMicroBatch(op) && !isBeforeBackward(getReader(op).role);
  }

  /// True where `reader` reads a copy of what `maker` makes.
  static bool isMadeAgain(Operation *maker, Operation *reader) {
    if (!maker || !maker->hasAttr(attributes::recompute) ||
        !runsPerMicroBatch(maker) || isBackward(maker))
      return false;
    std::optional<int64_t> stage = getStage(maker);
    return !stage || stage == getStage(reader);
  }

  /// What `reader` reads in place of `value`; new ops stand before `place`.
  Value getOwn(Value value, Operation *reader, Operation *place) {
    Operation *maker = value.getDefiningOp();
    if (!isMadeAgain(maker, reader))
      return value;
    Operation *copy = copies.lookup(maker);
    if (!copy)
      copies[maker] = copy = createCopy(maker, place);
    return copy->getResult(cast<OpResult>(value).getResultNumber());
  }

  Operation *createCopy(Operation *op, Operation *place) {
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, getOwn(operand, op, place));
    builder.setInsertionPoint(place);
    Operation *copy = builder.clone(*op, operands);
    copy->removeAttr(attributes::recompute);
    copy->removeAttr(attributes::tier);
    copy->setAttr(attributes::role,
                  builder.getStringAttr(roles::inputGradient));
    return copy;
  }

  Block &body;
  OpBuilder builder;
  /// The first backward reader of an op has them before it.
  llvm::DenseMap<Operation *, Operation *> copies;
};

struct RecomputePass : impl::RecomputeBase<RecomputePass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      Recomputer(function).run();
  }
};

} // namespace

} // namespace parplan
