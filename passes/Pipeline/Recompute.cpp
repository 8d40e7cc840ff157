//===- Recompute.cpp - Values made again for the backward pass ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Layouts.h"
#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StepSegments.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/IRMapping.h"

#include <vector>

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
    std::vector<Operation *> readers;
    for (Operation &op : body.without_terminator())
      if (isBackward(&op))
        readers.push_back(&op);
    for (Operation *op : readers)
      for (OpOperand &operand : op->getOpOperands())
        operand.set(getOwn(operand.get(), op, op));
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
    if (Operation *same = isMove(op) ? findSame(op, operands) : nullptr) {
      for (OpOperand &operand : same->getOpOperands())
        operand.set(
            operands.lookup(op->getOperand(operand.getOperandNumber())));
      if (place->isBeforeInBlock(same))
        same->moveBefore(place);
      return same;
    }
    builder.setInsertionPoint(place);
    Operation *copy = builder.clone(*op, operands);
    copy->removeAttr(attributes::recompute);
    copy->removeAttr(attributes::tier);
    // What is gathered is made for whoever reads it, perhaps for gradients of
    // weights alone: what it is gathered from takes fewer bytes until then.
    copy->setAttr(attributes::role,
                  builder.getStringAttr(gathers(op) ? roles::weightGradient
                                                    : roles::inputGradient));
    return copy;
  }

  /// The move that the backward pass has anyway: of what is stored, or gathered
  /// again. It may still read what is made again in place of the copy.
  static Operation *findSame(Operation *move, const IRMapping &operands) {
    for (Value source :
         {move->getOperand(0), operands.lookup(move->getOperand(0))})
      for (Operation *other : source.getUsers())
        if (isBackward(other) && other->getName() == move->getName() &&
            getStage(other) == getStage(move) &&
            other->getResultTypes() == move->getResultTypes() &&
            llvm::equal(move->getOperands(), other->getOperands(),
                        [&](Value own, Value its) {
                          return its == own || its == operands.lookup(own);
                        }) &&
            getMeaning(other) == getMeaning(move))
          return other;
    return nullptr;
  }

  static bool gathers(Operation *op) {
    return isMove(op) && getElementCount(op->getResult(0)) >
                             getElementCount(op->getOperand(0));
  }
  static int64_t getElementCount(Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  }

  /// What an op does, not what it is for.
  static DictionaryAttr getMeaning(Operation *op) {
    NamedAttrList list(op->getAttrDictionary());
    removeOrigin(list);
    return list.getDictionary(op->getContext());
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
