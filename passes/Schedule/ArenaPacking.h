//===- ArenaPacking.h - Offsets for buffers with known lifetimes -*- C++
//-*-===//
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
/// multiples of `alignment`. The best of several greedy orders (size, lifetime,
/// area, time; first fit and best fit), each improved by rounds in which
/// buffers that end above the bound move forward; stops at the bound.
/// Deterministic.
Packing packArena(const std::vector<Lifetime> &lifetimes, int64_t alignment);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENAPACKING_H
