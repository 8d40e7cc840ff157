//===- ReshardsToCollectives.cpp - Carries out reshards -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Sharding/Reshard.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_RESHARDSTOCOLLECTIVES
#include "passes/Partition/Passes.h.inc"

namespace {

ReduceKind getReduceKind(const Sharding &sharding) {
  return sharding.reduction == ReductionKind::sum ? ReduceKind::sum
                                                  : ReduceKind::max;
}

/// Creates the op of one move of `value`, which lies in `from`.
Value createMove(OpBuilder &builder, Location location,
                 const ShardingAccess &access, Value value,
                 const Sharding &from, const Move &move) {
  Type type = value.getType();
  AxisListAttr axes = access.getAttr(move.axes);
  ShardingAttr result = access.getAttr(move.result);
  switch (move.kind) {
  case MoveKind::slice:
    return builder.create<ShardSliceOp>(location, type, value, axes, move.dim,
                                        result);
  case MoveKind::pend:
    return builder.create<PendOp>(location, type, value, axes, result);
  case MoveKind::view:
    return builder.create<StorageViewOp>(location, type, value, axes, result);
  case MoveKind::allGather:
    return builder.create<AllGatherOp>(location, type, value, axes, move.dim,
                                       result);
  case MoveKind::allReduce:
    return builder.create<AllReduceOp>(location, type, value, axes,
                                       getReduceKind(from), result);
  case MoveKind::reduceScatter:
    return builder.create<ReduceScatterOp>(
        location, type, value, axes, getReduceKind(from), move.dim, result);
  case MoveKind::allToAll:
    return builder.create<AllToAllOp>(location, type, value, axes, move.dim,
                                      move.otherDim, result);
  case MoveKind::send:
    return builder.create<SendReceiveOp>(location, type, value, axes,
                                         access.getAttr(from), result);
  }
  PARPLAN_UNREACHABLE("unknown move ", static_cast<int>(move.kind));
}

struct ReshardsToCollectivesPass
    : impl::ReshardsToCollectivesBase<ReshardsToCollectivesPass> {
  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    ReshardCache paths(access->getMesh());
    SmallVector<ReshardOp> reshards;
    getOperation().walk([&](ReshardOp op) { reshards.push_back(op); });
    for (ReshardOp reshard : reshards)
      if (failed(lower(reshard, *access, paths)))
        signalPassFailure();
  }

  LogicalResult lower(ReshardOp reshard, const ShardingAccess &access,
                      ReshardCache &paths) {
    FailureOr<Sharding> from = access.getSharding(reshard.getInput());
    FailureOr<Sharding> to = access.getSharding(reshard.getResult());
    if (failed(from) || failed(to))
      return failure();
    auto type = cast<RankedTensorType>(reshard.getResult().getType());
    // S11: the path with the fewest bytes, the same that the planner prices.
    const ReshardPath &path = paths.get(type.getShape(), *from, *to);
    if (!path.found)
      return reshard.emitOpError("S11: nothing leads from ")
             << toString(*from, access.getMesh()) << " to "
             << toString(*to, access.getMesh());
    OpBuilder builder(reshard);
    Value value = reshard.getInput();
    Sharding current = *from;
    for (const Move &move : path.moves) {
      value =
          createMove(builder, reshard.getLoc(), access, value, current, move);
      copyOrigin(reshard, value.getDefiningOp());
      current = move.result;
    }
    reshard.replaceAllUsesWith(value);
    reshard.erase();
    return success();
  }
};

} // namespace
} // namespace parplan
