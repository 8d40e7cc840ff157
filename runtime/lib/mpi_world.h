//===- mpi_world.h - Ranks that are MPI processes -------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_MPI_WORLD_H
#define PARPLAN_RUNTIME_LIB_MPI_WORLD_H

#include "engine.h"

namespace parplan {
namespace runtime {

/// Starts MPI and returns the world of its processes; fails with 78 when MPI
/// is absent or its size is not `expectedSize`.
std::unique_ptr<World> createMpiWorld(int expectedSize);
/// After all ranks are done.
void finishMpi();

/// Fails with 190 when an MPI call did.
void checkMpi(int status, const char *what);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_MPI_WORLD_H
