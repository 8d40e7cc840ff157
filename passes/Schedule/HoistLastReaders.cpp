//===- HoistLastReaders.cpp - Products as soon as they free bytes ---------===//
//
// Part of parplan.
//
// Of two products behind each other that do not need each other, the one that
// is the last to read an activation comes first, so that the other one's result
// takes its bytes:
//
//   dx = dy · Wᵀ   x dy dx         dW = xᵀ · dy   x dy dW
//   dW = xᵀ · dy   x dy dx dW      dx = dy · Wᵀ     dy dW dx
//
// Where dW is larger than x more is alive beside the one product then, but less
// beside the other one, which has the most.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Lifetimes.h"
#include "passes/Schedule/Passes.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_HOISTLASTREADERS
#include "passes/Schedule/Passes.h.inc"

namespace {

/// Bytes that are there once `op` has run before `place`, and were not before.
/// What is packed is made inside of its bucket, which is there from its first
/// part on.
int64_t getMadeBytes(Operation *op, Operation *place) {
  int64_t bytes = 0;
  for (Value result : op->getResults()) {
    PackOp bucket;
    isReadBy(result, [&](Operation *user) {
      bucket = dyn_cast<PackOp>(user);
      return static_cast<bool>(bucket);
    });
    if (!bucket) {
      bytes += getBytes(result);
      continue;
    }
    bool isFirst = llvm::none_of(bucket.getInputs(), [&](Value part) {
      Operation *maker = getRoot(part).getDefiningOp();
      return maker && maker->isBeforeInBlock(place);
    });
    if (isFirst)
      bytes += getBytes(bucket.getResult());
  }
  return bytes;
}

bool isProduct(Operation *op) {
  return isa<MatmulOp, PanelMatmulOp, ConvWeightGradientOp>(op);
}

/// Whether it needs no workspace; those of convolutions and of experts' rows
/// are not known here.
bool hasNoWorkspace(Operation *op) {
  return isa<MatmulOp, PanelMatmulOp>(op) && !dependsOnExperts(op);
}

/// What takes no time and no bytes where it stands.
bool costsNothing(Operation *op) {
  return isa<ReshapeOp, ParameterOp, BucketParameterOp, ConstantOp>(op);
}

/// What communicates runs beside the ops behind what it reads, and would wait.
bool isCommunicated(Operation *op) {
  return llvm::any_of(op->getResults(), [](Value result) {
    return isReadBy(result, [](Operation *user) {
      return isa<CollectiveOpInterface, PointToPointOpInterface, TransferOp>(
          user);
    });
  });
}

bool dependsOn(Operation *reader, Operation *maker) {
  return llvm::any_of(reader->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() == maker;
  });
}

/// What `op` frees as it stands.
int64_t getFreedInPlace(Operation *op) {
  return getFreedBytes(op, [&](Operation *user) {
    return user != op && !user->isBeforeInBlock(op);
  });
}

/// What it does to the bytes that are alive while `product` and `other`, its
/// neighbour, run that `product` runs first. It is better where no moment has
/// more: while `other` runs, what is made is there instead of what is freed,
/// and while `product` runs, what `other` frees instead of what it makes. It is
/// also better where the moment that has the most then has less.
enum class Effect { worse, none, better };
Effect runBefore(Operation *product, Operation *other) {
  int64_t made = getMadeBytes(product, other);
  int64_t freed = getFreedBytes(product, [&](Operation *user) {
    return user != product && !user->isBeforeInBlock(other);
  });
  int64_t otherMade = getMadeBytes(other, other);
  int64_t otherFreed = getFreedInPlace(other);
  if (made <= freed && otherFreed <= otherMade)
    return made < freed || otherFreed < otherMade ? Effect::better
                                                  : Effect::none;
  if (!hasNoWorkspace(product) || !hasNoWorkspace(other))
    return Effect::worse;
  int64_t most = freed + otherMade + std::max(otherFreed, made);
  int64_t mostThen = otherFreed + made + std::max(freed, otherMade);
  return mostThen < most ? Effect::better : Effect::worse;
}

void hoist(Operation *product) {
  Operation *place = nullptr;
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    if (dependsOn(product, op))
      break;
    if (costsNothing(op))
      continue;
    if (!isProduct(op) && !isa<ConvInputGradientOp>(op))
      break;
    if (isCommunicated(op))
      break;
    Effect effect = runBefore(product, op);
    if (effect == Effect::worse)
      break;
    if (effect == Effect::better)
      place = op;
  }
  if (place)
    moveInBlock(product, place);
}

struct HoistLastReadersPass : impl::HoistLastReadersBase<HoistLastReadersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op :
           llvm::make_early_inc_range(function.getBody().front()))
        if (isProduct(&op))
          hoist(&op);
  }
};

} // namespace
} // namespace parplan
