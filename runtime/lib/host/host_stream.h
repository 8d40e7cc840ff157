//===- host_stream.h - A stream is a FIFO worker thread -------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_HOST_STREAM_H
#define PARPLAN_RUNTIME_LIB_HOST_HOST_STREAM_H

#include "engine.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace parplan {
namespace runtime {

/// A ring of tasks with one producer (the rank's main thread) and one consumer
/// (the worker). Nothing is allocated after construction.
class HostStream : public Stream {
public:
  HostStream(Rank &rank, int index);
  /// Finishes what is enqueued.
  ~HostStream();

  void *beginTask();
  void endTask(void (*run)(void *));
  /// Returns when every task enqueued so far is done.
  void synchronize();

  /// What the worker is waiting for in a collective.
  WaitRecord wait;

private:
  static constexpr uint64_t capacity = 256;
  struct Slot {
    void (*run)(void *);
    alignas(16) unsigned char task[Stream::taskBytes];
  };

  void work();

  std::unique_ptr<Slot[]> slots;
  std::atomic<uint64_t> enqueued{0};
  std::atomic<uint64_t> finished{0};
  std::atomic<bool> workerSleeps{false};
  std::atomic<bool> callerSleeps{false};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable workerWakes;
  std::condition_variable callerWakes;
  std::thread worker;
};

/// An event counts its records; a wait names the record that it waits for.
class HostEvent {
public:
  /// Enqueues "done" on the stream.
  void record(HostStream &stream);
  /// Enqueues a wait for the last record, if there was one.
  void wait(HostStream &stream);

private:
  void signal(uint64_t number);
  void await(uint64_t number);

  uint64_t issued = 0;
  std::atomic<uint64_t> completed{0};
  std::atomic<int> waiting{0};
  std::mutex mutex;
  std::condition_variable changed;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_HOST_STREAM_H
