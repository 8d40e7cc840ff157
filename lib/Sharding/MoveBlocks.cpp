//===- MoveBlocks.cpp - The moves of a reshard on bytes -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Blocks.h"

#include "parplan/Support/Check.h"

namespace parplan {

namespace {

class BlockMover {
public:
  BlockMover(const Mesh &mesh, const TensorLayout &tensor,
             const Sharding &before, const Move &move,
             llvm::ArrayRef<Bytes> blocks, CombineBlocks combine)
      : mesh(mesh), move(move), blocks(blocks), combine(combine),
        source(getLocalLayout(tensor, before)),
        target(getLocalLayout(tensor, move.result)) {
    if (move.dim == Move::storage)
      widths.push_back(mesh.getWidth(move.axes)); // S6: not nested
    else
      for (int axis : move.axes)
        widths.push_back(mesh.getAxis(axis).size);
  }

  std::vector<Bytes> run(const Sharding &before) {
    if (move.kind == MoveKind::send)
      return runSend(before);
    std::vector<Bytes> after;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
      after.push_back(getBlock(rank));
    return after;
  }

private:
  TensorLayout getLocalLayout(const TensorLayout &tensor,
                              const Sharding &sharding) const {
    // Moves on storage see the block flattened; the others read no layout when
    // they have no dimension.
    if (move.dim == Move::storage)
      return {{sharding.getLocalElementCount(mesh, tensor.shape)},
              tensor.elementBytes};
    return {sharding.getLocalShape(mesh, tensor.shape), tensor.elementBytes};
  }

  Bytes getBlock(int64_t rank) {
    int dim = std::max(move.dim, 0);
    auto group = mesh.getGroup(rank, move.axes);
    int64_t index = mesh.getIndex(rank, move.axes);
    std::vector<Bytes> pieces;
    switch (move.kind) {
    case MoveKind::view:
      return blocks[rank];
    case MoveKind::pend:
      return index == 0 ? blocks[rank] : Bytes(blocks[rank].size(), 0);
    case MoveKind::slice:
      return sliceBlock(blocks[rank], source, dim, widths, index);
    case MoveKind::allReduce:
      for (int64_t member : group)
        pieces.push_back(blocks[member]);
      return combineAll(pieces);
    case MoveKind::reduceScatter:
      for (int64_t member : group)
        pieces.push_back(
            sliceBlock(blocks[member], source, dim, widths, index));
      return combineAll(pieces);
    case MoveKind::allGather:
      for (int64_t member : group)
        pieces.push_back(blocks[member]);
      return joinBlocks(pieces, target, dim, widths);
    case MoveKind::allToAll:
      for (int64_t member : group)
        pieces.push_back(
            sliceBlock(blocks[member], source, move.otherDim, widths, index));
      return joinBlocks(pieces, target, dim, widths);
    case MoveKind::send:
      break;
    }
    PARPLAN_UNREACHABLE("no such move");
  }

  Bytes combineAll(llvm::MutableArrayRef<Bytes> pieces) {
    for (const Bytes &piece : pieces.drop_front())
      combine(pieces.front(), piece);
    return std::move(pieces.front());
  }

  std::vector<Bytes> runSend(const Sharding &before) {
    std::vector<Bytes> after;
    for (int64_t rank : getSendSources(mesh, before, move))
      after.push_back(blocks[rank]);
    return after;
  }

  const Mesh &mesh;
  const Move &move;
  llvm::ArrayRef<Bytes> blocks;
  CombineBlocks combine;
  TensorLayout source, target;
  llvm::SmallVector<int64_t, 4> widths;
};

} // namespace

std::vector<Bytes> moveBlocks(const Mesh &mesh, const TensorLayout &tensor,
                              const Sharding &before, const Move &move,
                              llvm::ArrayRef<Bytes> blocks,
                              CombineBlocks combine) {
  PARPLAN_CHECK(static_cast<int64_t>(blocks.size()) == mesh.getRankCount(),
                blocks.size(), " blocks for ", mesh.getRankCount(), " ranks");
  return BlockMover(mesh, tensor, before, move, blocks, combine).run(before);
}

} // namespace parplan
