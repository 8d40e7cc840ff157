//===- Exhaustion.h - The best plan of a small instance ---------*- C++ -*-===//
//
// Every plan is made and judged by the evaluator. What candidates are, and
// where a model may be cut, is asked of those who define it; nothing of the
// searches is.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BENCHMARKS_SMALL_EXHAUSTION_H
#define PARPLAN_BENCHMARKS_SMALL_EXHAUSTION_H

#include "Instance.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace parplan::small {

/// The fastest plan for each number of bytes that a device may have.
class Frontier {
public:
  void add(int64_t bytes, double seconds);
  /// Nothing fits.
  bool isEmpty() const { return secondsByBytes.empty(); }
  /// Seconds of the fastest plan within `limit`.
  std::optional<double> getBest(int64_t limit) const;
  /// Of the smallest and of the fastest plan.
  int64_t getLeastBytes() const { return secondsByBytes.begin()->first; }
  int64_t getMostBytes() const { return secondsByBytes.rbegin()->first; }

  /// Plans that were judged.
  int64_t plans = 0;
  /// Some of them have rooms.
  bool hasRooms = false;

private:
  /// The more bytes, the fewer seconds.
  std::map<int64_t, double> secondsByBytes;
};

/// All plans that the search of an instance may have; nullopt: more than
/// `mostPlans`. Schedules that split the backward pass have the rooms of each
/// of `limits`, bytes of a rank.
std::optional<Frontier> exhaust(const Instance &instance,
                                llvm::ArrayRef<int64_t> limits,
                                int64_t mostPlans);

} // namespace parplan::small

#endif // PARPLAN_BENCHMARKS_SMALL_EXHAUSTION_H
