//===- Lookahead.h - Work that is done before it is asked for ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_LOOKAHEAD_H
#define PARPLAN_LIB_PLANNER_LOOKAHEAD_H

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace parplan {

/// The items of a row, taken in order, of which the next ones are made by other
/// threads meanwhile.
template <typename T> class Lookahead {
public:
  /// `make` is called with the numbers below `count`, by several threads at a
  /// time.
  Lookahead(size_t count, std::function<T(size_t)> make)
      : count(count), make(std::move(make)) {}

  /// The next item.
  T take() {
    while (next < count && ahead.size() < getMostAhead()) {
      ahead.push_back(std::async(std::launch::async, make, next));
      ++next;
    }
    T item = ahead.front().get();
    ahead.pop_front();
    return item;
  }

  /// Whether the last items are being made, which are fewer than there may be.
  bool isEnding() const { return next == count && !ahead.empty(); }

private:
  /// Each may need much memory.
  static size_t getMostAhead() {
    return std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  }

  size_t count, next = 0;
  std::function<T(size_t)> make;
  std::deque<std::future<T>> ahead;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_LOOKAHEAD_H
