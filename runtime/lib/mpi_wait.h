//===- mpi_wait.h - Waiting for MPI beside ranks that compute -------------===//
//
// Open MPI waits in a loop. Where ranks share processors, such a loop takes
// from the others what they would need to arrive, and a step of four ranks on
// two cores takes up to three times as long. So waits look, make way, and after
// a while sleep between two looks.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_MPI_WAIT_H
#define PARPLAN_RUNTIME_LIB_MPI_WAIT_H

#include <mpi.h>

namespace parplan {
namespace runtime {

/// All ranks wait like those of the machine that has the fewest processors for
/// them: they meet the same way. Once, before anything else here.
void agreeOnWaiting();

/// Returns when all requests are complete; fails with 190 when one does.
void awaitMpi(MPI_Request *requests, int count, const char *what);

/// Where some rank shares its processors: returns when all members are here, so
/// that a collective that waits in a loop waits shortly. Else nothing.
void meetBeforeMpi(MPI_Comm handle, const char *what);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_MPI_WAIT_H
