//===- ArenaSweep.h - Packings in the order of time -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H
#define PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H

#include "passes/Schedule/ArenaPacking.h"

#include <cstddef>
#include <vector>

namespace parplan {

/// Which of the gaps that are wide enough: the lowest, or the narrowest.
enum class Fit { first, best };

/// Places buffers as allocators do, one after the other as they begin to live,
/// around those that have a place: it looks at gaps alone, for programs in
/// which to look at all pairs takes too long.
class ArenaSweep {
public:
  /// In the order of their starts; bytes are multiples of the alignment.
  explicit ArenaSweep(const std::vector<Lifetime> &lifetimes);

  /// No buffer has a place.
  void clear();
  /// Gives some, ascending and without a place, one that is free as long as
  /// they live.
  void place(const std::vector<uint32_t> &some, Fit fit);

  /// Negative: it has no place.
  const std::vector<int64_t> &getOffsets() const { return offsets; }

private:
  struct Range {
    int64_t from, to;
  };

  void release(uint32_t buffer);
  void take(uint32_t buffer);
  void findBlocks(uint32_t buffer, const std::vector<uint32_t> &others,
                  size_t next);
  int64_t findGap(int64_t bytes, Fit fit);

  const std::vector<Lifetime> &lifetimes;
  /// In the order of their ends.
  std::vector<uint32_t> byEnd;
  std::vector<int64_t> offsets;
  /// Between what lives: ascending, none next to another; the last one has no
  /// end.
  std::vector<Range> gaps;
  /// What those take that have a place and begin to live later, ascending.
  std::vector<Range> blocks;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENASWEEP_H
