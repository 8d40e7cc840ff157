//===- host_rank.cpp - A rank on the host ---------------------------------===//

#include "failure.h"
#include "host_communicator.h"
#include "host_stream.h"
#include "parplan_runtime/transfer.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

class HostRank : public EngineRank {
public:
  HostRank(const Program &program, World &world, const RankOptions &options)
      : EngineRank(program, world.rank(), world.size(), options) {
    const int64_t bytes = limits[static_cast<int>(MemoryTier::Device)];
    if (!memory.allocate(bytes))
      fail(exitInputOutput, "the system does not give " +
                                std::to_string(bytes) + " bytes for the arena");
    arena = memory.data();
    for (int32_t index = 0; index < stage().streamCount; ++index)
      streams.emplace_back(new HostStream(*this, index));
    for (int32_t index = 0; index < stage().eventCount; ++index)
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

  char *mapped(MemoryTier tier) override {
    return tier == MemoryTier::Device ? arena
           : tier == MemoryTier::Host ? hostArena
                                      : nullptr;
  }
  void synchronize() override {
    for (auto &stream : streams)
      stream->synchronize();
  }

protected:
  void enqueueCall(Stream &stream, void (*call)(void *),
                   void *context) override {
    static_cast<HostStream &>(stream).enqueueOnHost(
        [call, context] { call(context); });
  }
  void uploadToDevice(int64_t offset, const void *from,
                      int64_t bytes) override {
    std::memcpy(arena + offset, from, static_cast<size_t>(bytes));
  }
  void downloadFromDevice(int64_t offset, void *to, int64_t bytes) override {
    std::memcpy(to, arena + offset, static_cast<size_t>(bytes));
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

void transfer(Stream &stream, Range from, Range to) {
  auto &rank = static_cast<EngineRank &>(stream.rank());
  const auto copy = [&](char *out, const char *in) {
    stream.enqueue([out, in, bytes = from.bytes] {
      std::memcpy(out, in, static_cast<size_t>(bytes));
    });
  };
  // A disk that hangs is noticed like a rank that does.
  const auto move = [&](bool write, int64_t offset, char *memory) {
    const StorageTask task = {rank.nvme(), offset, memory, from.bytes, write};
    auto *queue = static_cast<HostStream *>(&stream);
    queue->enqueue([task, queue] {
      WaitScope scope(queue->wait, task.write ? "write" : "read", "NVMe");
      task();
    });
  };
  switch (rank.beginTransfer(from, to)) {
  case TransferKind::HostToDevice:
    return copy(rank.at<char>(to.offset), rank.hostAt<char>(from.offset));
  case TransferKind::DeviceToHost:
    return copy(rank.hostAt<char>(to.offset), rank.at<char>(from.offset));
  case TransferKind::NvmeRead:
    return move(/*write=*/false, from.offset, rank.hostAt<char>(to.offset));
  case TransferKind::NvmeWrite:
    return move(/*write=*/true, to.offset, rank.hostAt<char>(from.offset));
  }
}

std::unique_ptr<EngineRank> createRank(const Program &program, World &world,
                                       const RankOptions &options) {
  return std::unique_ptr<EngineRank>(new HostRank(program, world, options));
}

} // namespace runtime
} // namespace parplan
