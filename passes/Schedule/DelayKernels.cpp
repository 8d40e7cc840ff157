//===- DelayKernels.cpp - Kernels as late as their bytes are read ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_DELAYKERNELS
#include "passes/Schedule/Passes.h.inc"

namespace {

/// What another stream or another tier takes part in: it is as early as it was.
bool isFixed(Operation *op) {
  return isa<CollectiveOpInterface, PointToPointOpInterface, TransferOp, PackOp,
             PanelMatmulOp, RingAttentionOp, RingAttentionGradientOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// The value whose bytes `value` is.
Value getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * exec::getStorageBytes(type.getElementType());
}

/// Whether the bytes of `value` are there until `place`, whatever `map` does.
bool isReadFrom(Value value, Operation *place, exec::MapOp map) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return isReadFrom(reshape.getResult(), place, map);
    return user != map && !user->isBeforeInBlock(place);
  });
}

/// The first reader of the bytes of `value`.
Operation *findFirstReader(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

/// Bytes that are freed later when `map` waits until `place`.
int64_t getKeptBytes(exec::MapOp map, Operation *place) {
  llvm::SmallPtrSet<Value, 4> kept;
  int64_t bytes = 0;
  for (Value input : map.getInputs()) {
    Value root = getRoot(input);
    Operation *maker = root.getDefiningOp();
    if (!maker || isa<ParameterOp, BucketParameterOp, ConstantOp>(maker) ||
        isReadFrom(root, place, map) || !kept.insert(root).second)
      continue;
    bytes += getBytes(root);
  }
  return bytes;
}

void delay(exec::MapOp map) {
  if (map.getInto())
    return;
  Operation *reader = findFirstReader(map.getResult());
  if (!reader || isFixed(reader) || reader->getBlock() != map->getBlock())
    return;
  for (Operation *op = map->getNextNode(); op != reader; op = op->getNextNode())
    if (isFixed(op))
      return;
  // Never more on the way, and less at first.
  int64_t made = getBytes(map.getResult());
  if (map->getNextNode() != reader &&
      getKeptBytes(map, map->getNextNode()) < made &&
      getKeptBytes(map, reader) <= made)
    map->moveBefore(reader);
}

struct DelayKernelsPass : impl::DelayKernelsBase<DelayKernelsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      // The last first: what a kernel waits for has its place then.
      for (Operation &op : llvm::make_early_inc_range(
               llvm::reverse(function.getBody().front())))
        if (auto map = dyn_cast<exec::MapOp>(op))
          delay(map);
  }
};

} // namespace
} // namespace parplan
