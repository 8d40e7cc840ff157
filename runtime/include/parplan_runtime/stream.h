//===- stream.h - Queues of work ------------------------------------------===//
//
// A stream runs what is enqueued on it in order and asynchronously to the
// caller and to other streams. On the host it is a FIFO worker thread, on CUDA
// a cudaStream_t. Order between streams exists only through events.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_STREAM_H
#define PARPLAN_RUNTIME_STREAM_H

#include "parplan_runtime/platform.h"
#include "parplan_runtime/tables.h"

#include <initializer_list>

#include <memory>
#include <new>
#include <type_traits>

namespace parplan {
namespace runtime {

class Rank;

/// A live buffer of an arena that a launch, copy or collective reads or writes.
struct Range {
  int64_t offset;
  int64_t bytes;
  MemoryTier tier = MemoryTier::Device;
};

/// Every buffer that a launch touches, its workspace included. The highest end
/// ever given is the measured peak memory of a tier.
using Buffers = std::initializer_list<Range>;

/// Memory of the arena that a kernel may use while it runs.
struct Workspace {
  void *data = nullptr;
  int64_t bytes = 0;
};

class Stream {
public:
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Marks the buffers of a launch as live; ends the program with a message
  /// when one of them leaves the arena.
  void touch(Buffers buffers);

  Rank &rank() const { return owner; }
  int index() const { return position; }

#if defined(PARPLAN_CUDA)
  /// The cudaStream_t.
  void *handle() const { return native; }

  /// Runs `task()` on the processor after everything enqueued before. It must
  /// not call CUDA.
  template <typename Task> void enqueueOnHost(const Task &task) {
    launchOnHost(new Task(task), [](void *stored) {
      std::unique_ptr<Task> held(static_cast<Task *>(stored));
      (*held)();
    });
  }
#else
  /// Largest task, captured values included, that can be enqueued.
  static constexpr size_t taskBytes = 2032;

  /// Runs `task()` on the worker after everything enqueued before. The task is
  /// copied into the queue; it blocks the caller while the queue is full.
  template <typename Task> void enqueue(const Task &task) {
    static_assert(sizeof(Task) <= taskBytes,
                  "the kernel has too many operands");
    static_assert(std::is_trivially_copyable<Task>::value &&
                      std::is_trivially_destructible<Task>::value,
                  "tasks are copied byte by byte");
    void *slot = beginTask();
    new (slot) Task(task);
    endTask([](void *stored) { (*static_cast<Task *>(stored))(); });
  }
  template <typename Task> void enqueueOnHost(const Task &task) {
    enqueue(task);
  }
#endif

protected:
  Stream(Rank &rank, int index) : owner(rank), position(index) {}
  ~Stream() = default;

private:
#if defined(PARPLAN_CUDA)
  void launchOnHost(void *task, void (*run)(void *));
#else
  void *beginTask();
  void endTask(void (*run)(void *));
#endif

  friend class HostStream;
  friend class CudaStream;
  Rank &owner;
  int position;
  void *native = nullptr;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_STREAM_H
