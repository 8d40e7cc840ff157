//===- Background.h - Work for other threads --------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_BACKGROUND_H
#define PARPLAN_LIB_PLANNER_BACKGROUND_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace parplan {

/// Threads for work that may be done before it is asked for, or never: whoever
/// needs it does it himself, or waits for the thread that is at it.
class Background {
public:
  /// So many threads; with none, nothing is ever taken.
  explicit Background(unsigned threadCount = getSpareThreads());
  /// Waits for what has begun and drops what has not.
  ~Background();

  /// True if a thread has nothing to do.
  bool isIdle() const;
  /// What is begun in this order.
  void add(std::function<void()> work);

private:
  /// Beside the one that asks; of many, as each may need much memory.
  static unsigned getSpareThreads();
  void run();

  mutable std::mutex lock;
  std::condition_variable isWanted;
  std::deque<std::function<void()>> queue;
  size_t busyCount = 0;
  bool isEnding = false;
  std::vector<std::thread> threads;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_BACKGROUND_H
