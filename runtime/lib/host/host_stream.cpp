//===- host_stream.cpp - A stream is a FIFO worker thread -----------------===//

#include "host_stream.h"
#include "failure.h"

#include <ctime>
#if defined(__SSE__)
#include <immintrin.h>
#endif

extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace parplan {
namespace runtime {

namespace {
/// Denormals cost hundreds of cycles each and carry no information here.
void flushDenormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

constexpr uint64_t longestPauseNanoseconds = 200000;
/// How much longer the pauses of PARPLAN_CHAOS_RANK are.
constexpr uint64_t slowRankFactor = 20;

/// A pause of up to \p longest nanoseconds, from a small generator.
void randomPause(uint64_t &state, uint64_t longest) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  struct timespec pause = {0, static_cast<long>((state >> 33) % longest)};
  nanosleep(&pause, nullptr);
}
} // namespace

void *Stream::beginTask() {
  return static_cast<HostStream *>(this)->beginTask();
}
void Stream::endTask(void (*run)(void *)) {
  static_cast<HostStream *>(this)->endTask(run);
}

HostStream::HostStream(Rank &rank, int index)
    : Stream(rank, index), slots(new Slot[capacity]) {
  registerWait(rank.rank(), wait);
  worker = std::thread([this] { work(); });
}

HostStream::~HostStream() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    workerWakes.notify_one();
  }
  worker.join();
}

// Each side announces that it sleeps before it looks a last time, and each
// looks at the other's announcement after it has published: with sequentially
// consistent atomics one of the two sees the other, and no wake-up is lost.

void *HostStream::beginTask() {
  const uint64_t position = enqueued.load(std::memory_order_relaxed);
  if (position - finished.load() == capacity) {
    std::unique_lock<std::mutex> lock(mutex);
    callerSleeps = true;
    callerWakes.wait(lock,
                     [&] { return position - finished.load() < capacity; });
    callerSleeps = false;
  }
  return slots[position % capacity].task;
}

void HostStream::endTask(void (*run)(void *)) {
  const uint64_t position = enqueued.load(std::memory_order_relaxed);
  slots[position % capacity].run = run;
  enqueued.store(position + 1);
  if (workerSleeps.load()) {
    std::lock_guard<std::mutex> lock(mutex);
    workerWakes.notify_one();
  }
}

void HostStream::synchronize() {
  const uint64_t target = enqueued.load();
  if (finished.load() == target)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  callerSleeps = true;
  callerWakes.wait(lock, [&] { return finished.load() == target; });
  callerSleeps = false;
}

void HostStream::work() {
  setMessageRank(rank().rank());
  flushDenormals();
  if (omp_set_num_threads)
    omp_set_num_threads(1);
  // PARPLAN_CHAOS=SEED delays every task at random, so that a missing wait
  // shows as a wrong result. The pace of ranks may still be so even that they
  // always meet in one order: PARPLAN_CHAOS_RANK falls behind the others.
  uint64_t chaos = static_cast<uint64_t>(environmentNumber("PARPLAN_CHAOS", 0));
  uint64_t longest = longestPauseNanoseconds;
  if (environmentNumber("PARPLAN_CHAOS_RANK", -1) == rank().rank())
    longest *= slowRankFactor;
  if (chaos)
    chaos += static_cast<uint64_t>(rank().rank() * 64 + index());
  for (uint64_t position = 0;; ++position) {
    if (enqueued.load() == position) {
      std::unique_lock<std::mutex> lock(mutex);
      workerSleeps = true;
      workerWakes.wait(
          lock, [&] { return enqueued.load() != position || stopping.load(); });
      workerSleeps = false;
      if (enqueued.load() == position)
        return;
    }
    Slot &slot = slots[position % capacity];
    if (chaos)
      randomPause(chaos, longest);
    slot.run(slot.task);
    finished.store(position + 1);
    if (callerSleeps.load()) {
      std::lock_guard<std::mutex> lock(mutex);
      callerWakes.notify_one();
    }
  }
}

// --- events
// -------------------------------------------------------------------

void HostEvent::signal(uint64_t number) {
  completed.store(number);
  if (waiting.load() > 0) {
    std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
  }
}

void HostEvent::await(uint64_t number) {
  if (completed.load() >= number)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  ++waiting;
  changed.wait(lock, [&] { return completed.load() >= number; });
  --waiting;
}

void HostEvent::record(HostStream &stream) {
  const uint64_t number = ++issued;
  stream.enqueue([this, number] { signal(number); });
}

void HostEvent::wait(HostStream &stream) {
  if (issued == 0)
    return;
  const uint64_t number = issued;
  stream.enqueue([this, number] { await(number); });
}

} // namespace runtime
} // namespace parplan
