//===- engine.cpp - Books of a rank ---------------------------------------===//

#include "engine.h"
#include "failure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace parplan {
namespace runtime {

const char *callName(CallKind kind) {
  static const char *const names[callKinds] = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast",
      "reduce",     "all_to_all", "send",           "recv"};
  return names[static_cast<int>(kind)];
}

const char *transferName(TransferKind kind) {
  static const char *const names[transferKinds] = {
      "host_to_device_bytes", "device_to_host_bytes", "nvme_read_bytes",
      "nvme_write_bytes"};
  return names[static_cast<int>(kind)];
}

int64_t monotonicNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t environmentNumber(const char *name, int64_t fallback) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return fallback;
  char *end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  return *end ? fallback : value;
}

// --- arenas
// -------------------------------------------------------------------

EngineRank::EngineRank(const Program &program, int rank, int size,
                       const RankOptions &options)
    : Rank(program, rank, size) {
  const int64_t sizes[memoryTiers] = {
      options.arenaBytes ? options.arenaBytes : stage().arenaBytes,
      stage().hostArenaBytes, stage().nvmeArenaBytes};
  std::copy(sizes, sizes + memoryTiers, limits);
  if (stage().hostArenaBytes > 0 &&
      !hostMemory.allocate(stage().hostArenaBytes))
    fail(exitInputOutput, "the system does not give " +
                              std::to_string(stage().hostArenaBytes) +
                              " bytes for the host's arena");
  hostArena = hostMemory.data();
  if (stage().nvmeArenaBytes > 0)
    storage = Storage::open(options.nvmeFolder, rank, stage().nvmeArenaBytes);
}

void EngineRank::upload(int64_t offset, const void *from, int64_t bytes,
                        MemoryTier tier) {
  switch (tier) {
  case MemoryTier::Device:
    return uploadToDevice(offset, from, bytes);
  case MemoryTier::Host:
    std::memcpy(hostArena + offset, from, static_cast<size_t>(bytes));
    return;
  case MemoryTier::Nvme:
    return storage->store(offset, static_cast<const char *>(from), bytes);
  }
}

void EngineRank::download(int64_t offset, void *to, int64_t bytes,
                          MemoryTier tier) {
  switch (tier) {
  case MemoryTier::Device:
    return downloadFromDevice(offset, to, bytes);
  case MemoryTier::Host:
    std::memcpy(to, hostArena + offset, static_cast<size_t>(bytes));
    return;
  case MemoryTier::Nvme:
    return storage->load(offset, static_cast<char *>(to), bytes);
  }
}

// --- books
// --------------------------------------------------------------------

void EngineRank::mark(Buffers buffers) {
  for (const Range &range : buffers) {
    const int64_t end = range.offset + range.bytes;
    const int tier = static_cast<int>(range.tier);
    if (end <= peaks[tier])
      continue;
    if (end > limits[tier]) {
      static const char *const names[memoryTiers] = {"arena", "host's arena",
                                                     "NVMe arena"};
      fail(exitDisagreement, std::string("the ") + names[tier] + " holds " +
                                 std::to_string(limits[tier]) +
                                 " bytes, but a buffer ends at byte " +
                                 std::to_string(end));
    }
    peaks[tier] = end;
  }
}

void EngineRank::count(CallKind kind, const char *communicator, int64_t bytes) {
  CallCount &entry = counts[static_cast<int>(kind)];
  ++entry.calls;
  entry.bytes += bytes;
  const char *name = callName(kind);
  char number[32];
  const int digits = std::snprintf(number, sizeof number, " %lld\n",
                                   static_cast<long long>(bytes));
  order.update(name, std::strlen(name));
  order.update(" ", 1);
  order.update(communicator, std::strlen(communicator));
  order.update(number, static_cast<size_t>(digits));
}

TransferKind EngineRank::beginTransfer(Range from, Range to) {
  const auto goes = [&](MemoryTier source, MemoryTier target) {
    return from.tier == source && to.tier == target;
  };
  TransferKind kind = TransferKind::HostToDevice;
  bool known = from.bytes == to.bytes;
  if (goes(MemoryTier::Device, MemoryTier::Host))
    kind = TransferKind::DeviceToHost;
  else if (goes(MemoryTier::Nvme, MemoryTier::Host))
    kind = TransferKind::NvmeRead;
  else if (goes(MemoryTier::Host, MemoryTier::Nvme))
    kind = TransferKind::NvmeWrite;
  else
    known &= goes(MemoryTier::Host, MemoryTier::Device);
  for (const Range &range : {from, to})
    known &=
        range.tier != MemoryTier::Nvme || range.offset % storageAlignment == 0;
  if (!known)
    fail(exitInternal, "there is no such copy between tiers");
  mark({from, to});
  transfers[static_cast<int>(kind)] += from.bytes;
  return kind;
}

void EngineRank::beginStep() {
  order = Sha256();
  announced = false;
}

void EngineRank::beforeSend(Stream &stream, const Communicator &communicator) {
  if (!announce || announced)
    return;
  const Table<CommunicatorEntry> entries = program().communicators;
  for (int64_t index = 0; index < entries.size; ++index)
    if (entries[index].everyone &&
        &this->communicator(static_cast<int32_t>(index)) == &communicator)
      announced = true;
  if (announced)
    enqueueCall(stream, announce, announceContext);
}

void Stream::touch(Buffers buffers) {
  static_cast<EngineRank &>(owner).mark(buffers);
}

// --- deadlines
// ----------------------------------------------------------------

WaitScope::WaitScope(WaitRecord &record, const char *kind, const char *name)
    : record(record) {
  record.kind = kind;
  record.name = name;
  ++record.number;
  record.since = monotonicNanoseconds();
}

namespace {
struct RegisteredWait {
  int rank;
  WaitRecord *record;
};
struct Watchdog {
  std::mutex mutex;
  std::vector<RegisteredWait> waits;
};
/// Never destroyed: the thread runs until the process ends.
Watchdog &watchdog() {
  static Watchdog *instance = new Watchdog;
  return *instance;
}
} // namespace

void registerWait(int rank, WaitRecord &record) {
  std::lock_guard<std::mutex> lock(watchdog().mutex);
  watchdog().waits.push_back({rank, &record});
}

void startWatchdog(double seconds) {
  std::thread([seconds] {
    const int64_t limit = static_cast<int64_t>(seconds * 1e9);
    const auto pause = std::chrono::milliseconds(seconds < 1 ? 20 : 100);
    for (;;) {
      std::this_thread::sleep_for(pause);
      const int64_t now = monotonicNanoseconds();
      std::lock_guard<std::mutex> lock(watchdog().mutex);
      for (const RegisteredWait &wait : watchdog().waits) {
        const int64_t since = wait.record->since;
        if (since == 0 || now - since < limit)
          continue;
        setMessageRank(wait.rank);
        fail(exitTimedOut, std::string("no answer for ") +
                               std::to_string((now - since) / 1000000000) +
                               " s in " + wait.record->kind.load() +
                               " number " +
                               std::to_string(wait.record->number.load()) +
                               " on " + quoted(wait.record->name.load()) +
                               "; --timeout sets the limit");
      }
    }
  }).detach();
}

} // namespace runtime
} // namespace parplan
