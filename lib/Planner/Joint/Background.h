//===- Background.h - Work for other threads --------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_BACKGROUND_H
#define PARPLAN_LIB_PLANNER_BACKGROUND_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace parplan {

/// Threads for work that may be done before it is asked for, or never. Whoever
/// needs it does it himself, or waits for the thread that is at it.
class Background {
public:
  /// So many threads; with none, nothing is ever wanted.
  explicit Background(unsigned threadCount = getSpareThreads());
  ~Background() { end(); }

  /// Waits for what has begun and drops what has not.
  void end();

  /// Per thread: who asks may be long away.
  static constexpr size_t mostWaiting = 4;
  /// True if threads would soon have nothing to do.
  bool wantsMore() const;
  /// Begun in this order. `subject` is what it is for.
  void add(const void *subject, std::function<void()> work);
  bool hasThreads() const { return !threads.empty(); }
  /// Begun in this order when nothing else is to be done. There are threads.
  void addLater(const void *subject, std::function<void()> work);
  /// Of that what has not begun.
  void dropLater();
  /// The caller needs what is done for `subject`: it is the caller's own work,
  /// unless a thread is at it. As long as one is, other work is done here;
  /// where there is none, the caller has to wait himself.
  void claim(const void *subject);
  /// Does the work of every number below `count`, here and in the threads. It
  /// is begun in ascending order: one may wait for what came before it.
  void forEach(size_t count, llvm::function_ref<void(size_t)> work);

private:
  struct Task {
    const void *subject = nullptr;
    std::function<void()> work;
  };

  /// Beside the one that asks; not many, as each may need much memory.
  static unsigned getSpareThreads();
  void run();
  /// What comes next in a queue, done by the thread that has the lock.
  void runNext(std::deque<Task> &tasks, std::unique_lock<std::mutex> &guard);

  mutable std::mutex lock;
  std::condition_variable isWanted;
  std::deque<Task> queue, later;
  /// Subjects that threads are at.
  std::vector<const void *> begun;
  bool isEnding = false;
  std::vector<std::thread> threads;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_BACKGROUND_H
