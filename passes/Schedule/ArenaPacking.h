//===- ArenaPacking.h - Offsets of buffers with lifetimes -------*- C++ -*-===//
//
// Part of parplan. No MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENAPACKING_H
#define PARPLAN_PASSES_SCHEDULE_ARENAPACKING_H

#include <cstdint>
#include <vector>

namespace parplan {

/// A buffer alive in [first, last], both included.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct Packing {
  /// One per lifetime.
  std::vector<int64_t> offsets;
  /// The highest end of a buffer.
  int64_t peak = 0;
  /// The most bytes alive at once, each buffer rounded up to the alignment but
  /// for one: no packing is below it by more than the rounding.
  int64_t lowerBound = 0;
};

/// Places buffers so that those alive together do not share bytes. Offsets are
/// multiples of `alignment`. The best of several greedy orders (by size,
/// lifetime, area, time, and four from the fullest moment outwards; first fit
/// and best fit), each improved by rounds in which what ends above the bound
/// goes first, and by rounds in which it moves forward by and by; stops at the
/// bound. Deterministic. No order is safe alone: programs that split the
/// backward pass leave up to 10 % above the bound in each.
Packing packArena(const std::vector<Lifetime> &lifetimes, int64_t alignment);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENAPACKING_H
