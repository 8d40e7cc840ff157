//===- host_communicator.h - Communicators of host ranks ------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_HOST_COMMUNICATOR_H
#define PARPLAN_RUNTIME_LIB_HOST_HOST_COMMUNICATOR_H

#include "engine.h"
#include "thread_world.h"

namespace parplan {
namespace runtime {

/// The communicator of `entry` for this rank: through MPI when the world's
/// ranks are processes, through memory when they are threads; null where the
/// entry is not for ranks of this kind. Collective.
std::unique_ptr<Communicator>
createHostCommunicator(const Program &program, const CommunicatorEntry &entry,
                       World &world);

std::unique_ptr<Communicator>
createLocalCommunicator(const Program &program, const CommunicatorEntry &entry,
                        ThreadWorld &world);
std::unique_ptr<Communicator>
createMpiCommunicator(const Program &program, const CommunicatorEntry &entry,
                      World &world);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_HOST_COMMUNICATOR_H
