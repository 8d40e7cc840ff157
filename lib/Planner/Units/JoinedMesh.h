//===- JoinedMesh.h - Meshes that are one to variables ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What has no samples lies alike on all ranks that split them, whether these
// are replicas or have parts of a sequence: data and context axes stand side by
// side in its layouts. As one axis they make many meshes the same one.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_JOINEDMESH_H
#define PARPLAN_LIB_PLANNER_JOINEDMESH_H

#include "parplan/Planner/Layouts.h"

#include <map>

namespace parplan {

/// The mesh on which data and context axes are one; but the outer of several
/// data axes stays alone, as hybrid sharding stores over the others.
Mesh joinReplicaAxes(const Mesh &mesh);

/// Layouts of a mesh as those of the joined one, where moves between them take
/// as long (`Reshard.h`).
class LayoutJoiner {
public:
  /// `joined` is of the mesh `joinReplicaAxes` of that of `layouts`.
  LayoutJoiner(LayoutTable &layouts, LayoutTable &joined);

  /// Nullopt: it takes axes apart that are one, or has several of them on a
  /// dimension, which they may pad otherwise than one does.
  std::optional<int> join(int layout);

private:
  std::optional<Sharding> join(Sharding sharding) const;
  bool replace(AxisList &list, bool isOfDimension) const;

  LayoutTable &layouts, &joined;
  /// Per axis of the joined mesh those that it stands for.
  llvm::SmallVector<AxisList> axes;
  std::map<int, std::optional<int>> numbers;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_JOINEDMESH_H
