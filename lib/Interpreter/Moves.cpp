//===- Moves.cpp - Values of local moves and collectives ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace parplan {
namespace {

/// Combines the elements of two blocks.
void combineBlocks(ReduceKind kind, const Tensor &like, Bytes &into,
                   const Bytes &other) {
  bool isReal = like.isReal();
  auto *target = reinterpret_cast<Scalar *>(into.data());
  const auto *source = reinterpret_cast<const Scalar *>(other.data());
  for (size_t i = 0; i < into.size() / sizeof(Scalar); ++i) {
    if (kind == ReduceKind::sum && isReal)
      target[i].real += source[i].real;
    else if (kind == ReduceKind::sum)
      target[i].integer =
          static_cast<int64_t>(static_cast<uint64_t>(target[i].integer) +
                               static_cast<uint64_t>(source[i].integer));
    else if (isReal)
      target[i].real = std::isnan(target[i].real) || std::isnan(source[i].real)
                           ? target[i].real + source[i].real
                           : std::max(target[i].real, source[i].real);
    else
      target[i].integer =
          takeGreater(target[i].integer, source[i].integer, like.isUnsigned());
  }
}

/// The move that the op states, but for its axes and result.
Move describe(Operation *op) {
  Move move;
  move.kind =
      llvm::TypeSwitch<Operation *, MoveKind>(op)
          .Case<ShardSliceOp>([](auto) { return MoveKind::slice; })
          .Case<PendOp>([](auto) { return MoveKind::pend; })
          .Case<StorageViewOp>([](auto) { return MoveKind::view; })
          .Case<AllReduceOp>([](auto) { return MoveKind::allReduce; })
          .Case<AllGatherOp>([](auto) { return MoveKind::allGather; })
          .Case<ReduceScatterOp>([](auto) { return MoveKind::reduceScatter; })
          .Case<AllToAllOp>([](auto) { return MoveKind::allToAll; })
          .Case<SendReceiveOp>([](auto) { return MoveKind::send; });
  if (auto dim = op->getAttrOfType<IntegerAttr>("dim"))
    move.dim = static_cast<int>(dim.getInt());
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    move.dim = static_cast<int>(exchange.getFromDim());
    move.otherDim = static_cast<int>(exchange.getToDim());
  }
  return move;
}

ReduceKind getReduceKind(Operation *op) {
  auto kind = op->getAttrOfType<ReduceKindAttr>("kind");
  return kind ? kind.getValue() : ReduceKind::sum;
}

/// Collectives with one owner. They change no sharding.
Values moveToOrFromRoot(Operation *op, const Mesh &mesh, ArrayRef<int> axes,
                        int64_t root, ArrayRef<Tensor> blocks) {
  Values after;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    auto group = mesh.getGroup(rank, axes);
    if (isa<BroadcastFromOp>(op)) {
      after.push_back(blocks[group[root]]);
      continue;
    }
    if (mesh.getIndex(rank, axes) != root) {
      after.emplace_back(blocks[rank].getType());
      continue;
    }
    Bytes sum = blocks[group.front()].getBytes();
    for (int64_t member : ArrayRef(group).drop_front())
      combineBlocks(getReduceKind(op), blocks[member], sum,
                    blocks[member].getBytes());
    after.push_back(Tensor::fromBytes(blocks[rank].getType(), sum));
  }
  return after;
}

} // namespace

FailureOr<Values> evaluateMove(Operation *op, const Mesh &mesh,
                               ArrayRef<Tensor> blocks) {
  FailureOr<AxisList> axes =
      op->getAttrOfType<AxisListAttr>("axes").resolve(mesh);
  PARPLAN_CHECK(succeeded(axes), "axes of another mesh");
  if (auto root = op->getAttrOfType<IntegerAttr>("root"))
    return moveToOrFromRoot(op, mesh, *axes, root.getInt(), blocks);

  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
  ShardingAttr before = getSharding(op->getOperand(0));
  if (!global || !before)
    return op->emitOpError("has no ")
           << (global ? attributes::shardings : attributes::globalType);
  Move move = describe(op);
  move.axes = *axes;
  move.result = *op->getAttrOfType<ShardingAttr>("out_sharding").resolve(mesh);
  TensorLayout layout{SmallVector<int64_t>(
                          cast<RankedTensorType>(global.getValue()).getShape()),
                      sizeof(Scalar)};
  std::vector<Bytes> bytes;
  for (const Tensor &block : blocks)
    bytes.push_back(block.getBytes());
  ReduceKind kind = getReduceKind(op);
  Values after;
  for (const Bytes &block :
       moveBlocks(mesh, layout, *before.resolve(mesh), move, bytes,
                  [&](Bytes &into, const Bytes &other) {
                    combineBlocks(kind, blocks.front(), into, other);
                  })) {
    after.push_back(Tensor::fromBytes(type, block));
    after.back().roundToType();
  }
  return after;
}

} // namespace parplan
