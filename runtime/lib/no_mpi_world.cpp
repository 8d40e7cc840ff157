//===- no_mpi_world.cpp - Where MPI was not found -------------------------===//

#include "failure.h"
#include "mpi_world.h"

namespace parplan {
namespace runtime {

std::unique_ptr<World> createMpiWorld(int) {
  fail(exitDisagreement, "the runtime was built without MPI; start with "
                         "--communicator local");
}

void finishMpi() {}

void checkMpi(int, const char *) {}

} // namespace runtime
} // namespace parplan
