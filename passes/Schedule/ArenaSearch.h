//===- ArenaSearch.h - Packings below a ceiling -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENASEARCH_H
#define PARPLAN_PASSES_SCHEDULE_ARENASEARCH_H

#include "passes/Schedule/ArenaPacking.h"

#include <cstddef>
#include <utility>

namespace parplan {

/// Searches for packings from the bottom up. In any packing in which no buffer
/// can sink, each stands on the floor or on another; so buffers are placed in
/// the order of their offsets, each on the highest one below it that lives at
/// the same time. A branch ends where what is not placed yet does not fit below
/// the ceiling at some moment. Finds packings without a gap where orders of
/// sizes fail, as long as buffers are few or of like sizes.
class ArenaSearch {
public:
  /// What is placed first of several buffers with the same offset.
  enum class Preference { longest, largestArea, largest };

  /// `lifetimes` are sorted by their starts, their sizes multiples of the
  /// alignment.
  explicit ArenaSearch(std::vector<Lifetime> lifetimes);

  /// The most bytes alive at once.
  int64_t getBound() const { return bound; }

  /// Whether a packing that ends at `ceiling` or below was found within `limit`
  /// steps; then getOffsets has it.
  bool find(int64_t ceiling, Preference preference, int64_t limit);
  const std::vector<int64_t> &getOffsets() const { return offsets; }

  /// How often a buffer was looked at, in all.
  int64_t getWork() const { return work; }

private:
  void findMoments();
  bool descend(size_t placedCount, int64_t lowest);
  std::vector<uint32_t> getCandidates(int64_t lowest) const;
  bool canStand(uint32_t buffer) const;
  void place(uint32_t buffer);
  bool isHopeful(int64_t lowest);

  /// Moments at which the most are alive: between a start and an end. Buffers
  /// live from one to another, the last not included.
  struct Moment {
    std::vector<uint32_t> alive;
    /// Where the highest buffer that is placed ends, and the bytes of those
    /// that are not placed yet.
    int64_t top = 0, rest = 0;
    int64_t load = 0;
  };

  std::vector<Lifetime> lifetimes;
  std::vector<Moment> moments;
  std::vector<std::pair<size_t, size_t>> spans;
  int64_t bound = 0, work = 0;

  // Of the search at work.
  int64_t ceiling = 0, stepsLeft = 0;
  std::vector<double> ranks;
  std::vector<char> isPlaced;
  /// On what a buffer would stand.
  std::vector<int64_t> floors;
  std::vector<int64_t> offsets;
  /// What `place` changed: floors of buffers, and tops of moments.
  struct Change {
    int64_t *value;
    int64_t old;
  };
  std::vector<Change> changes;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENASEARCH_H
