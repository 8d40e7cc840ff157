//===- mesh.h - Where ranks stand -----------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_MESH_H
#define PARPLAN_RUNTIME_LIB_MESH_H

#include "parplan_runtime/rank.h"

#include <cstdint>
#include <vector>

namespace parplan {
namespace runtime {

/// Ranks that compute gradients: all but the servers.
int workerCount(const Program &program);
/// Workers and servers.
int rankCount(const Program &program);
inline bool isServer(const Program &program, int rank) {
  return rank >= workerCount(program);
}

/// Row-major coordinates of `rank` on the mesh. Servers are at 0 on the axes of
/// the workers, and workers on the servers'.
std::vector<int64_t> meshCoordinates(const Program &program, int rank);
/// The rank at coordinates, among the servers or the workers.
int rankAt(const Program &program, const std::vector<int64_t> &coordinates,
           bool server);
/// The block of a rank with these coordinates.
Interval blockOf(const Program &program,
                 const std::vector<int64_t> &coordinates, int64_t size,
                 Table<int32_t> axes);
/// The streams that communicator `entry` is made for, the same on all ranks.
std::vector<int32_t> streamsOf(const Program &program,
                               const CommunicatorEntry &entry);
/// World ranks of the group of communicator `entry` that `rank` is in, in the
/// group's order; none where the entry is for ranks of the other kind.
std::vector<int> groupMembers(const Program &program,
                              const CommunicatorEntry &entry, int rank);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_MESH_H
