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

/// Pairs of buffers that the packings of all programs of a module look at.
constexpr int64_t packingLooks = 200'000'000;

/// Places buffers so that those alive together do not share bytes. Offsets are
/// multiples of `alignment`. Deterministic, and bounded in what it looks at.
/// In turn, until the bound is reached or 2.25 % above it are good enough:
///  * greedy orders (by size, lifetime, area, time, and four from the fullest
///    moment outwards; first fit and best fit), in rounds in which what ends
///    above the bound goes first;
///  * a search for a packing of the large buffers alone (ArenaSearch), whose
///    gaps the others fill;
///  * the orders again, in rounds in which what ends above the bound moves
///    forward by and by;
///  * a repair of the best packing (ArenaRepair), below lower and lower
///    ceilings, down to 1 % above the bound.
/// No order is safe alone: programs that split the backward pass leave up to
/// 10 % above the bound in each.
Packing packArena(const std::vector<Lifetime> &lifetimes, int64_t alignment,
                  int64_t looks = packingLooks);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENAPACKING_H
