//===- ArenaSweep.h - Packings in the order of time -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H
#define PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H

#include "passes/Schedule/ArenaPacking.h"

#include <vector>

namespace parplan {

/// Packs as allocators do, one buffer after the other as they begin to live: it
/// looks at the gaps between those that live, for programs in which to look at
/// all pairs takes too long.
class ArenaSweep {
public:
  /// In the order of their starts; bytes are multiples of the alignment.
  explicit ArenaSweep(const std::vector<Lifetime> &lifetimes);

  /// Every buffer in the lowest gap; but those that live no longer than
  /// `shortLife` in the highest one below `ceiling`, so that they leave no
  /// holes between those that stay.
  void pack(int64_t shortLife, int64_t ceiling);
  const std::vector<int64_t> &getOffsets() const { return offsets; }

private:
  struct Range {
    int64_t from, to;
  };

  int64_t takeLowest(int64_t bytes);
  int64_t takeHighest(int64_t bytes, int64_t ceiling);
  void release(int64_t from, int64_t to);

  const std::vector<Lifetime> &lifetimes;
  /// Indices in the order of their ends.
  std::vector<size_t> byEnd;
  /// Ascending, none next to another; the last one has no end.
  std::vector<Range> gaps;
  std::vector<int64_t> offsets;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H
