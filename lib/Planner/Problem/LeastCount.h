//===- LeastCount.h - How many of a list suffice ----------------*- C++ -*-===//
//
// Part of parplan. Private to the planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_LEASTCOUNT_H
#define PARPLAN_PLANNER_LEASTCOUNT_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace parplan {

/// The least number up to `count` that suffices. `count` does, and so do all
/// numbers above one that does.
inline size_t findLeastCount(size_t count,
                             llvm::function_ref<bool(size_t)> suffices) {
  size_t least = 0;
  while (least < count) {
    size_t middle = (least + count) / 2;
    if (suffices(middle))
      count = middle;
    else
      least = middle + 1;
  }
  return count;
}

} // namespace parplan

#endif // PARPLAN_PLANNER_LEASTCOUNT_H
