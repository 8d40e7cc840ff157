//===- Lifetimes.cpp - Who holds bytes until when -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Lifetimes.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

using namespace mlir;

namespace parplan {

bool isFixed(Operation *op) {
  return isa<CollectiveOpInterface, PointToPointOpInterface, TransferOp, PackOp,
             PanelMatmulOp, RingAttentionOp, RingAttentionGradientOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * exec::getStorageBytes(type.getElementType());
}

Value getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

bool isReadBy(Value value, llvm::function_ref<bool(Operation *)> wanted) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return isReadBy(reshape.getResult(), wanted);
    return wanted(user);
  });
}

int64_t getFreedBytes(Operation *op,
                      llvm::function_ref<bool(Operation *)> reads) {
  llvm::SmallPtrSet<Value, 4> freed;
  int64_t bytes = 0;
  for (Value operand : op->getOperands()) {
    Value root = getRoot(operand);
    Operation *maker = root.getDefiningOp();
    if (!maker || isa<ParameterOp, BucketParameterOp, ConstantOp>(maker) ||
        isReadBy(root, reads) || !freed.insert(root).second)
      continue;
    bytes += getBytes(root);
  }
  return bytes;
}

void moveInBlock(Operation *op, Operation *place) {
  op->remove();
  place->getBlock()->getOperations().insert(place->getIterator(), op);
}

} // namespace parplan
