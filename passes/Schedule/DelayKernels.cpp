//===- DelayKernels.cpp - Kernels as late as their bytes are read ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Lifetimes.h"
#include "passes/Schedule/Passes.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_DELAYKERNELS
#include "passes/Schedule/Passes.h.inc"

namespace {

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
  return getFreedBytes(map, [&](Operation *user) {
    return user != map && !user->isBeforeInBlock(place);
  });
}

/// `fixed` is the next op behind the kernel that stays where it is, or null.
void delay(exec::MapOp map, Operation *fixed) {
  if (map.getInto())
    return;
  Operation *reader = findFirstReader(map.getResult());
  if (!reader || isFixed(reader) || reader->getBlock() != map->getBlock() ||
      (fixed && fixed->isBeforeInBlock(reader)))
    return;
  // Never more on the way, and less at first.
  int64_t made = getBytes(map.getResult());
  if (map->getNextNode() != reader &&
      getKeptBytes(map, map->getNextNode()) < made &&
      getKeptBytes(map, reader) <= made)
    moveInBlock(map, reader);
}

struct DelayKernelsPass : impl::DelayKernelsBase<DelayKernelsPass> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    parallelForEach(&getContext(), functions, [](func::FuncOp function) {
      // The last first: what a kernel waits for has its place then.
      Operation *fixed = nullptr;
      for (Operation &op : llvm::make_early_inc_range(
               llvm::reverse(function.getBody().front()))) {
        if (isFixed(&op))
          fixed = &op;
        else if (auto map = dyn_cast<exec::MapOp>(op))
          delay(map, fixed);
      }
    });
  }
};

} // namespace
} // namespace parplan
