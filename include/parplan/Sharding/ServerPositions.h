//===- ServerPositions.h - Programs of workers and servers ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_SERVERPOSITIONS_H
#define PARPLAN_SHARDING_SERVERPOSITIONS_H

#include "parplan/Sharding/Mesh.h"

namespace parplan {

/// The positions (`parplan.position`) of the two programs on a mesh with
/// servers.
constexpr int64_t workerPosition = 0;
constexpr int64_t serverPosition = 1;

/// Whose program a rank of such a mesh runs.
inline int64_t getServersPosition(const Mesh &mesh, int64_t rank) {
  return mesh.isServer(rank) ? serverPosition : workerPosition;
}

/// Stands in the place of a worker where servers serve one at a time.
constexpr int64_t servedWorker = -1;

} // namespace parplan

#endif // PARPLAN_SHARDING_SERVERPOSITIONS_H
