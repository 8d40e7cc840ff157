//===- Reshard.h - The cheapest path between two shardings ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_RESHARD_H
#define PARPLAN_SHARDING_RESHARD_H

#include "parplan/Sharding/Sharding.h"

#include <memory>
#include <string>
#include <vector>

namespace parplan {

enum class MoveKind {
  /// Replicated axis to the minor end of a dimension, or to storage. Local.
  slice,
  /// Replicated axis to pending sum: kept where the coordinate is 0. Local.
  pend,
  /// Storage to the minor end of dimension 0 or back: the same bytes (S6).
  view,
  /// Minor suffix of a dimension, or of storage, to replicated.
  allGather,
  /// Pending axes to replicated.
  allReduce,
  /// Pending axes to the minor end of a dimension, or to storage.
  reduceScatter,
  /// Minor suffix of one dimension to the minor end of another.
  allToAll,
  /// The same blocks on other ranks.
  send,
};

llvm::StringRef stringifyMoveKind(MoveKind kind);

/// One step of a reshard. Sizes are in elements, in the counting of
/// docs/cli.md.
struct Move {
  static constexpr int storage = -1;

  MoveKind kind;
  /// Axes that the move acts on, major to minor: one communicator. Of a send,
  /// the axes of the dimensions that change, ascending.
  AxisList axes;
  /// The dimension that loses or gains the axes; `storage` for the flat block.
  int dim = storage;
  /// allToAll: the dimension that gains the axes.
  int otherDim = storage;
  /// The sharding afterwards.
  Sharding result;
  /// Elements of the call as nccl-tests counts them; 0 for local moves and for
  /// groups of one rank.
  int64_t sizeElements = 0;
  /// Elements a rank sends in the ring algorithm, times the number of ranks of
  /// the mesh so that it is integral. A send counts for all ranks, though those
  /// whose block stays send nothing: the others set the pace.
  int64_t ringElementsAllRanks = 0;

  bool isLocal() const {
    return kind == MoveKind::slice || kind == MoveKind::pend ||
           kind == MoveKind::view;
  }
};

/// `all_to_all{x,y} dim 1->2` with the names of `mesh`.
std::string toString(const Move &move, const Mesh &mesh);

/// Moves in order; empty when nothing is to do. `found` is false where no path
/// exists (complete to pending max, for example).
struct ReshardPath {
  llvm::SmallVector<Move, 2> moves;
  bool found = true;

  /// Sums over the moves: what the search minimises, in this order.
  int64_t getRingElementsAllRanks() const;
  int64_t getCallCount() const;
};

/// The path with the fewest ring elements, then the fewest calls, then the
/// fewest moves (S11): a shortest-path search over shardings. `from` and `to`
/// obey S1 and S2. Equal arguments give equal paths. Costs depend on `shape`,
/// because blocks are padded.
///
/// Axes that lead a dimension in `from` and in `to` stay where they are. Data
/// and context axes that are neighbours in both, and cut no padded dimension,
/// move as one. Up to four axes are exact then. Of more, all such neighbours
/// move as one; at most 16 are left, and where more than four of them meet in
/// one dimension, not all of their orders are tried.
ReshardPath findReshardPath(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                            const Sharding &from, const Sharding &to);

/// `findReshardPath`, memoised by (shape, from, to) for one mesh.
class ReshardCache {
public:
  explicit ReshardCache(Mesh mesh);
  ~ReshardCache();
  const Mesh &getMesh() const { return mesh; }
  /// Any thread may ask. The reference stays valid.
  const ReshardPath &get(llvm::ArrayRef<int64_t> shape, const Sharding &from,
                         const Sharding &to);

private:
  struct Storage;
  Mesh mesh;
  std::unique_ptr<Storage> storage;
};

/// For every rank the rank whose block it holds after `send`, a move that was
/// made from `before`: a permutation within the groups of its axes. Ranks whose
/// block stays have themselves.
std::vector<int64_t> getSendSources(const Mesh &mesh, const Sharding &before,
                                    const Move &send);

} // namespace parplan

#endif // PARPLAN_SHARDING_RESHARD_H
