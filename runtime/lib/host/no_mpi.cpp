//===- no_mpi.cpp - Host ranks where MPI was not found --------------------===//

#include "failure.h"
#include "host_communicator.h"

namespace parplan {
namespace runtime {

std::unique_ptr<Communicator>
createMpiCommunicator(const Program &, const CommunicatorEntry &, World &) {
  fail(exitDisagreement, "the runtime was built without MPI");
}

} // namespace runtime
} // namespace parplan
