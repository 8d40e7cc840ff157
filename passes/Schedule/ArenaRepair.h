//===- ArenaRepair.h - Packings pushed below a ceiling ----------*- C++ -*-===//
//
// Part of parplan. No MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENAREPAIR_H
#define PARPLAN_PASSES_SCHEDULE_ARENAREPAIR_H

#include "passes/Schedule/ArenaPacking.h"

#include <cstddef>
#include <random>
#include <span>

namespace parplan {

/// Pushes packings below a ceiling. What ends above it is taken out and waits.
/// One after the other, what waits is put where what it drives out is worth
/// least: nothing, as long as there is a gap. What it drives out waits in turn.
/// A buffer that drives others out becomes worth more each time, so those that
/// are hard to place come to stay, and the others move around them. Now and
/// then all that is placed sinks or rises as far as it can, which joins gaps.
class ArenaRepair {
public:
  /// Sizes are multiples of the alignment.
  explicit ArenaRepair(std::vector<Lifetime> lifetimes);

  /// Whether it found a packing that ends at `ceiling` or below before it had
  /// looked at `limit` buffers. `offsets` are a packing of any height, and then
  /// the one found. No buffer is larger than `ceiling`. Attempts differ in what
  /// they draw, and by turns in what they place first: what is worth most, or
  /// anything.
  bool find(int64_t ceiling, std::vector<int64_t> &offsets, int64_t limit,
            unsigned attempt);

  /// How many buffers were looked at, in all.
  int64_t getLooks() const { return looks; }

private:
  std::span<const uint32_t> getNeighbors(uint32_t buffer) const;
  void findFullness();
  uint32_t takeWaiting(bool worthiest);
  void put(uint32_t buffer);
  int64_t choosePlace(uint32_t buffer);
  void driveOut(uint32_t buffer);
  void press(bool down);

  int64_t getEnd(uint32_t buffer) const {
    return offsets[buffer] + lifetimes[buffer].bytes;
  }
  bool isPlaced(uint32_t buffer) const { return offsets[buffer] >= 0; }
  /// Below `end`, deterministic.
  size_t draw(size_t end) { return random() % end; }

  std::vector<Lifetime> lifetimes;
  /// Those alive together with each buffer, one list behind the other.
  std::vector<uint32_t> neighbors;
  std::vector<size_t> firstNeighbor;
  /// The most bytes alive at once during each life.
  std::vector<int64_t> fullness;
  int64_t looks = 0;

  // Of the packing at work.
  int64_t ceiling = 0;
  std::minstd_rand random;
  std::vector<int64_t> offsets;
  std::vector<uint32_t> waiting;
  /// What driving a buffer out costs, and how that grows.
  std::vector<double> worth, growth;
  /// The round before which a buffer is not driven out, if possible: else two
  /// could drive each other out for ever.
  std::vector<int64_t> restsUntil;
  int64_t round = 0;

  // Scratch of choosePlace.
  struct Taken {
    int64_t from, to;
    double worth;
  };
  std::vector<Taken> byStart, byEnd;
  std::vector<int64_t> places;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENAREPAIR_H
