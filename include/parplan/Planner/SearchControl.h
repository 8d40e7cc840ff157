//===- SearchControl.h - Between a search and who waits for it --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SEARCHCONTROL_H
#define PARPLAN_PLANNER_SEARCHCONTROL_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

namespace parplan {

struct PlanningAnswer;

/// How far a search is. Seconds are those of a step.
struct SearchProgress {
  /// Of the best plan so far; infinity: there is none yet.
  double bestSeconds = std::numeric_limits<double>::infinity();
  /// Every plan takes so long; 0: not known yet.
  double boundSeconds = 0;
  int64_t explored = 0;
};

/// What somebody who waits for a search sees of it, and how he ends it. Without
/// members it does nothing.
struct SearchControl {
  /// True from outside, by a signal too: the search ends as if its time were
  /// over.
  const std::atomic<bool> *stop = nullptr;
  /// Called by the thread that searches, whenever there is news.
  std::function<void(const SearchProgress &)> listener;
  /// Called by that thread with the best plan so far, which fits, when an exact
  /// search is at its last meshes. Where memory decided, another search may
  /// follow, which tells of nothing.
  std::function<void(const PlanningAnswer &)> likely;

  bool isStopped() const {
    return stop && stop->load(std::memory_order_relaxed);
  }
  void report(const SearchProgress &progress) const {
    if (listener)
      listener(progress);
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_SEARCHCONTROL_H
