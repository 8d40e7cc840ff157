//===- platform_device.h - What each device library provides --------------===//

#ifndef PARPLAN_RUNTIME_LIB_PLATFORM_DEVICE_H
#define PARPLAN_RUNTIME_LIB_PLATFORM_DEVICE_H

#include "engine.h"

#include <memory>
#include <string>

namespace parplan {
namespace runtime {

/// How the ranks of a run exist.
enum class RankForm { Threads, Processes };

/// Whether `ranks` ranks are threads of one process or processes, by the
/// communicator asked for (empty: the device's default). Fails with 78 when
/// this device does not have the communicator or not enough of itself.
RankForm chooseRankForm(const std::string &communicator, int ranks,
                        bool launched);

/// The world of the processes that a launcher started; fails with 78 when it
/// is not of this size.
std::unique_ptr<World> createProcessWorld(int ranks);
/// After the ranks are done.
void finishProcessWorld();

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_PLATFORM_DEVICE_H
