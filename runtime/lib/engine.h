//===- engine.h - A rank as the runtime itself sees it --------------------===//

#ifndef PARPLAN_RUNTIME_LIB_ENGINE_H
#define PARPLAN_RUNTIME_LIB_ENGINE_H

#include "arena.h"
#include "mesh.h"
#include "parplan_runtime/rank.h"
#include "sha256.h"
#include "storage.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// Kinds of calls, in the order of the metrics.
enum class CallKind : int32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  Send,
  Receive
};
constexpr int callKinds = 8;
constexpr int memoryTiers = 3;
const char *callName(CallKind kind);

struct CallCount {
  int64_t calls = 0;
  int64_t bytes = 0;
};

/// Copies between tiers, in the order of the metrics.
enum class TransferKind : int32_t {
  HostToDevice,
  DeviceToHost,
  NvmeRead,
  NvmeWrite
};
constexpr int transferKinds = 4;
const char *transferName(TransferKind kind);

/// One call of a communicator, copied into the stream's queue.
struct Communicator::Call {
  enum class Group : int32_t { None, Begin, End };
  CallKind kind;
  Group group = Group::None;
  Reduction reduction = Reduction::Sum;
  ElementType type = ElementType::Float32;
  int root = 0; // or the peer
  const void *in = nullptr;
  void *out = nullptr;
  int64_t count = 0;
};

/// What a rank is waiting for, readable by the watchdog. A wait begins when
/// `label` is set; `since` is in nanoseconds of the monotonic clock.
struct WaitRecord {
  std::atomic<const char *> kind{nullptr};
  std::atomic<const char *> name{nullptr};
  std::atomic<int64_t> since{0};
  std::atomic<int64_t> number{0};
};

class WaitScope {
public:
  WaitScope(WaitRecord &record, const char *kind, const char *name);
  ~WaitScope() { record.since = 0; }
  WaitScope(const WaitScope &) = delete;
  WaitScope &operator=(const WaitScope &) = delete;

private:
  WaitRecord &record;
};

struct RankOptions {
  /// Size of the device's arena to use instead of the program's; 0: the
  /// program's.
  int64_t arenaBytes = 0;
  double timeoutSeconds = 600;
  /// Where the NVMe tier lies.
  std::string nvmeFolder = ".";
};

/// What every device's rank has: books, and arenas that the host can fill.
class EngineRank : public Rank {
public:
  /// Makes the arenas of the host and of NVMe.
  EngineRank(const Program &program, int rank, int size,
             const RankOptions &options);

  /// Marks live buffers; fails when one leaves its arena.
  void mark(Buffers buffers);
  /// Marks what is live before the first step.
  void mark(Range range) { mark({range}); }
  void count(CallKind kind, const char *communicator, int64_t bytes);
  /// Marks and counts a copy between tiers. Fails with 70 when there is no such
  /// copy.
  TransferKind beginTransfer(Range from, Range to);
  /// Starts the books of a step: the order of communication is that of the
  /// last step (all steps are equal).
  void beginStep();
  /// The digest of the step since beginStep.
  std::string finishOrder() { return order.finish(); }

  /// What rank.worker() is from now on.
  void serve(int worker) { servedWorker = worker; }
  /// From now on `call(context)` runs once in each step, on the host, when the
  /// first message of the step to a server could be sent.
  void announcePushes(void (*call)(void *), void *context) {
    announce = call;
    announceContext = context;
  }
  /// Called before a message is sent.
  void beforeSend(Stream &stream, const Communicator &communicator);

  int64_t peakBytes(MemoryTier tier = MemoryTier::Device) const {
    return peaks[static_cast<int>(tier)];
  }
  const CallCount &callCount(CallKind kind) const {
    return counts[static_cast<int>(kind)];
  }

  int64_t transferred(TransferKind kind) const {
    return transfers[static_cast<int>(kind)];
  }
  /// Null without an arena of NVMe.
  Storage *nvme() const { return storage.get(); }

  /// Copies between memory of the program's own and an arena; blocking, and not
  /// counted.
  void upload(int64_t offset, const void *from, int64_t bytes,
              MemoryTier tier = MemoryTier::Device);
  void download(int64_t offset, void *to, int64_t bytes,
                MemoryTier tier = MemoryTier::Device);
  /// The address at which the host can change an arena, or null.
  virtual char *mapped(MemoryTier tier) = 0;
  /// Returns when everything enqueued is done.
  virtual void synchronize() = 0;

protected:
  /// Runs call(context) on the host after everything enqueued before.
  virtual void enqueueCall(Stream &stream, void (*call)(void *),
                           void *context) = 0;
  virtual void uploadToDevice(int64_t offset, const void *from,
                              int64_t bytes) = 0;
  virtual void downloadFromDevice(int64_t offset, void *to, int64_t bytes) = 0;

  /// Sizes of the arenas.
  int64_t limits[memoryTiers] = {};

private:
  int64_t peaks[memoryTiers] = {};
  CallCount counts[callKinds];
  int64_t transfers[transferKinds] = {};
  Arena hostMemory;
  std::unique_ptr<Storage> storage;
  Sha256 order;
  void (*announce)(void *) = nullptr;
  void *announceContext = nullptr;
  bool announced = false;
};

/// A short message between the hosts of two ranks.
struct Note {
  int32_t from = 0;
  int32_t kind = 0;
  int64_t number = 0;
};

/// The ranks of a run: who they are and how they reach each other outside of
/// the program's own communication ("service").
class World {
public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Moves `bytes` from rank `from` to rank 0; called by these two only.
  virtual void sendToRoot(int from, const void *data, void *out,
                          int64_t bytes) = 0;
  /// Copies rank 0's bytes to all. Collective.
  virtual void broadcastFromRoot(void *data, int64_t bytes) = 0;
  /// Sends a note, without waiting for it to be read. Notes of one rank to
  /// another arrive in their order. May be called from any thread.
  virtual void tell(int to, int32_t kind, int64_t number) = 0;
  /// Waits for the next note to this rank.
  virtual Note hear() = 0;
  /// Record of this rank's service calls, for the watchdog.
  WaitRecord wait;
  /// Bytes and calls of this rank's gathers to rank 0 and broadcasts from it.
  CallCount gathered;
  CallCount broadcasted;
  /// Notes that this rank has read.
  CallCount heard;
};

/// Makes a rank on this build's device.
std::unique_ptr<EngineRank> createRank(const Program &program, World &world,
                                       const RankOptions &options);

/// The wait records of all ranks of the process, for the watchdog. Records
/// live until the process ends.
void registerWait(int rank, WaitRecord &record);
/// Starts the thread that ends the process with exit code 191 when a wait
/// lasts longer than `seconds`.
void startWatchdog(double seconds);

int64_t monotonicNanoseconds();

/// Reads the environment variable as a number; `fallback` when unset.
int64_t environmentNumber(const char *name, int64_t fallback);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ENGINE_H
