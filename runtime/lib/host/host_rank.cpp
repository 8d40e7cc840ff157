//===- host_rank.cpp - A rank on the host ---------------------------------===//

#include "arena.h"
#include "failure.h"
#include "host_communicator.h"
#include "host_stream.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

class HostRank : public EngineRank {
public:
  HostRank(const Program &program, World &world, const RankOptions &options)
      : EngineRank(program, world.rank(), world.size()) {
    arenaLimit = options.arenaBytes ? options.arenaBytes : program.arenaBytes;
    if (!memory.allocate(arenaLimit))
      fail(exitInputOutput, "the system does not give " +
                                std::to_string(arenaLimit) +
                                " bytes for the arena");
    arena = memory.data();
    for (int32_t index = 0; index < program.streamCount; ++index)
      streams.emplace_back(new HostStream(*this, index));
    for (int32_t index = 0; index < program.eventCount; ++index)
      events.emplace_back(new HostEvent);
    for (const CommunicatorEntry &entry : program.communicators)
      communicators.push_back(createHostCommunicator(program, entry, world));
  }

  Stream &stream(int32_t index) override { return *streams[index]; }
  Communicator &communicator(int32_t index) override {
    return *communicators[index];
  }
  void record(int32_t event, Stream &stream) override {
    events[event]->record(static_cast<HostStream &>(stream));
  }
  void wait(int32_t event, Stream &stream) override {
    events[event]->wait(static_cast<HostStream &>(stream));
  }

  void upload(int64_t offset, const void *from, int64_t bytes) override {
    std::memcpy(arena + offset, from, static_cast<size_t>(bytes));
  }
  void download(int64_t offset, void *to, int64_t bytes) override {
    std::memcpy(to, arena + offset, static_cast<size_t>(bytes));
  }
  char *hostArena() override { return arena; }
  void synchronize() override {
    for (auto &stream : streams)
      stream->synchronize();
  }

private:
  // Destroyed from the last to the first: streams finish before their events,
  // communicators and memory go.
  Arena memory;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<HostEvent>> events;
  std::vector<std::unique_ptr<HostStream>> streams;
};

} // namespace

std::unique_ptr<EngineRank> createRank(const Program &program, World &world,
                                       const RankOptions &options) {
  return std::unique_ptr<EngineRank>(new HostRank(program, world, options));
}

} // namespace runtime
} // namespace parplan
