//===- host_platform.cpp - The host as a device ---------------------------===//

#include "failure.h"
#include "mpi_world.h"
#include "platform_device.h"

namespace parplan {
namespace runtime {

RankForm chooseRankForm(const std::string &communicator, int ranks,
                        bool launched) {
  if (communicator == "nccl")
    fail(exitDisagreement, "nccl connects GPUs; this program is for the host");
  if (communicator == "self" && ranks != 1)
    fail(exitDisagreement,
         "self is for one rank, the plan is for " + std::to_string(ranks));
  if (communicator == "local" || communicator == "self")
    return RankForm::Threads;
  if (communicator == "mpi" || launched)
    return RankForm::Processes;
  return ranks == 1 ? RankForm::Threads : RankForm::Processes;
}

std::unique_ptr<World> createProcessWorld(int ranks) {
  return createMpiWorld(ranks);
}

void finishProcessWorld() { finishMpi(); }

} // namespace runtime
} // namespace parplan
