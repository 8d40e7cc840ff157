//===- storage_threads.cpp - Reading and writing by threads ---------------===//

#include "storage.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace parplan {
namespace runtime {

namespace {

class ThreadQueue : public StorageQueue {
public:
  explicit ThreadQueue(int descriptor) : descriptor(descriptor) {
    for (int i = 0; i < threadCount; ++i)
      threads.emplace_back([this] { work(); });
  }
  ~ThreadQueue() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  int run(bool write, int64_t offset, char *memory, int64_t bytes) override {
    std::unique_lock<std::mutex> lock(mutex);
    job = {write, offset, memory, bytes};
    taken = finished = 0;
    error = 0;
    changed.notify_all();
    done.wait(lock, [this] { return finished == job.bytes; });
    job.bytes = 0;
    return error;
  }

private:
  static constexpr int threadCount = 4;
  struct Job {
    bool write = false;
    int64_t offset = 0;
    char *memory = nullptr;
    int64_t bytes = 0;
  };

  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || taken < job.bytes; });
      if (stopping)
        return;
      const Job all = job;
      const int64_t start = taken;
      const int64_t bytes = std::min(pieceBytes, all.bytes - start);
      taken += bytes;
      lock.unlock();
      const int failure =
          movePiece({all.write, all.offset + start, all.memory + start, bytes});
      lock.lock();
      if (failure != 0 && error == 0)
        error = failure;
      finished += bytes;
      if (finished == job.bytes)
        done.notify_one();
    }
  }

  int movePiece(Job piece) const {
    while (piece.bytes > 0) {
      const auto size = static_cast<size_t>(piece.bytes);
      const ssize_t moved =
          piece.write ? pwrite(descriptor, piece.memory, size, piece.offset)
                      : pread(descriptor, piece.memory, size, piece.offset);
      if (moved < 0 && errno == EINTR)
        continue;
      if (moved <= 0)
        return moved < 0 ? errno : EIO;
      piece.offset += moved;
      piece.memory += moved;
      piece.bytes -= moved;
    }
    return 0;
  }

  const int descriptor;
  std::mutex mutex;
  std::condition_variable changed, done;
  Job job;
  /// Bytes of the job that threads have begun with, and have finished.
  int64_t taken = 0, finished = 0;
  int error = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace

std::unique_ptr<StorageQueue> createThreadQueue(int descriptor) {
  return std::unique_ptr<StorageQueue>(new ThreadQueue(descriptor));
}

} // namespace runtime
} // namespace parplan
